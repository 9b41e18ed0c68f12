"""`toolroll call ls` through the daemon and without it, beside an empty Python; the daemon at rest.

Run it: `python -m bench.daemon [CALLS]`. The result is a table; docs/daemon.md has one.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PROGRAM = "import sys; from toolroll.__main__ import main; sys.exit(main())"  # as the installed program has it
ROUNDS = 15
AT_REST_S = 15.0


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


def measure_cpu(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> float:
    """The mean processor time of such a process, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(ROUNDS):
        subprocess.run(words, cwd=folder, env=environ, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / ROUNDS * 1000


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
            busy = look_at(pid)[1]
            cpu = measure_cpu(call, folder, environ)
            busy = (look_at(pid)[1] - busy) / ROUNDS * 1000
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
        ("processor time of a call: its process (at most 40 ms)", f"{cpu:.0f} ms", ""),
        ("processor time of a call: the daemon", f"{busy:.0f} ms", ""),
        (f"{count} calls side by side", f"{seconds:.1f} s", f"{failed} failed"),
        ("the daemon at rest, memory", f"{memory / 1024:.0f} MB", ""),
        ("the daemon at rest, processor", f"{(after - before) / AT_REST_S * 100:.2f} %", ""),
    ]
    print("| what | measured | in starts of Python |\n| --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
