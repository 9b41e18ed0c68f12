"""A thousand leases of django, twenty calls each, on this machine: how fast, how much memory, and whether they mix.

First as tasks of `toolroll fleet run`, then all open at once in one process.

Run it: `python -m bench.fleet [LEASES] [WIDTH]`. The result is a table; docs/fleet.md has one.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from bench.corpora import real
from toolroll import Fleet, Lease

FILES = {  # of usual size, and a line that each has once
    "django/urls/base.py": "from urllib.parse import unquote, urlencode, urlsplit, urlunsplit",
    "django/utils/crypto.py": "import hashlib",
    "django/core/paginator.py": "import inspect",
    "django/utils/decorators.py": "from functools import partial, update_wrapper, wraps",
}
_PLAIN = 10  # leases of the plain peer
WORDS = ("constant_time_compare", "class MultiPartParserError", "get_script_prefix", "UnorderedObjectListWarning")


def make_tasks(count: int) -> Iterator[dict[str, Any]]:
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


class FleetRun(NamedTuple):
    """One run of `toolroll fleet run`: its results, its time by the clock and of CPU, and its memory in KiB."""

    rows: list[dict[str, Any]]
    seconds: float
    working: float
    """From the first result to the last: without the base, whose time differs from run to run."""
    cpu: float
    peak: int


def run_fleet(count: int, width: int, workspace: Path, place: Path) -> FleetRun:
    """Run so many tasks, and watch the memory."""
    tasks = place / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(one) + "\n" for one in make_tasks(count)))
    environ = {**os.environ, "XDG_CACHE_HOME": str(place / "cache"), "XDG_STATE_HOME": str(place / "state")}
    words = [sys.executable, "-m", "toolroll", "fleet", "run", str(tasks), "--width", str(width), "-C", str(workspace)]
    results = place / "tasks.results.jsonl"
    results.unlink(missing_ok=True)
    began, before, peaks, moments, stop = time.monotonic(), cpu_seconds(), [0], list[float](), threading.Event()
    with subprocess.Popen(words, env=environ) as child:
        watchers = [
            threading.Thread(target=watch_memory, args=(child.pid, stop, peaks)),
            threading.Thread(target=watch_results, args=(results, stop, moments)),
        ]
        for one in watchers:
            one.start()
        child.wait()
        seconds = time.monotonic() - began
        stop.set()
        for one in watchers:
            one.join()
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    return FleetRun(rows, seconds, moments[-1] - moments[0], cpu_seconds() - before, max(peaks))


def watch_results(path: Path, stop: threading.Event, moments: list[float]) -> None:
    """When the file of results was seen to grow."""
    size, is_over = 0, False
    while not is_over:
        is_over = stop.wait(0.02)  # and then a last look
        now = path.stat().st_size if path.exists() else 0
        if now > size:
            size = now
            moments.append(time.monotonic())


def cpu_seconds() -> float:
    """CPU time of all processes that have ended, and of this one."""
    used = (resource.getrusage(one) for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def run_at_once(count: int, workspace: Path) -> None:
    """Open all leases in this process, make their calls while all are open, and print how it went."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    tasks, peaks, stop = list(make_tasks(count)), [0], threading.Event()

    def work(lease: Lease, task: dict[str, Any]) -> int:
        return sum(not lease.call(name, given).ok for name, given in task["calls"])

    watcher = threading.Thread(target=watch_memory, args=(os.getpid(), stop, peaks))
    with ExitStack() as ending:
        watcher.start()
        ending.callback(watcher.join)
        ending.callback(stop.set)
        fleet = ending.enter_context(Fleet(workspace, commit="HEAD"))
        threads = ending.enter_context(ThreadPoolExecutor(2 * (os.cpu_count() or 1)))
        began = time.monotonic()
        leases = [fleet.lease() for _ in range(count)]
        opened = time.monotonic()
        failed = sum(threads.map(work, leases, tasks))
        seconds = time.monotonic() - opened
        rows = [{"id": task["id"], "patch": lease.diff()} for lease, task in zip(leases, tasks, strict=True)]
    print(f"all {count} open at once in one process, opened in {opened - began:.1f} s: {failed} calls failed")
    print(f"file calls/s {18 * count / seconds:.0f}, commands/s {2 * count / seconds:.0f}")
    print(f"crossed {sum(not _is_own(row) for row in rows)}; peak memory {max(peaks) / 1024:.0f} MB")


def run_plain(count: int, workspace: Path, place: Path) -> tuple[float, float]:
    """The same calls by a worktree of git, Python's files and plain processes: leases/s, and CPU seconds of one."""
    tasks = list(make_tasks(count))

    def work(task: dict[str, Any]) -> None:
        folder = place / "plain" / task["id"].replace(" ", "-")
        with turn:  # git lets one at a time make a worktree
            git("worktree", "add", "-q", "--detach", str(folder), "HEAD", cwd=workspace)
        for name, given in task["calls"]:
            if name == "bash":
                subprocess.run(["bash", "-c", given["command"]], cwd=folder, check=True, capture_output=True)
            elif name == "grep":
                git("grep", "-n", given["pattern"], cwd=folder)
            else:
                path = folder / given["path"]
                text = path.read_text()
                if name == "edit":
                    path.write_text(text.replace(given["old"], given["new"], 1))
                else:
                    text.splitlines()[given.get("offset", 1) - 1 :][: given["limit"]]
        git("diff", cwd=folder)
        with turn:
            git("worktree", "remove", "--force", str(folder), cwd=workspace)

    turn, began, before = threading.Lock(), time.monotonic(), cpu_seconds()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(work, tasks))
    return count / (time.monotonic() - began), (cpu_seconds() - before) / count


def git(*words: str, cwd: Path) -> None:
    """Run git."""
    subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)


def main(count: int = 1000, width: int = 1000) -> None:
    """Run it, and print the table."""
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder:
        place = Path(folder)
        workspace = make_repository(real("django"), place / "django")
        once = run_fleet(1, 1, workspace, place)  # mostly the preparation of the base
        whole = run_fleet(count, width, workspace, place)
        mine = report(once, whole, leftovers(place))
        plain = run_plain(min(count, _PLAIN), workspace, place)
        print(f"git worktree and plain processes: leases/s {plain[0]:.1f}, CPU of a lease {1000 * plain[1]:.0f} ms")
        times = mine[1] / plain[1], mine[0] / plain[0]
        print(f"the fleet takes {times[0]:.2f} times the CPU, and makes {times[1]:.1f} times the leases/s")
        run_at_once(count, workspace)


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


def report(once: FleetRun, whole: FleetRun, left: list[str]) -> tuple[float, float]:
    """Print the figures of the whole mix, from the first result to the last: leases/s, and CPU seconds of one."""
    calls = [call for row in whole.rows for call in row.get("calls", [])]
    commands, leases = sum(call["tool"] == "bash" for call in calls), len(whole.rows)
    cpu = (whole.cpu - once.cpu) / max(leases - 1, 1)
    part = whole.working * leases / (leases - 1) if leases > 1 else 0.0  # the first one began before its result
    if part < 1:
        sys.exit(f"{leases} leases within {part:.1f} s: too few to count")
    crossed = [row["id"] for row in whole.rows if not _is_own(row)]
    print(f"leases {leases}, passed {sum(row['status'] == 'passed' for row in whole.rows)}, calls {len(calls)}")
    print(f"whole run {whole.seconds:.1f} s, {part:.1f} s of them for the leases")
    print(f"together: file calls/s {(len(calls) - commands) / part:.0f}, commands/s {commands / part:.0f}")
    print(f"leases/s {leases / part:.1f}, CPU of a lease {1000 * cpu:.0f} ms")
    print(f"longest lease {max(row['seconds'] for row in whole.rows):.1f} s; peak memory {whole.peak / 1024:.0f} MB")
    print(f"crossed {len(crossed)}; left behind {len(left)} {left[:5]}")
    return leases / part, cpu


def _is_own(row: dict[str, Any]) -> bool:
    """Whether the changes of a lease have its own mark six times, and nobody else's."""
    marks = [line for line in str(row.get("patch", "")).splitlines() if line.startswith("+") and "lease " in line]
    return len(marks) == len(FILES) + 2 and all(str(row["id"]) in line for line in marks)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
