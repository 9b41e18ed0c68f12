from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.waiting import until
from toolroll.host.runtime import process_tree
from toolroll.host.runtime.process_tree import LiveProcesses, Process, ProcessSnapshot, ProcessView

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

# The ways of Linux with and without lists of children, and that of other systems.
VIEWS: dict[str, Callable[[], ProcessView]] = {
    "live": LiveProcesses,
    "all of /proc": lambda: ProcessSnapshot(LiveProcesses().everybody()),
    "ps": lambda: ProcessSnapshot(process_tree._from_ps()),
}


@pytest.fixture(params=VIEWS)
def view(request: pytest.FixtureRequest) -> Callable[[], ProcessView]:
    return VIEWS[request.param]


@pytest.fixture
def shell() -> Iterator[Callable[[str], tuple[subprocess.Popen[bytes], list[int]]]]:
    """Run a script that prints numbers of processes and then waits; its process, and the numbers."""
    started: list[subprocess.Popen[bytes]] = []

    def run(script: str) -> tuple[subprocess.Popen[bytes], list[int]]:
        process = subprocess.Popen(
            ["bash", "-c", f"{script}\necho\nread line"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(process)
        said = iter(process.stdout.readline, b"\n")
        return process, [int(line) for line in said]

    yield run
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_process(view, shell) -> None:
    before = process_tree.now_in_ticks()
    process, _ = shell("")
    seen = view().get(process.pid)
    assert (seen.pid, seen.parent, seen.group, seen.session) == (process.pid, os.getpid(), process.pid, process.pid)
    assert (seen.alive, seen.threads) == (True, 1)
    assert 500_000 < seen.rss < 100_000_000
    assert view().get(process.pid).started == seen.started
    if view is not VIEWS["ps"]:
        assert before - 2 <= seen.started <= process_tree.now_in_ticks()


def test_the_tree(view, shell) -> None:
    process, _ = shell("(sleep 60 & sleep 60) & setsid bash -c 'sleep 60 & wait' &")
    until(lambda: len((seen := view()).tree([seen.get(process.pid)])) == 6)
    seen = view()
    found = seen.tree([seen.get(process.pid)])
    parents = sorted(sum(1 for one in found.values() if one.parent == pid) for pid in found)
    assert parents == [0, 0, 0, 1, 2, 2]
    assert {one.group == process.pid for one in found.values()} == {False, True}
    for pid, one in found.items():
        if one.group == pid != process.pid:
            os.killpg(pid, signal.SIGKILL)


def test_children(view, shell) -> None:
    process, below = shell("sleep 60 & echo $!; sleep 60 & echo $!")
    assert sorted(view().children(process.pid)) == sorted(below)
    assert process.pid in view().children(os.getpid())
    assert set(view().children(os.getpid())) >= {process.pid}


def test_a_dead_one_is_seen_until_it_is_waited_for(view) -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seen = view().get(process.pid)
    assert (seen.state, seen.alive) == ("Z", False)
    process.wait()
    assert view().get(process.pid) is None
    assert view().children(process.pid) == []
    assert list(view().tree([seen])) == [process.pid]


def test_one_whose_first_thread_has_ended_is_alive() -> None:
    code = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); print(flush=True); ctypes.CDLL(None).pthread_exit(None)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    process.stdout.readline()
    until(lambda: LiveProcesses().get(process.pid).state == "Z")
    seen = LiveProcesses().get(process.pid)
    assert (seen.state, seen.threads, seen.alive) == ("Z", 2, True)
    process.kill()
    process.communicate()


def test_children_of_any_thread_are_found(view) -> None:
    code = "import subprocess, threading, sys\ndef run():\n  print(subprocess.Popen(['sleep', '60']).pid, flush=True)\n  sys.stdin.readline()\nthread = threading.Thread(target=run); thread.start(); thread.join()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    child = int(process.stdout.readline())
    assert list(view().tree([view().get(process.pid)])) == [process.pid, child]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_names_are_not_trusted(view, shell, tmp_path) -> None:
    """The name of a process is in the same line as its numbers."""
    name = tmp_path / "x) Z 1 1 ("
    name.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(name), "60"])
    seen = view().get(process.pid)
    assert (seen.alive, seen.parent) == (True, os.getpid())
    process.kill()
    process.wait()


def test_everybody(view) -> None:
    found = {one.pid for one in view().everybody()}
    assert {os.getpid(), os.getppid()} <= found


def test_a_signal_reaches_only_who_is_meant() -> None:
    process = subprocess.Popen(["sleep", "60"])
    seen = LiveProcesses().get(process.pid)
    another = seen._replace(started=seen.started - 1)
    assert process_tree.send(another, signal.SIGKILL) is False
    time.sleep(0.05)
    assert process.poll() is None
    assert process_tree.send(seen, signal.SIGKILL) is True
    assert process.wait() == -9
    assert process_tree.send(seen, signal.SIGKILL) is False
    with ThreadPoolExecutor(1) as pool:  # its number may be that of a thread by now
        thread = pool.submit(threading.get_native_id).result()
        assert process_tree.send(seen._replace(pid=thread), signal.SIGKILL) is False


def test_memory_that_is_shared_is_counted_once() -> None:
    code = "import os, time; held = b'x' * (64 << 20); child = os.fork(); print(child, flush=True) if child else None; time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    both = list(LiveProcesses().tree([LiveProcesses().get(process.pid)]).values())
    assert len(both) == 2
    assert sum(one.rss for one in both) > 128 << 20
    assert 64 << 20 < sum(map(process_tree.proportional_memory, both)) < 100 << 20
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    gone = Process(process.pid, 0, 0, 0, 0, 12345, 1, "R")
    assert process_tree.proportional_memory(gone) == 12345


def test_the_best_view_is_taken() -> None:
    assert process_tree.has_proc()
    expected = LiveProcesses if os.path.exists(f"/proc/self/task/{os.getpid()}/children") else ProcessSnapshot
    assert type(process_tree.view_processes()) is expected
