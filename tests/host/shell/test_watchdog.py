"""Whatever moment a program is killed at, what it has started ends with it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import until
from toolroll.host.shell.watchdog import Watchdog

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

HOST = """
import os, subprocess, sys, time
from toolroll.host.shell.watchdog import Watchdog
line = Watchdog(sys.argv[1])
if sys.argv[2] == "closed":
    line.close()
mine = {**os.environ, "SOME_MARK": f"{sys.argv[1]}.1"}
for command in ("sleep 60", "setsid sleep 60", "trap '' HUP TERM; sleep 60; sleep 60"):
    subprocess.Popen(["sh", "-c", command], env=mine, start_new_session=True, stdout=subprocess.DEVNULL)
print("ready", flush=True)
time.sleep(60)
"""


def marked(name: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if name.encode() in path.read_bytes():
                found.append(int(path.parts[2]))
        except OSError:
            continue  # gone, or not ours
    return found


@pytest.mark.parametrize("line", ["tied", "closed"])
def test_a_killed_program_leaves_nothing_but_without_it_all(line: str) -> None:
    name = os.urandom(8).hex()
    host = subprocess.Popen([sys.executable, "-c", HOST, name, line], stdout=subprocess.PIPE)
    assert host.stdout.readline() == b"ready\n"
    before = marked(name)
    host.kill()
    host.communicate()
    until = time.monotonic() + (50 if line == "tied" else 0.5)
    while marked(name) and time.monotonic() < until:
        time.sleep(0.01)
    left = marked(name)
    for pid in left:
        os.kill(pid, 9)
    assert len(before) >= 3
    assert bool(left) is (line == "closed")


def test_closing_ends_only_itself() -> None:
    name = os.urandom(8).hex()
    line = Watchdog(name)
    child = subprocess.Popen(["sleep", "60"], env={"SOME_MARK": name})
    line.close()
    line.close()
    assert child.poll() is None
    child.kill()
    child.wait()


def test_its_process_is_known_while_it_holds() -> None:
    line = Watchdog(os.urandom(8).hex())
    words = Path(f"/proc/{line.pid}/cmdline")
    assert until(lambda: b"toolroll-lifeline" in words.read_bytes().split(b"\0"))  # its exec may not have ended yet
    line.close()
    assert line.pid == 0
