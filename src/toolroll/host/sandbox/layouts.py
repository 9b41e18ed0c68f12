"""Where toolchains lie in a home folder, and which of their folders hold programs and packages but no credentials."""

from __future__ import annotations

_VERSIONS = ("bin", "shims", "versions", "libexec", "plugins", "version", "completions", "src")
_CARGO = ("bin", "registry", "git", "env")
_GO = ("bin", "pkg")
_UV = ("tools", "python")
_FNM = ("aliases", "node-versions")
_PIPX = ("venvs", "py", "shared", "bin")
_MISE = ("installs", "shims", "plugins", "bin")
_ASDF = ("bin", "shims", "installs", "plugins", "lib", "libexec", "asdf.sh", "completions")
_BUN = ("bin", "install")
_DENO = ("bin", "deps", "npm", "gen")
_PNPM = ("bin", "global", "nodejs", "store", ".tools", "pnpm", "pnpx")
_NVM = ("versions", "alias", "nvm.sh", "nvm-exec", "bash_completion")
_RUSTUP = ("toolchains", "settings.toml", "update-hashes")
_SDKMAN = ("candidates", "bin", "src", "libexec", "contrib")
_VOLTA = ("bin", "tools", "layout.*")
_DOTNET = ("dotnet", "host", "metadata", "packs", "sdk", "sdk-manifests", "shared", "templates", "tools")

TOOLCHAINS: dict[str, tuple[str, ...]] = {
    ".asdf": _ASDF,
    ".bun": _BUN,
    ".cabal": ("bin", "packages", "store"),
    ".cargo": _CARGO,
    ".deno": _DENO,
    ".dotnet": _DOTNET,
    ".elan": ("bin", "toolchains", "env", "settings.toml"),
    ".fnm": _FNM,
    ".gem": ("ruby", "jruby", "truffleruby"),
    ".ghcup": ("bin", "ghc", "hls", "share", "env"),
    ".gradle": ("wrapper",),
    ".jenv": (*_VERSIONS, "available-plugins"),
    ".juliaup": ("bin", "julia-*", "juliaup.json"),
    ".local/bin": (),
    ".local/lib": (),
    ".local/pipx": _PIPX,
    ".local/share/fnm": _FNM,
    ".local/share/mise": _MISE,
    ".local/share/pipx": _PIPX,
    ".local/share/pnpm": _PNPM,
    ".local/share/uv": _UV,
    ".m2": ("repository", "wrapper"),
    ".nix-profile": (),
    ".nodenv": _VERSIONS,
    ".nvm": _NVM,
    ".opam": ("*/bin", "*/lib", "*/share", "*/.opam-switch", "opam-init", "repo", "config"),
    ".pixi": ("bin", "envs"),
    ".pyenv": (*_VERSIONS, "pyenv.d"),
    ".rbenv": (*_VERSIONS, "rbenv.d"),
    ".rustup": _RUSTUP,
    ".rye": ("shims", "py", "tools", "self", "uv", "env"),
    ".sdkman": _SDKMAN,
    ".swiftly": ("bin", "toolchains", "env.sh", "config.json"),
    ".volta": _VOLTA,
    ".yarn": ("bin", "berry", "releases", "switch"),
    "go": _GO,
}
"""Folders of a home folder, and what of them commands may read; without parts, all of it."""

PREFIX = (
    *("bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share", "pyvenv.cfg", "conda-meta", "ssl"),
    *("condabin", "compiler_compat", "*-linux-gnu", "Frameworks"),
)
"""What a folder into which programs were installed has: no files of the user are in these."""
_JAVA = (*PREFIX, "conf", "jmods", "jre", "legal", "release")
_GOROOT = (*PREFIX, "api", "go.env", "misc", "pkg", "src", "VERSION")
_APACHE = (*PREFIX, "boot", "conf", "init.d")

SIGNS: dict[str, tuple[str, ...]] = {
    "pyvenv.cfg": PREFIX,
    "conda-meta": PREFIX,
    "lib/python*": PREFIX,
    "lib/node_modules": PREFIX,
    "lib/ruby": PREFIX,
    "lib/perl5": PREFIX,
    "lib/rustlib": PREFIX,
    "lib/clang": PREFIX,
    "lib/erlang": PREFIX,
    "lib/julia": PREFIX,
    "lib/swift": PREFIX,
    "lib/modules": _JAVA,
    "lib/rt.jar": _JAVA,
    "jre/lib/rt.jar": _JAVA,
    "pkg/tool": _GOROOT,
    "src/runtime/runtime.go": _GOROOT,
    "boot/plexus-classworlds*": _APACHE,
    "lib/gradle-*": _APACHE,
    "bin/internal/engine.version": (*PREFIX, "packages", "version"),
}
"""What shows that the folder above a `bin` is a toolchain's, and which parts of it commands then may read."""

VARIABLES: dict[str, tuple[str, ...]] = {
    "ASDF_DATA_DIR": _ASDF,
    "BUN_INSTALL": _BUN,
    "CARGO_HOME": _CARGO,
    "CONDA_PREFIX": PREFIX,
    "DENO_INSTALL": _DENO,
    "DOTNET_ROOT": _DOTNET,
    "FNM_DIR": _FNM,
    "GOPATH": _GO,
    "GOROOT": _GOROOT,
    "GRADLE_HOME": _APACHE,
    "JAVA_HOME": _JAVA,
    "M2_HOME": _APACHE,
    "MAVEN_HOME": _APACHE,
    "MISE_DATA_DIR": _MISE,
    "NODENV_ROOT": _VERSIONS,
    "NVM_DIR": _NVM,
    "PIPX_HOME": _PIPX,
    "PNPM_HOME": _PNPM,
    "PYENV_ROOT": (*_VERSIONS, "pyenv.d"),
    "RBENV_ROOT": (*_VERSIONS, "rbenv.d"),
    "RUSTUP_HOME": _RUSTUP,
    "SDKMAN_DIR": _SDKMAN,
    "VIRTUAL_ENV": PREFIX,
    "VOLTA_HOME": _VOLTA,
}
"""Variables that say where a toolchain is, with the same parts; PATH comes with them."""
