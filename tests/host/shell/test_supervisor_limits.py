"""A command that takes too much is ended, and its output never fills our memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolroll.host.files.spill import Spill
from toolroll.host.runtime import process_tree
from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.runtime.process_marks import ProcessMarks
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.tiers import Unconfined
from toolroll.host.shell.supervisor import EndReason, ResourceLimits, RunningCommand, start

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"), pytest.mark.timeout(100)]

Run = Callable[..., RunningCommand]
MB = 1 << 20


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    folder = os.open(tmp_path, os.O_RDONLY)
    state = State(str(tmp_path / "state"))

    def begin(script: str, bounds: ResourceLimits, sandbox: Sandbox | None = None, cgroup: str = "") -> RunningCommand:
        return start(
            ["bash", "-c", script],
            sandbox=sandbox or Unconfined(),
            access=AccessRules(write=(str(tmp_path),), cgroup=cgroup),
            cwd=folder,
            env={"PATH": os.environ["PATH"], "PYTHON": sys.executable},
            bounds=bounds,
            spill=Spill(state),
        )

    yield begin
    os.close(folder)
    state.close()


HOG = """$PYTHON -c '
import time
held = []
for _ in range(40):
    held.append(b"x" * (16 << 20))
    time.sleep(0.02)
time.sleep(20)
' {}"""
# Three copies share what the first holds: three times that by the quick sum, once in fact.
SHARED = """$PYTHON -c '
import os, time
held = b"x" * (80 << 20)
for _ in range(2):
    if os.fork() == 0:
        break
time.sleep(0.7)
os._exit(0)
'; exit 5"""
# Memory that is in no process, and numbers that the dead keep.
HOARD = """$PYTHON -c '
import os, time
held = [os.memfd_create("x") for _ in range(2)]
time.sleep(0.5)
for fd in held:
    os.write(fd, bytes(150 << 20))
time.sleep(20)
'"""
DEAD = "$PYTHON -c 'import os, time; [time.sleep(0.003) if os.fork() else os._exit(0) for _ in range(200)]; time.sleep(20)'"
# All start one more that leaves its parents, eight times: faster than they can be looked at.
BOMB = """$PYTHON -c '
import os, time
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        os.fork() and os._exit(0)
time.sleep(20)
'"""
MANY = "for n in $(seq 60); do {} sleep 60 & done; wait"


@pytest.mark.parametrize(
    ("script", "bounds", "outcome", "status"),
    [
        (HOG.format(""), ResourceLimits(seconds=20, memory=200 * MB), EndReason.MEMORY, -9),
        (HOG.format("& wait"), ResourceLimits(seconds=20, memory=200 * MB), EndReason.MEMORY, -9),
        ("setsid " + HOG.format("& sleep 20"), ResourceLimits(seconds=20, memory=200 * MB), EndReason.MEMORY, -9),
        (HOARD, ResourceLimits(seconds=20, memory=200 * MB), EndReason.MEMORY, -9),
        (DEAD, ResourceLimits(seconds=20, processes=20), EndReason.PROCESSES, -9),
        (BOMB, ResourceLimits(seconds=20, processes=20), EndReason.PROCESSES, -9),
        (SHARED, ResourceLimits(seconds=20, memory=200 * MB), EndReason.EXITED, 5),
        (MANY.format(""), ResourceLimits(seconds=20, processes=20), EndReason.PROCESSES, -9),
        (MANY.format("setsid"), ResourceLimits(seconds=20, processes=20), EndReason.PROCESSES, -9),
        ("f() { [ $1 = 0 ] && sleep 60; f $(($1-1)) & f $(($1-1)) & wait; }; f 6", ResourceLimits(seconds=20, processes=30), EndReason.PROCESSES, -9),
        ("for n in $(seq 9); do sleep 0.3 & done; wait", ResourceLimits(seconds=20, processes=20), EndReason.EXITED, 0),
        ("until [ $(ulimit -t) = 1 ]; do sleep 0.02; done; while :; do :; done", ResourceLimits(seconds=20, cpu_seconds=1), EndReason.EXITED, -24),
        ("until [ $(ulimit -f) = 1024 ]; do sleep 0.02; done; head -c 5000000 /dev/zero > file; stat -c %s file | grep -qx 1048576", ResourceLimits(seconds=20, file_bytes=MB), EndReason.EXITED, 0),
        ("sleep 20", ResourceLimits(seconds=0), EndReason.TIMED_OUT, -9),
    ],
)  # fmt: skip
@pytest.mark.clock
def test_bounds(run: Run, script: str, bounds: ResourceLimits, outcome: EndReason, status: int) -> None:
    running = run(script, bounds)
    ended = running.wait()
    assert (ended.outcome, ended.status) == (outcome, status)
    tag = running.pid
    assert [one for one in process_tree.LiveProcesses().everybody() if tag in (one.session, one.group)] == []


class Late(Unconfined):
    """The command has run for a while when we hear of it, as on a machine that is very busy."""

    def spawn(self, *args, **options) -> subprocess.Popen[bytes]:
        process = super().spawn(*args, **options)
        time.sleep(0.1)
        return process


LIMITED = "until [ $(ulimit -f) = 64 ]; do sleep 0.05; done; ulimit -f"


def test_limits_reach_those_that_were_started_at_once(run: Run) -> None:
    """Nobody can give the first process its limits before it runs; its children get theirs when they are seen."""
    script = f"for n in 1 2 3 4 5; do ({LIMITED}) & done; setsid bash -c '{LIMITED}' & wait; ulimit -f"
    running = run(script, ResourceLimits(seconds=20, file_bytes=64 << 10), Late())
    running.wait()
    assert running.output.ends(1000) == (b"64\n" * 7, 0, b"")


def test_limits_reach_those_that_were_started_with_the_mark(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has the mark of a command is not looked at for limits, so nobody may have the one without the other."""
    attach = ProcessMarks.attach

    def slowly(self: ProcessMarks, pid: int) -> None:
        attach(self, pid)
        time.sleep(0.2)

    monkeypatch.setattr(ProcessMarks, "attach", slowly)
    running = run(f"sleep 0.1; ({LIMITED})", ResourceLimits(seconds=20, file_bytes=64 << 10))
    running.wait()
    assert running.output.ends(1000) == (b"64\n", 0, b"")


FLOOD = """
import os, sys
from toolroll.host.runtime.launcher import AccessRules
from toolroll.host.sandbox.tiers import Unconfined
from toolroll.host.files.spill import Spill
from toolroll.host.runtime.state import State
from toolroll.host.shell.supervisor import ResourceLimits, start
folder, script, way = sys.argv[1:]

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024

def run(script):
    running = start(
        ["bash", "-c", script], sandbox=Unconfined(), access=AccessRules(write=(folder,)), cwd=os.open(folder, os.O_RDONLY),
        env={"PATH": os.environ["PATH"]}, bounds=ResourceLimits(), spill=Spill(State(folder + "/state")),
    )
    return running.wait(), running.output

run("true")
before = peak()
if way == "plain":
    import subprocess
    total = len(subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE).stdout)
else:
    ended, output = run(script)
    total = output.total
    assert ended.status == 0, ended
    assert 99_990 <= sum(map(len, output.ends(100_000)[::2])) <= 100_000  # cut at characters
print(total, (peak() - before) // (1 << 20))
"""


def growth(folder: Path, script: str, way: str = "ours") -> tuple[int, int]:
    command = [sys.executable, "-c", FLOOD, str(folder), script, way]
    total, grown = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    return int(total), int(grown)


FLOODS = ["head -c SIZE /dev/zero", "yes | head -c SIZE", "head -c SIZE /dev/urandom"]


@pytest.mark.parametrize("script", FLOODS)
def test_a_flood_takes_no_memory(tmp_path: Path, script: str) -> None:
    size = 256_000_000 if "random" not in script else 64_000_000
    total, grown = growth(tmp_path, script.replace("SIZE", str(size)))
    assert total == size
    assert grown < 16
    kept = list((tmp_path / "state" / "spill").iterdir())
    assert [file.stat().st_size <= 64 * MB for file in kept] == [True]


def test_the_plain_way_takes_all_of_it(tmp_path: Path) -> None:
    assert growth(tmp_path, "head -c 64000000 /dev/zero", "plain")[1] > 40


@pytest.mark.slow
@pytest.mark.parametrize("script", FLOODS[:2])
def test_a_flood_of_gigabytes(tmp_path: Path, script: str) -> None:
    total, grown = growth(tmp_path, script.replace("SIZE", "2000000000"))
    assert total == 2_000_000_000
    assert grown < 16


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("sed -i 's/oom_kill 2/oom_kill 3/' memory.events; kill -9 $$", EndReason.MEMORY),
        ("kill -9 $$", EndReason.EXITED),  # before it the kernel killed others
        ("sed -i 's/oom_kill 2/oom_kill 3/' memory.events", EndReason.EXITED),
    ],
)
def test_a_kill_of_the_kernel_for_memory_is_told(run: Run, tmp_path: Path, script: str, outcome: EndReason) -> None:
    """The files of a control group are plain ones here."""
    (tmp_path / "cgroup.procs").touch()
    (tmp_path / "memory.events").write_text("oom 1\noom_kill 2\noom_group_kill 1\n")
    ended = run(script, ResourceLimits(seconds=20), cgroup=str(tmp_path)).wait()
    assert ended is not None
    assert ended.outcome is outcome
    assert (tmp_path / "cgroup.procs").read_text() == "0\n"
