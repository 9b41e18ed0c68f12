"""Where toolchains lie in a home folder, and which of their folders hold programs and packages but no credentials."""

from __future__ import annotations

# What a folder into which programs were installed has, no files of the user; and what a folder of versions has.
_PREFIX = """bin sbin lib lib32 lib64 libexec include share pyvenv.cfg conda-meta ssl condabin compiler_compat
    *-linux-gnu Frameworks"""
_VERSIONS = "bin shims versions libexec plugins version completions src"

# Where a toolchain is, and the parts of it that commands may read; without parts, all of it. Names are folders of a
# home folder, $NAME is a variable that says where it is, @PATH shows that the folder above a `bin` is a toolchain's.
_ROWS = """
    .asdf $ASDF_DATA_DIR: bin shims installs plugins lib libexec asdf.sh completions
    .bun $BUN_INSTALL: bin install
    .cabal: bin packages store
    .cargo $CARGO_HOME: bin registry git env
    .deno $DENO_INSTALL: bin deps npm gen
    .dotnet $DOTNET_ROOT: dotnet host metadata packs sdk sdk-manifests shared templates tools
    .elan: bin toolchains env settings.toml
    .fnm .local/share/fnm $FNM_DIR: aliases node-versions
    .gem: ruby jruby truffleruby
    .ghcup: bin ghc hls share env
    .gradle: wrapper
    .jenv: VERSIONS available-plugins
    .juliaup: bin julia-* juliaup.json
    .local/bin .local/lib .nix-profile:
    .local/pipx .local/share/pipx $PIPX_HOME: venvs py shared bin
    .local/share/mise $MISE_DATA_DIR: installs shims plugins bin
    .local/share/pnpm $PNPM_HOME: bin global nodejs store .tools pnpm pnpx
    .local/share/uv: tools python
    .m2: repository wrapper
    .nodenv $NODENV_ROOT: VERSIONS
    .nvm $NVM_DIR: versions alias nvm.sh nvm-exec bash_completion
    .opam: */bin */lib */share */.opam-switch opam-init repo config
    .pixi: bin envs
    .pyenv $PYENV_ROOT: VERSIONS pyenv.d
    .rbenv $RBENV_ROOT: VERSIONS rbenv.d
    .rustup $RUSTUP_HOME: toolchains settings.toml update-hashes
    .rye: shims py tools self uv env
    .sdkman $SDKMAN_DIR: candidates bin src libexec contrib
    .swiftly: bin toolchains env.sh config.json
    .volta $VOLTA_HOME: bin tools layout.*
    .yarn: bin berry releases switch
    go $GOPATH: bin pkg
    $CONDA_PREFIX $VIRTUAL_ENV @pyvenv.cfg @conda-meta @lib/python* @lib/node_modules @lib/ruby @lib/perl5
        @lib/rustlib @lib/clang @lib/erlang @lib/julia @lib/swift: PREFIX
    $GOROOT @pkg/tool @src/runtime/runtime.go: PREFIX api go.env misc pkg src VERSION
    $GRADLE_HOME $M2_HOME $MAVEN_HOME @boot/plexus-classworlds* @lib/gradle-*: PREFIX boot conf init.d
    $JAVA_HOME @lib/modules @lib/rt.jar @jre/lib/rt.jar: PREFIX conf jmods jre legal release
    @bin/internal/engine.version: PREFIX packages version
"""


def _parse() -> dict[str, dict[str, tuple[str, ...]]]:
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for row in _ROWS.replace("\n        ", " ").strip().splitlines():
        names, _, parts = row.partition(":")
        whole = tuple(parts.replace("PREFIX", _PREFIX).replace("VERSIONS", _VERSIONS).split())
        for name in names.split():
            found.setdefault(name[0] if name[0] in "$@" else "", {})[name.lstrip("$@")] = whole
    return found


_FOUND = _parse()
TOOLCHAINS, VARIABLES, SIGNS = _FOUND[""], _FOUND["$"], _FOUND["@"]
PREFIX = VARIABLES["VIRTUAL_ENV"]
