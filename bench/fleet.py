"""A thousand leases of django, twenty calls each, on this machine: how fast, how much memory, and whether they mix.

Run it: `python -m bench.fleet [LEASES] [WIDTH]`. The result is a table; docs/fleet.md has one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.corpora import real

FILES = {  # of usual size, and a line that each has once
    "django/urls/base.py": "from urllib.parse import unquote, urlencode, urlsplit, urlunsplit",
    "django/utils/crypto.py": "import hashlib",
    "django/core/paginator.py": "import inspect",
    "django/utils/decorators.py": "from functools import partial, update_wrapper, wraps",
}
WORDS = ("constant_time_compare", "class MultiPartParserError", "get_script_prefix", "UnorderedObjectListWarning")


def make_tasks(count: int) -> Iterator[dict[str, object]]:
    """The tasks: 12 reads, 4 edits, 2 greps and 2 commands each, and a mark of its own in every file that it edits."""
    for number in range(count):
        mark, calls = f"lease {number:05}", list[list[object]]()
        for at, (path, line) in enumerate(FILES.items()):
            calls += [["read", {"path": path, "offset": 1 + 40 * step, "limit": 40}] for step in range(2)]
            calls.append(["edit", {"path": path, "old": line, "new": f"# {mark}\n{line}"}])
            if at % 2 == 0:
                calls.append(["grep", {"pattern": WORDS[(number + at) % len(WORDS)], "limit": 20}])
            else:
                calls.append(["bash", {"command": f"echo '{mark}' > note{at}.txt; cat {path} | grep -c '# lease'"}])
            calls.append(["read", {"path": path, "limit": 20}])
        yield {"id": mark, "calls": calls}


def watch_memory(pid: int, stop: threading.Event, peaks: list[int]) -> None:
    """The largest sum of the proportional memory of a process and all below it, in KiB."""
    while not stop.wait(1.0):
        total = 0
        for one in list(_below(pid)):
            try:
                text = Path(f"/proc/{one}/smaps_rollup").read_text()
            except OSError:
                continue
            total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
        peaks.append(total)


def _below(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                yield from _below(int(child))
        except OSError:
            continue


def main(count: int = 1000, width: int = 1000) -> None:
    """Run it, and print the table."""
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder:
        place = Path(folder)
        workspace = make_repository(real("django"), place / "django")
        tasks = place / "tasks.jsonl"
        tasks.write_text("".join(json.dumps(one) + "\n" for one in make_tasks(count)))
        environ = {**os.environ, "XDG_CACHE_HOME": str(place / "cache"), "XDG_STATE_HOME": str(place / "state")}
        words = [
            sys.executable,
            "-m",
            "toolroll",
            "fleet",
            "run",
            str(tasks),
            "--width",
            str(width),
            "-C",
            str(workspace),
        ]
        began, peaks, stop = time.monotonic(), [0], threading.Event()
        with subprocess.Popen([*words, "--picture", str(place / "fleet.svg")], env=environ) as child:
            watcher = threading.Thread(target=watch_memory, args=(child.pid, stop, peaks))
            watcher.start()
            child.wait()
            stop.set()
            watcher.join()
        seconds = time.monotonic() - began
        rows = [json.loads(line) for line in (place / "tasks.results.jsonl").read_text().splitlines()]
        report(rows, seconds, max(peaks), leftovers(place))


def make_repository(source: Path, target: Path) -> Path:
    """A repository with one commit of this tree."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    for line in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "django"]):
        subprocess.run(["git", *who, *line], cwd=target, check=True)
    return target


def leftovers(place: Path) -> list[str]:
    """What is left of leases: folders, mounts and processes."""
    files = [str(one) for one in (place / "cache").rglob("*") if one.is_file()]
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(place) in line]
    processes = []
    for one in Path("/proc").glob("[0-9]*/environ"):
        try:
            processes += [str(one)] if str(place).encode() in one.read_bytes() else []
        except OSError:
            continue
    return files + mounts + processes


def report(rows: list[dict[str, object]], seconds: float, peak: int, left: list[str]) -> None:
    """Print the figures."""
    calls = [call for row in rows for call in row.get("calls", [])]  # type: ignore[attr-defined]
    commands = sum(call["tool"] == "bash" for call in calls)
    spans = [row["seconds"] for row in rows]
    crossed = [row["id"] for row in rows if not _is_own(row)]
    print(f"leases {len(rows)}, passed {sum(row['status'] == 'passed' for row in rows)}, calls {len(calls)}")
    print(f"whole run {seconds:.1f} s; longest lease {max(spans):.1f} s")  # type: ignore[type-var]
    print(f"file calls/s {(len(calls) - commands) / seconds:.0f}, commands/s {commands / seconds:.0f}")
    print(f"peak memory {peak / 1024:.0f} MB; crossed {len(crossed)}; left behind {len(left)} {left[:5]}")


def _is_own(row: dict[str, object]) -> bool:
    """Whether the changes of a lease have its own mark six times, and nobody else's."""
    marks = [line for line in str(row.get("patch", "")).splitlines() if line.startswith("+") and "lease " in line]
    return len(marks) == len(FILES) + 2 and all(str(row["id"]) in line for line in marks)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
