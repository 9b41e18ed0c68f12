"""Choose the sandbox for commands: the strongest tier that passes a trial on this machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import DEVNULL, PIPE, STDOUT, AccessRules, Sandbox, read_output
from toolroll.host.sandbox.tiers import OwnThread, Tier, Unconfined
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.sandbox.syscalls import Machine


_SECONDS = 20.0
_PATH = "/usr/local/bin:/usr/bin:/bin"
_INSTALL = "install bubblewrap (apt install bubblewrap, dnf install bubblewrap, apk add bubblewrap)"
_OPT_OUT = "To run commands without any confinement, say so by name: Policy(sandbox='none'), or --sandbox none"
_DENIED, _READ, _UNFILTERED = 40, 41, 42
# The command of the trial: the filter is there, a file outside cannot be read, and one inside can be written.
_TRIAL = """
grep -q '^Seccomp:[^0-9]*2' /proc/self/status || exit 42
cat "$0" >/dev/null 2>&1 && exit 41
echo held > held && cat held >/dev/null && exit 40
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """What a trial of one tier has shown."""

    tier: Tier
    works: bool
    detail: str  # the version and where it is; or what is missing
    gaps: tuple[str, ...] = ()


def choose_sandbox(wanted: str = "required") -> Sandbox:
    """The strongest tier that works here, or the one that is named; ToolError if that is none.

    Every tier is tried once in the life of the process: it must run a command and deny it a file.
    """
    if wanted == Tier.NONE:
        return Unconfined()
    tiers = (Tier.BUBBLEWRAP, Tier.LANDLOCK) if wanted == "required" else tuple(t for t in Tier if t == wanted)
    if not tiers:
        raise ToolError(
            ErrorCode.VALIDATION,
            f"There is no sandbox {wanted!r}. There are: 'required', 'bubblewrap', 'landlock', 'none'.",
        )
    for tier in tiers:
        sandbox, _ = _try_tier(tier)
        if sandbox is not None:
            return sandbox
    why = "; ".join(f"{tier}: {_try_tier(tier)[1]}" for tier in tiers)
    raise ToolError(
        ErrorCode.UNSUPPORTED,
        f"Commands cannot be confined on this machine ({why}). To confine them, {_INSTALL}, "
        f"or use Linux 5.13 or newer with Landlock. {_OPT_OUT}.",
    )


@cache
def choose_for_helpers() -> Sandbox:
    """What confines the programs that toolroll starts for itself: Landlock, which costs least; else bubblewrap.

    They may read files whose modes deny that, if we may: their reach is all that holds them. Where no tier works they
    run unconfined, and commands do not run at all unless the operator wants that.
    """
    from toolroll.host.sandbox import landlock
    from toolroll.host.sandbox.confined_start import LandlockSandbox
    from toolroll.host.sandbox.syscalls import Kernel, machine

    here = machine()
    if here is not None and _try_tier(Tier.LANDLOCK)[0] is not None:
        kernel = Kernel(here.numbers)
        return LandlockSandbox(here, kernel, landlock.abi(kernel), helpers=True)
    bubblewrap, _ = _try_tier(Tier.BUBBLEWRAP)
    return Unconfined() if bubblewrap is None else OwnThread(bubblewrap)


def probe_tiers() -> tuple[Probe, ...]:
    """Every tier, strongest first, and what its trial has shown."""
    from toolroll.host.sandbox.keeper import why_no_sockets

    found = []
    for tier in (Tier.BUBBLEWRAP, Tier.LANDLOCK):
        sandbox, detail = _try_tier(tier)
        if tier is Tier.LANDLOCK and sandbox is not None and (why := why_no_sockets()):
            detail += f", no sockets for commands ({why})"
        found.append(Probe(tier, sandbox is not None, detail, () if sandbox is None else sandbox.gaps))
    return (*found, Probe(Tier.NONE, True, "no confinement, only by name", Unconfined.gaps))


@cache
def _try_tier(tier: Tier) -> tuple[Sandbox | None, str]:
    """The tier if it works, and what there is to tell about it."""
    from toolroll.host.sandbox.syscalls import machine

    here = machine()
    if here is None:
        return None, f"not for {sys.platform} on {os.uname().machine}"
    problems = []
    for make in _makers(tier, here):
        try:
            sandbox, detail = make()
            problem = _trial(sandbox) if sandbox is not None else ""
        except (OSError, ToolError) as error:
            problems.append(f"its trial failed: {error}")
            continue
        if sandbox is not None and not problem:
            return sandbox, detail
        problems.append(f"{detail}, but {problem}" if problem else detail)
    return None, "; ".join(problems) or "bwrap is not installed"


def _makers(tier: Tier, here: Machine) -> list[Callable[[], tuple[Sandbox | None, str]]]:
    """What makes a sandbox of this tier, to be tried in this order."""
    from toolroll.host.sandbox import bubblewrap

    if tier is Tier.LANDLOCK:
        return [partial(_landlock, here)]
    return [partial(_bubblewrap, here, program) for program in bubblewrap.find()]


def _bubblewrap(here: Machine, program: str) -> tuple[Sandbox | None, str]:
    from toolroll.host.sandbox import bubblewrap

    status, said = _run(Unconfined(), "/", AccessRules(()), [program, "--version"])
    version = re.search(r"\d+(?:\.\d+)+", said)
    if status or version is None:
        return None, f"{program} does not tell its version"
    _, options = _run(Unconfined(), "/", AccessRules(()), [program, "--help"])
    sandbox = bubblewrap.Bubblewrap(program, version[0], here, by_descriptor="--ro-bind-fd" in options)
    return sandbox, f"{version[0]} at {program}"


def _landlock(here: Machine) -> tuple[Sandbox | None, str]:
    from toolroll.host.sandbox import landlock
    from toolroll.host.sandbox.confined_start import LandlockSandbox
    from toolroll.host.sandbox.syscalls import Kernel

    kernel = Kernel(here.numbers)
    abi = landlock.abi(kernel)
    if not abi:
        return None, "this kernel has no Landlock, or has it switched off"
    missing = [what for since, what in landlock.MISSING if abi < since]
    return LandlockSandbox(here, kernel, abi), f"ABI {abi}" + (f", too old to {', '.join(missing)}" if missing else "")


def _trial(sandbox: Sandbox) -> str:
    """What is wrong with a sandbox, found out by a command in it; empty if nothing is."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="toolroll-") as folder:
        inside, outside = f"{folder}/inside", f"{folder}/outside"
        os.mkdir(inside)
        with open(outside, "w", encoding="ascii") as file:
            file.write("not for commands")
        status, said = _run(sandbox, inside, AccessRules((inside,)), ["/bin/sh", "-c", _TRIAL, outside])
        if status == _DENIED:
            return "" if os.path.exists(f"{inside}/held") else "what a command wrote was lost"
    if status in (_READ, _UNFILTERED):
        return "a command could read a file outside" if status == _READ else "the kernel does not filter its calls"
    return f"a command could not be run in it: {said.strip()[-200:] or f'exit status {status}'}"


def _run(sandbox: Sandbox, folder: str, access: AccessRules, argv: Sequence[str]) -> tuple[int, str]:
    """The exit status and the output of a short command of our own."""
    from toolroll.host.files.openat import STEP

    with closing_fd(os.open(folder, STEP)) as cwd:
        process = sandbox.spawn(
            access,
            argv,
            cwd=cwd,
            env={"PATH": _PATH, "LANG": "C.UTF-8"},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
        )
    with process:
        said, ended = read_output(process, _SECONDS)
    if not ended:
        raise TimeoutError(f"{argv[0]} did not end")
    return process.returncode, said.decode("utf-8", "replace")
