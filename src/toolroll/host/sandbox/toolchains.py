"""Where compilers, interpreters and their packages are outside the system's own folders, and what is secret there."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from toolroll.host.sandbox.system import ETC, FOLDERS, beneath, carved, real
from toolroll.result import ErrorCode, ToolError

# In the home folder: what toolchains put there under names of their own.
_TOOLCHAINS = (
    ".asdf",
    ".bun",
    ".cabal/bin",
    ".cargo",
    ".deno",
    ".dotnet",
    ".elan",
    ".fnm",
    ".gem",
    ".ghcup",
    ".gradle/wrapper",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".nix-profile",
    ".nodenv",
    ".nvm",
    ".opam",
    ".pixi",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rye",
    ".sdkman",
    ".swiftly",
    ".volta",
    ".yarn",
    "go",
)
# Variables that say where a toolchain is; PATH comes with them.
_VARIABLES = (
    "ASDF_DATA_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "DENO_INSTALL",
    "DOTNET_ROOT",
    "GOPATH",
    "GOROOT",
    "GRADLE_HOME",
    "JAVA_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NODENV_ROOT",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
)
# In the home folder: never as a whole, for there is more in them than tools.
_WIDE = ("", ".cache", ".config", ".local", ".local/share", ".local/state", "Library")
# Never as a whole either, and no folder right in the last two: those are people's.
_BROAD = ("/", "/boot", "/media", "/mnt", "/root", "/run", "/srv", "/tmp", "/var", "/var/tmp", "/home", "/Users")
# In the home folder: never at all.
_SECRET = (
    ".Xauthority",
    ".ansible",
    ".aws",
    ".azure",
    ".bash_history",
    ".boto",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude",
    ".claude.json",
    ".codex",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".docker",
    ".dotnet/corefx",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".ivy2/.credentials",
    ".kube",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".nuget/NuGet",
    ".password-store",
    ".pgpass",
    ".pki",
    ".pypirc",
    ".python_history",
    ".s3cfg",
    ".sbt/.credentials",
    ".ssh",
    ".subversion/auth",
    ".terraform.d",
    ".terraformrc",
    ".thunderbird",
    ".vault-token",
    ".yarnrc.yml",
    ".zsh_history",
    "Library/Keychains",
)
# Settings of git that every git command wants: one that is there and cannot be read is an error to it.
_GIT = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
_CREDENTIAL = re.compile(rb"(?i)token|passw|secret|extraheader|askpass|://[^/\s]*@")
_GIT_BYTES = 1 << 20


def readable(environment: Mapping[str, str], extra: Sequence[str] = ()) -> tuple[str, ...]:
    """What a command may read by default besides the system's own: toolchains, without the secrets among them.

    The running Python, what PATH and variables such as JAVA_HOME name, and what is known of the home folder; never
    the home folder as a whole. `extra` are the operator's own; one that would open the home folder or a secret
    is a ToolError.
    """
    home = environment.get("HOME", "")
    home = (home if home.startswith("/") else os.path.expanduser("~")).rstrip("/")
    named = tuple(environment.get(name, "") for name in _VARIABLES)
    folders = tuple(environment.get("PATH", "").split(os.pathsep))
    seen = tuple(_changed(path) for path in (home, f"{home}/.local", *folders))
    return _readable(home, named, folders, tuple(extra), seen)


@lru_cache(maxsize=16)
def _readable(
    home: str,
    named: tuple[str, ...],
    folders: tuple[str, ...],
    extra: tuple[str, ...],
    seen: tuple[int, ...],  # noqa: ARG001 - only what is remembered depends on it
) -> tuple[str, ...]:
    homes = {home, (real(home) or home).rstrip("/")}
    for path in extra:
        _check(path, homes)
    wanted = [
        *_python(),
        *(f"{home}/{name}" for name in _TOOLCHAINS),
        *named,
        *(one for folder in folders for one in _behind(folder)),
        *(f"{home}/{name}" for name in _GIT if _harmless(f"{home}/{name}")),
    ]
    found = {there for one in wanted if (there := _real(one)) is not None and _fair(there, homes)}
    found |= {there for one in extra if (there := _real(one)) is not None}
    secrets = [f"{one}/{name}" for one in homes for name in _SECRET if os.path.lexists(f"{one}/{name}")]
    return tuple(sorted({part for path in outermost(found) for part in carved(path, secrets)}))


def secrets(homes: Iterable[str]) -> list[str]:
    """Where secrets are in these home folders, whether or not there are any."""
    return [f"{home.rstrip('/')}/{name}" for home in homes for name in _SECRET]


def outermost(paths: Iterable[str]) -> list[str]:
    """The paths without those that lie in another of them, sorted."""
    found: list[str] = []
    for path in sorted(paths, key=lambda one: one.rstrip("/") + "/"):
        if not found or not beneath(path, found[-1]):
            found.append(path)
    return found


def _python() -> Iterator[str]:
    """The Python that runs us, and its own packages."""
    yield from (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)


def _behind(folder: str) -> Iterator[str]:
    """A folder of PATH and the toolchain that it is the front of."""
    yield folder
    there = _real(folder)
    if there is not None and os.path.basename(there) in ("bin", "sbin", "shims", "Scripts"):
        yield there
        if there.count("/") > 2:  # what holds /work/bin may hold anything
            yield os.path.dirname(there)


def _fair(path: str, homes: set[str]) -> bool:
    """Whether a path is a toolchain's own place: not the system's, which is granted anyway, and nothing wide."""
    if any(beneath(path, folder) for folder in (*FOLDERS, ETC, "/proc", "/sys", "/dev")):
        return False
    if path in _BROAD or os.path.dirname(path) in _BROAD[-2:] or any(beneath(home, path) for home in homes):
        return False
    wide = {f"{home}/{name}" for home in homes for name in _WIDE}
    return path not in wide and not any(beneath(path, f"{home}/{name}") for home in homes for name in _SECRET)


def _check(path: str, homes: set[str]) -> None:
    """ToolError for what the operator may not mean to open."""
    there = _real(path) or path
    if not path.startswith("/"):
        problem = "is not an absolute path. Write it in full"
    elif any(beneath(home, there) for home in homes):
        problem = "holds the home folder and all the secrets in it. Name the folders in it that commands need"
    elif any(beneath(there, f"{home}/{name}") for home in homes for name in _SECRET):
        problem = "is a place of secrets, which no command may read. Leave it out"
    else:
        return
    raise ToolError(ErrorCode.VALIDATION, f"The folder {path!r} that commands shall read {problem}.")


def _real(path: str) -> str | None:
    return real(path) if path.startswith("/") else None


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return 0


def _harmless(path: str) -> bool:
    """Whether a file of settings is there and holds nothing that looks like a credential."""
    try:
        with open(path, "rb") as file:
            text = file.read(_GIT_BYTES + 1)
    except OSError:
        return False
    return len(text) <= _GIT_BYTES and _CREDENTIAL.search(text) is None
