"""`python -m bench.races`: calls every tool that reads while another process swaps files with links to outside.

Each tool is called until 20,000 attempts or 60 seconds, in every sandbox tier that works here. A naive read, "resolve,
check, open", stands beside them: if that does not leak, the attack proves nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from toolroll import Kit
from toolroll.host.forks.views import ForkKind
from toolroll.host.sandbox.choose import probe_tiers
from toolroll.policy.rules import Policy

ATTEMPTS, SECONDS = 20_000, 60.0
SECRET = "SECRET_FROM_OUTSIDE"
_LONGEST = 600.0  # the attacker ends by itself even if we are killed
_PAIRS = 4
_PATIENCE_S = 30.0

_ATTACKER = """
import ctypes, os, sys, time
end, pairs = time.monotonic() + float(sys.argv[1]), [os.fsencode(word) for word in sys.argv[2:]]
renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
def swap():
    for one, other in zip(pairs[::2], pairs[1::2]):
        if renameat2(-100, one, -100, other, 2):
            sys.exit(f"renameat2: {os.strerror(ctypes.get_errno())}")
swap()
print("ready", flush=True)
while time.monotonic() < end:
    swap()
"""

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "read": ("read", {"path": "d0/f.py"}),
    "read a link": ("read", {"path": "f0.py"}),
    "grep": ("grep", {"pattern": "def |inside"}),
    "grep in a folder": ("grep", {"pattern": "def ", "path": "d0"}),
    "find": ("find", {"pattern": "**/*.py"}),
    "ls": ("ls", {"path": "d0"}),
    "stat": ("stat", {"path": "d0/f.py"}),
    "outline": ("outline", {"path": "d0/f.py"}),
    "symbols": ("symbols", {"kind": "any"}),
    "references": ("references", {"symbol": SECRET}),
    "repo_map": ("repo_map", {}),
    "multiedit": ("multiedit", {"pattern": "**/*.py", "find": "def ", "replace": "def  ", "preview": True}),
    "copy": ("copy", {"source": "d0/f.py", "target": "copied.py", "overwrite": True}),
    "rag": ("rag", {"action": "add_document", "path": "d0/f.py"}),
}


@dataclass(frozen=True, slots=True)
class Race:
    """What came of one tool's race."""

    attempts: int
    answered: int
    """Calls that succeeded; the others met the link and were refused."""
    leaks: int


@contextmanager
def tree() -> Iterator[Path]:
    """A folder `ws` with folders and files, and beside each a link to `outside`."""
    with tempfile.TemporaryDirectory(prefix="races-") as made:
        top = Path(made)
        (top / "outside").mkdir()
        (top / "ws").mkdir()
        (top / "outside" / "f.py").write_text(f"def {SECRET}():\n    return '{SECRET}'\n")
        (top / "outside" / f"{SECRET}.py").write_text("")
        for number in range(_PAIRS):
            folder, file = top / "ws" / f"d{number}", top / "ws" / f"f{number}.py"
            folder.mkdir()
            (folder / "f.py").write_text("def inside():\n    return 1\n")
            file.write_text("def inside():\n    return 1\n")
            (top / "ws" / f"l{number}").symlink_to(top / "outside")
            (top / "ws" / f"k{number}.py").symlink_to(top / "outside" / "f.py")
        yield top


@contextmanager
def attacked(ws: Path) -> Iterator[None]:
    """In the block, folders and files are by turns links to outside."""
    names = [f"{ws}/{name}" for at in range(_PAIRS) for name in (f"d{at}", f"l{at}", f"f{at}.py", f"k{at}.py")]
    command = [sys.executable, "-c", _ATTACKER, str(_LONGEST), *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as attacker:
        try:
            assert attacker.stdout is not None
            if attacker.stdout.readline() != "ready\n":
                raise RuntimeError("names cannot be exchanged on this file system")
            yield
        finally:
            attacker.kill()


def run(name: str, tier: str, seconds: float = SECONDS, attempts: int = ATTEMPTS, fork: ForkKind | None = None) -> Race:
    """Call one tool over and over while the attacker works, in a fork of this kind if one is named."""
    tool, arguments = CALLS[name]
    with tree() as top, tempfile.TemporaryDirectory() as state:
        with ExitStack() as stack:
            policy = Policy(sandbox=tier)  # type: ignore[arg-type]  # a name of a tier
            kit = stack.enter_context(Kit(top / "ws", policy=policy, state_dir=state, tools="all"))
            kit = kit if fork is None else stack.enter_context(kit.fork(fork))
            stack.enter_context(attacked(Path(kit.workspace)))

            def call() -> tuple[bool, str]:
                result = kit.call(tool, arguments)
                shown = result.text + json.dumps(result.data, default=str)
                if tool == "copy":
                    shown += _content(Path(kit.workspace, "copied.py"))
                if tool == "rag":
                    shown += kit.call("rag", {"action": "search", "query": SECRET}).text
                asked = json.dumps(arguments)
                return result.ok, shown.replace(asked, "")

            race = _raced(call, seconds, attempts, asked=SECRET in json.dumps(arguments) or tool == "rag")
        if SECRET not in _content(top / "outside" / "f.py"):
            raise AssertionError(f"{name} has changed a file outside")
        return race


def naive(seconds: float = SECONDS, attempts: int = ATTEMPTS) -> Race:
    """The control: where the path leads now says nothing about where it leads a moment later."""
    with tree() as top, attacked(top / "ws"):

        def read() -> tuple[bool, str]:
            real = os.path.realpath(top / "ws" / "d0" / "f.py")
            inside = real.startswith(str(top / "ws"))
            return inside, Path(real).read_text() if inside else ""

        return _raced(read, seconds, attempts, enough=1)


def _raced(
    call: Callable[[], tuple[bool, str]],
    seconds: float,
    attempts: int,
    *,
    asked: bool = False,
    enough: int | None = None,
) -> Race:
    """How often a call showed the secret. `asked`: the answer may repeat its name, so only its text counts.

    On a busy machine it goes on until one call has succeeded.
    """
    sign = f"return '{SECRET}'" if asked else SECRET
    made = answered = leaks = 0
    end = time.monotonic() + seconds
    latest = end + _PATIENCE_S
    while made < attempts and time.monotonic() < (end if answered else latest) and (enough is None or leaks < enough):
        try:
            ok, text = call()
        except OSError:
            ok, text = False, ""
        made += 1
        answered += ok
        leaks += sign in text
    return Race(made, answered, leaks)


def _content(path: Path) -> str:
    try:
        return path.read_text() if not path.is_symlink() else ""
    except OSError:
        return ""


def main() -> None:
    """Print a row for each tool and tier; exit with 1 if one leaks, or the control does not."""
    parser = argparse.ArgumentParser(prog="python -m bench.races", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each row (default 60)")
    parser.add_argument("--fork", choices=get_args(ForkKind), help="in forks of this kind")
    options = parser.parse_args()
    control = naive(options.seconds)
    print(f"{'naive read (control)':24} {control.leaks} leak after {control.attempts} attempts")
    leaks = 0
    for tier in (one.tier for one in probe_tiers() if one.works):
        for name in CALLS:
            found = run(name, str(tier), options.seconds, fork=options.fork)
            leaks += found.leaks
            print(f"{name:24} {tier:12} {found.attempts:7} attempts {found.answered:7} answered {found.leaks} leaks")
    sys.exit(1 if leaks or not control.leaks else 0)


if __name__ == "__main__":
    main()
