"""A fresh interpreter that imports what is needed to write tools, all that wires them together, makes a first call, or
runs the command line with one call.

CPU time is that of the whole process. Memory is the peak of the process, less that of an interpreter that
imports nothing. The warm-up has written the .pyc files of everybody.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from bench.cases import Settings
from bench.measure import Contestant, Race, Role, Sample
from bench.peers import ROOT, present

MODULES = {
    "langchain-core": "langchain_core.tools",
    "pydantic-ai-slim": "pydantic_ai",
    "mcp": "mcp",
    "openai-agents": "agents",
}
CALLS = {
    "langchain-core": "noop.langchain()(noop.ARGUMENTS)",
    "pydantic-ai-slim": "import asyncio; asyncio.run(noop.pydantic_ai()(noop.ARGUMENTS))",
}
MOST_ROUNDS = 7  # some peers take seconds
CALL = f"import sys; sys.path.append({str(ROOT)!r}); from bench import noop; "
# A child's ru_maxrss begins with its parent's; the peak in /proc is its own.
PEAK = "; print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"


def races(settings: Settings) -> Iterator[Race]:
    bare = min(fresh("pass", 0)().memory for _ in range(5))

    def racer(name: str, role: Role, code: str) -> Contestant:
        return Contestant(name, role, fresh(code, bare))

    peers = [name for distribution, name in MODULES.items() if present(distribution)]
    yield Race(
        "import",
        [
            racer("toolroll", "ours", "import toolroll"),
            *(racer(name, "peer", f"import {name}") for name in peers),
            racer("json", "floor", "import json"),
        ],
        MOST_ROUNDS,
    )
    yield Race(
        "import of the kit",
        [
            racer("toolroll Kit", "ours", "from toolroll import Kit"),
            *(racer(name, "peer", f"import {name}") for name in peers),
            racer("msgspec", "floor", "import msgspec"),
        ],
        MOST_ROUNDS,
    )
    first = f"{CALL}noop.toolroll{(str(settings.scratch), str(settings.state))}(noop.ARGUMENTS)"
    yield Race(
        "import and first call",
        [
            racer("toolroll Kit.call", "ours", first),
            *(racer(name, "peer", CALL + code) for name, code in CALLS.items() if present(name)),
            racer("json and a plain call", "floor", f"{CALL}import json; noop.noop(**noop.ARGUMENTS)"),
        ],
        MOST_ROUNDS,
    )
    apart = f"import os; os.environ['XDG_STATE_HOME'] = {str(settings.state)!r}; "
    words = ["call", "ls", "-C", str(settings.scratch), "path=."]
    yield Race(
        "command line, ls",
        [
            racer("toolroll call ls", "ours", f"{apart}from toolroll.cli import main; main({words})"),
            racer("os.listdir", "floor", f"import os; print(os.listdir({str(settings.scratch)!r}))"),
        ],
        MOST_ROUNDS,
    )


def fresh(code: str, bare: int) -> Callable[[], Sample]:
    """Runs the code in a new interpreter. Isolated, so that no setting of this one holds there."""

    def sample() -> Sample:
        started = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-I", "-c", code + PEAK], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        child.stdout.close()
        if child.returncode:
            raise RuntimeError(f"{code!r} ended with status {child.returncode}")
        return Sample(usage.ru_utime + usage.ru_stime, wall, int(said.split()[-2]) * 1024 - bare)

    return sample
