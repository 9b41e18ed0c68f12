from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from toolroll.host.runtime import process_marks
from toolroll.host.runtime.process_marks import FoundMarks, ProcessMarks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def child(script: str = "read line", env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", "-c", f"echo $$; {script}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)


def seen(process: subprocess.Popen[bytes]) -> tuple[FoundMarks, int]:
    """The marks of the last process that a script has started and told of, and its limit."""
    pid = int(process.stdout.readline())
    found = process_marks.look(pid), process_marks.limit_of(pid)
    process.communicate()
    return found


def in_a_thread(work) -> list:
    done = []
    thread = threading.Thread(target=lambda: done.extend(work()))
    thread.start()
    thread.join()
    return done


def test_signals_mark_what_a_thread_starts() -> None:
    mine, other = ProcessMarks(), ProcessMarks()

    def start() -> list[bool]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        other.block([])
        mine.block([other])
        marked = child(env={})
        mine.unblock()
        after = child()
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
        return [mine.on(seen(marked)[0]), mine.on(seen(after)[0])]

    assert in_a_thread(start) == [True, False]
    assert mine.signals != other.signals
    assert [mine.on(seen(child())[0]), other.on(FoundMarks()), ProcessMarks().on(FoundMarks())] == [False, False, False]


def test_the_tag_is_in_the_environment() -> None:
    mine, other = ProcessMarks(), ProcessMarks()
    found, _ = seen(child(env={process_marks.TAG: mine.tag}))
    assert (mine.on(found), other.on(found)) == (True, False)


def test_a_limit_is_inherited_and_cannot_be_raised() -> None:
    mine = ProcessMarks()
    bare = child("read line; env -i bash -c 'echo $$; read line'")
    pid = int(bare.stdout.readline())
    assert (process_marks.limit_of(pid), mine.is_attached(pid)) == (None, False)
    mine.attach(pid)
    mine.attach(pid)
    assert (process_marks.limit_of(pid), mine.is_attached(pid), ProcessMarks().is_attached(pid)) == (
        mine.limit,
        True,
        False,
    )
    bare.stdin.write(b"\n")
    bare.stdin.flush()
    assert seen(bare)[1] == mine.limit
    mine.attach(bare.pid)  # it is gone
    assert not mine.is_attached(bare.pid)


def test_a_command_that_runs_commands_marks_them_below_its_own() -> None:
    code = "import os; from toolroll.host.runtime import process_marks; print(os.getpid(), flush=True); input(); print(process_marks.ProcessMarks().limit, process_marks.limit_of(os.getpid()) is None)"
    inner, outer = (
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE),
        ProcessMarks(),
    )
    outer.attach(int(inner.stdout.readline()))
    limit, of_itself = inner.communicate(b"\n")[0].split()
    assert 1 << 40 < int(limit) < outer.limit
    assert of_itself == b"True"  # what it has from outside is not its own


def test_those_that_are_gone_have_none() -> None:
    process = child("exit")
    process.communicate()
    assert (process_marks.look(process.pid), process_marks.limit_of(process.pid)) == (FoundMarks(), None)
    assert process_marks.limit_of(os.getpid()) is None
