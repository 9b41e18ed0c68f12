"""One at a time, among threads and processes, and free when the holder is gone."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from toolroll import ToolError
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.file_lock import hold_lock, make_held_folder

HOLD = """
import os, sys
from toolroll.host.runtime.file_lock import hold_lock, make_held_folder
from toolroll.host.runtime.cancellation import CancelToken
with hold_lock(os.open(sys.argv[1], os.O_RDONLY), "lock", CancelToken()):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def folder(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_threads_take_turns(folder):
    inside, most = [], []

    def work():
        with hold_lock(folder, "lock", CancelToken()):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.002)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 10


def test_another_process_is_waited_for_until_it_is_gone(folder, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(ToolError) as caught, hold_lock(folder, "lock", CancelToken(0.05)):
            raise AssertionError("it was not ours")
        assert caught.value.code == "TimeoutError"
        with hold_lock(folder, "another", CancelToken(0.05)):
            pass
        holder.kill()
        holder.wait()
        with hold_lock(folder, "lock", CancelToken(10)):
            pass


def test_a_folder_that_nobody_holds_any_more_is_removed_by_the_next_start(tmp_path):
    code = "import sys, time; from toolroll.host.runtime.file_lock import make_held_folder as make\n"
    code += "print(make(sys.argv[1])[0], flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        theirs = Path(other.stdout.readline().strip())
        (theirs / "inner").mkdir()
        mine, held = make_held_folder(str(tmp_path))
        assert sorted(tmp_path.iterdir()) == sorted([theirs, Path(mine)])
        other.kill()
    third, last = make_held_folder(str(tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted([Path(mine), Path(third)])
    os.close(held)
    os.close(last)
