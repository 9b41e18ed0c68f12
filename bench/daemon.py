"""`toolroll call ls` and `toolroll mcp` through the daemon and without it, beside an empty Python; the daemon at rest.

Run it: `python -m bench.daemon [CALLS]`. The result is a table; docs/daemon.md has one.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROGRAM = "import sys; from toolroll.__main__ import main; sys.exit(main())"  # as the installed program has it
ROUNDS = 15
AT_REST_S = 15.0
STEPS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "initialize and tools/list": [
        (
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
        ),
        ("tools/list", {}),
    ],
    "and `read`": [("tools/call", {"name": "read", "arguments": {"path": "notes.txt"}})],
    "and `grep`": [("tools/call", {"name": "grep", "arguments": {"pattern": "setup"}})],
}
"""What a session of `toolroll mcp` does, in steps whose ends are timed."""
_MEMORY = "memory of the process"


def measure(commands: Sequence[Sequence[str]], folder: Path, environs: Sequence[Mapping[str, str]]) -> list[float]:
    """The median time of each process, in milliseconds; they take turns."""
    found: list[list[float]] = [[] for _ in commands]
    for _ in range(ROUNDS):
        for times, words, environ in zip(found, commands, environs, strict=True):
            began = time.perf_counter()
            subprocess.run(words, cwd=folder, env=environ, stdout=subprocess.DEVNULL, check=True)
            times.append((time.perf_counter() - began) * 1000)
    return [statistics.median(times) for times in found]


def run_at_once(count: int, words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> tuple[float, int]:
    """The seconds that so many processes take side by side, and how many of them fail."""
    began = time.perf_counter()
    running = [subprocess.Popen(words, cwd=folder, env=environ, stdout=subprocess.DEVNULL) for _ in range(count)]
    failed = sum(one.wait() != 0 for one in running)
    return time.perf_counter() - began, failed


def measure_session(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> list[float]:
    """The milliseconds from the start to the end of each step, then KiB of memory and milliseconds of processor."""
    pipe, number, measured = subprocess.PIPE, 0, []
    began = time.perf_counter()
    with subprocess.Popen(words, cwd=folder, env=environ, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for requests in STEPS.values():
            for method, params in requests:
                number += 1
                line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                process.stdin.write(line.encode() + b"\n")
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["id"] == number
            measured.append((time.perf_counter() - began) * 1000)
        memory, _ = look_at(process.pid)
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return [*measured, memory, (used.ru_utime + used.ru_stime) * 1000]


def measure_sessions(
    words: Sequence[str], folder: Path, environs: Sequence[Mapping[str, str]], daemon: int
) -> list[tuple[str, float, float]]:
    """The medians of sessions through the daemon, and without it; they take turns. The processor is that of both."""
    found: list[list[list[float]]] = [[] for _ in environs]
    spent = 0.0
    for _ in range(ROUNDS):
        before = look_at(daemon)[1]
        found[0].append(measure_session(words, folder, environs[0]))
        spent += look_at(daemon)[1] - before
        found[1].append(measure_session(words, folder, environs[1]))
    through, alone = ([statistics.median(column) for column in zip(*rows, strict=True)] for rows in found)
    through[-1] += spent / ROUNDS * 1000
    return list(zip([*STEPS, _MEMORY, "processor, with that of the daemon"], through, alone, strict=True))


def look_at(pid: int) -> tuple[int, float]:
    """The proportional memory of a process in KiB, and its processor time in seconds."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    memory = next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return memory, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(count: int = 200) -> None:
    """Run it, and print the table."""
    with tempfile.TemporaryDirectory(prefix="bench-daemon-") as place:
        folder = Path(place, "workspace")
        folder.mkdir()
        for name in ("README.md", "setup.py", "notes.txt"):
            (folder / name).write_text(f"{name}\n")
        environ = {**os.environ, "XDG_STATE_HOME": str(Path(place, "state"))}
        python, toolroll = [sys.executable, "-c"], [sys.executable, "-c", PROGRAM]
        call = [*toolroll, "call", "ls", "path=."]
        off = {**environ, "TOOLROLL_DAEMON": "off"}
        up = [*toolroll, "up"]
        subprocess.run(up, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
        try:
            empty, through, alone = measure([[*python, "pass"], call, call], folder, [environ, environ, off])
            said = subprocess.run([*up, "--status"], cwd=folder, env=environ, check=True, stdout=subprocess.PIPE).stdout
            pid = int(said.split(b",")[0].removeprefix(b"process "))
            sessions = measure_sessions([*toolroll, "mcp", "-C", "."], folder, [environ, off], pid)
            seconds, failed = run_at_once(count, call, folder, environ)
            _, before = look_at(pid)
            time.sleep(AT_REST_S)
            memory, after = look_at(pid)
        finally:
            subprocess.run([*up, "--stop"], cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    rows = [
        ("`python -c pass`", f"{empty:.0f} ms", "1.0"),
        ("`toolroll call ls` through the daemon", f"{through:.0f} ms", f"{through / empty:.1f}"),
        ("`toolroll call ls` without it", f"{alone:.0f} ms", f"{alone / empty:.1f}"),
        (f"{count} calls side by side", f"{seconds:.1f} s", f"{failed} failed"),
        ("the daemon at rest, memory", f"{memory / 1024:.0f} MB", ""),
        ("the daemon at rest, processor", f"{(after - before) / AT_REST_S * 100:.2f} %", ""),
    ]
    print("| what | measured | in starts of Python |\n| --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print("\n| a session of `toolroll mcp` | through the daemon | without it |\n| --- | --- | --- |")
    for name, *pair in sessions:
        unit, by = ("MB", 1024.0) if name == _MEMORY else ("ms", 1.0)
        print(f"| {name} | {' | '.join(f'{one / by:.0f} {unit}' for one in pair)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
