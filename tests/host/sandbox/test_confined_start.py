"""Landlock with seccomp: older kernels, and what a thread gives up without the others noticing."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.users import need_another_user
from toolroll.host.runtime.launcher import AccessRules, Sandbox, python_paths
from toolroll.host.sandbox.confined_start import LandlockSandbox, gaps
from toolroll.host.sandbox.landlock import abi as landlock_abi
from toolroll.host.sandbox.syscalls import Kernel, machine
from toolroll.result import ErrorCode, ToolError

Run = Callable[..., tuple[int, str]]

PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def as_of(landlock: Sandbox) -> Callable[[int], LandlockSandbox]:
    """The tier as it would be in a kernel with an older Landlock. The newest is there: the fixture has tried it."""
    here = machine()
    assert here is not None
    kernel = Kernel(here.numbers)
    newest = landlock_abi(kernel)

    def make(abi: int) -> LandlockSandbox:
        if abi > newest:
            pytest.skip(f"the kernel has ABI {newest}")
        return LandlockSandbox(here, kernel, abi)

    return make


EMPTY_IT = """
import os, sys
for way in (
    lambda: os.truncate(sys.argv[1], 0),
    lambda: os.close(os.open(sys.argv[1], os.O_RDONLY | os.O_TRUNC)),
    lambda: os.close(os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)),
    lambda: open(sys.argv[1], "w"),
):
    try:
        way()
    except PermissionError:
        print("denied")
"""


@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6, 7])
def test_an_older_kernel(run: Run, as_of: Callable[[int], LandlockSandbox], ws: Path, tmp_path: Path, abi: int) -> None:
    sandbox = as_of(abi)
    outside = tmp_path / "read" / "only"
    outside.parent.mkdir()
    outside.write_text("outside")
    (ws / "empty.py").write_text(EMPTY_IT)
    (ws / "sub").mkdir()
    access = AccessRules((str(ws),), (str(outside.parent), *python_paths()))
    with subprocess.Popen(["sleep", "300"]) as other:
        found = [
            run(sandbox, [sys.executable, "empty.py", str(outside)], access=access),
            run(sandbox, f"cat '{outside}'; cat '{tmp_path}/secret' || echo x > new && cat new", access=access)[0],
            run(sandbox, f"kill -0 {other.pid}", access=access)[0],
            run(sandbox, "echo x > /dev/tcp/127.0.0.1/9", access=access)[0],
            run(sandbox, "mv new sub/new", access=access)[0],
            run(sandbox, "echo long > short; truncate -s 2 short; : > short; echo fine > short", access=access)[0],
        ]
        other.kill()
    assert outside.read_text() == "outside"
    signals = 1 if abi >= 6 else 0
    moves = 0 if abi >= 2 else 1
    if moves:  # the folder of the other name is another file system to it, so mv copies
        assert (ws / "sub" / "new").read_text() == "x\n"
        moves = 0
    assert found == [(0, "denied\n" * 4), 0, signals, 1, moves, 0]
    assert len(gaps(abi)) == (4 if abi >= 6 else 5)


def test_a_filter_that_is_needed(run: Run, as_of: Callable[[int], LandlockSandbox], ws: Path, tmp_path: Path) -> None:
    """The control: an old Landlock by itself lets a file that may only be read be emptied."""
    sandbox = as_of(2)
    modern = as_of(3)
    sandbox._filters = modern._filters
    (tmp_path / "read").mkdir()
    (tmp_path / "read" / "only").write_text("outside")
    (ws / "empty.py").write_text(EMPTY_IT)
    access = AccessRules((str(ws),), (str(tmp_path / "read"), *python_paths()))
    assert run(sandbox, [sys.executable, "empty.py", str(tmp_path / "read" / "only")], access=access) == (
        0,
        "denied\n" * 2,
    )
    assert (tmp_path / "read" / "only").read_text() == ""


def test_a_command_that_cannot_be_confined_is_not_started(
    run: Run, landlock: Sandbox, ws: Path, tmp_path: Path
) -> None:
    here = machine()
    assert here is not None
    broken = LandlockSandbox(here, Kernel({**here.numbers, "seccomp": 9999}), 1)
    with pytest.raises(
        ToolError, match="not started, because it could not be confined: seccomp: Function not"
    ) as caught:
        run(broken, "echo x > made")
    assert caught.value.code is ErrorCode.EXECUTION
    assert not (ws / "made").exists()


def test_rulesets_are_closed_with_their_sandbox(run: Run, as_of: Callable[[int], LandlockSandbox], ws: Path) -> None:
    def open_rulesets() -> int:
        links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
        return sum("landlock" in os.readlink(link) for link in links if os.path.lexists(link))

    gc.collect()
    before = open_rulesets()
    sandbox = as_of(1)
    for number in range(20):
        (ws / str(number)).mkdir()
        run(sandbox, ["true"], access=AccessRules((str(ws), str(ws / str(number)))))
    assert open_rulesets() == before + 16
    del sandbox
    gc.collect()
    assert open_rulesets() == before


def test_no_command_has_a_capability_or_can_get_one(run: Run, landlock: Sandbox, plain: Sandbox) -> None:
    script = "grep -E '^(Cap|NoNewPrivs)' /proc/self/status"
    held = "".join(f"Cap{kind}:\t{0:016x}\n" for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")) + "NoNewPrivs:\t1\n"
    if os.geteuid() != 0:
        script += " | grep -v CapBnd"  # which only root can narrow, and which gives an ordinary user nothing
        held = held.replace(f"CapBnd:\t{0:016x}\n", "")
    assert run(landlock, script) == (0, held)
    assert run(plain, script) != (0, held)


def test_commands_cannot_reach_each_other(run: Run, landlock: Sandbox, plain: Sandbox, ws: Path) -> None:
    """Though they may reach the same files."""
    script = "kill -0 {pid} && echo signal; tr '\\0' '\\n' </proc/{pid}/environ; readlink /proc/{pid}/cwd"
    newest = "signals can be sent" not in " ".join(landlock.gaps)
    found = {}
    for sandbox in (landlock, plain):
        fd, null = os.open(ws, os.O_RDONLY), subprocess.DEVNULL
        with sandbox.spawn(
            AccessRules((str(ws),)),
            ["sleep", "300"],
            cwd=fd,
            env={"PATH": PATH, "MINE": "1"},
            stdin=null,
            stdout=null,
            stderr=null,
        ) as other:
            said = run(sandbox, f"({script.format(pid=other.pid)}) 2>/dev/null")[1].split()
            found[sandbox] = ("signal" in said, "MINE=1" in said, str(ws) in said)
            other.kill()
        os.close(fd)
    assert found == {landlock: (not newest, False, False), plain: (True, True, True)}


LOOK = """
for ((turn = 0; turn < 25; turn++)); do
    for task in /proc/$PPID/task/*; do
        grep -qaF "$0" $task/environ && environ=environ
        : < $task/mem && mem=mem
    done
done 2>/dev/null
echo $environ $mem
"""
DUMPABLE = """
import _thread, ctypes, os, subprocess, sys, threading, time
from contextlib import nullcontext
from toolroll.host.runtime.launcher import AccessRules
from toolroll.host.sandbox import choose, confined_start

def dumpable(*value):
    return ctypes.CDLL(None).prctl(4 if value else 3, *value, 0, 0, 0)

pause, seen, start_thread = 0.4, [], _thread.start_new_thread
def start_slow_thread(work, arguments):  # it takes long to end, as on a busy machine
    def run():
        work(*arguments)
        seen.append(dumpable())
        time.sleep(pause)
    return start_thread(run, ())
_thread.start_new_thread = start_slow_thread

def command(words, network=False, sandbox=None):
    return (sandbox or choose.choose_sandbox("landlock")).spawn(AccessRules((ws,), network=network), words, cwd=os.open(ws, os.O_RDONLY),
        env={"PATH": "/usr/bin:/bin"}, stdin=subprocess.DEVNULL, stdout=1, stderr=2)

ws = sys.argv[1]
"""


@pytest.fixture
def own_program(landlock: Sandbox, ours: tuple[tuple[str, ...], dict[str, str]], ws: Path) -> Callable[..., list[str]]:
    """What a program prints, line by line, whose confined threads take long to end."""

    def run(program: str, *arguments: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", DUMPABLE + program, str(ws), *arguments],
            env={**os.environ, **ours[1], "SECRET": "".join(arguments[:1])},
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize(("user", "ways"), [("me", "offline network helper"), ("nobody", "offline")])
def test_a_command_cannot_look_into_the_thread_that_started_it(
    own_program: Callable[..., list[str]], user: str, ways: str
) -> None:
    """That thread is in the command's domain until it ends. The control lets the process be dumped meanwhile."""
    program = """
pause = 0
command(["true"]).wait()  # this imports all that another user may have no right to read
pause = 0.4
secret, look, ways, user, ws = sys.argv[2:]
if user == "nobody":
    if child := os.fork():
        sys.exit(os.waitpid(child, 0)[1])
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    dumpable(1)  # as any process that did not change its user
for control in (False, True):
    if control:
        confined_start._dumpable.held = lambda kernel: nullcontext()
    for way in ways.split():
        sandbox = choose.choose_for_helpers() if way == "helper" else choose.choose_sandbox("landlock")
        command(["bash", "-c", look, secret], network=way == "network", sandbox=sandbox).wait()
"""
    if user == "nobody":
        need_another_user()
    with tempfile.TemporaryDirectory(prefix="toolroll-test-") as folder:
        if user == "nobody":
            os.chown(folder, 65534, 65534)
        number = len(ways.split())
        said = own_program(program, os.urandom(12).hex(), LOOK, ways, user, folder)
        assert said == [""] * number + ["environ mem"] * number


@pytest.mark.parametrize("former", [1, 0])
def test_the_process_is_as_dumpable_as_before_when_its_threads_have_ended(
    own_program: Callable[..., list[str]], former: int
) -> None:
    program = """
dumpable(int(sys.argv[2]))
for network in (False, True):
    command(["true"], network).wait()
print(*seen[-2:], dumpable())
"""
    assert own_program(program, str(former)) == [f"0 0 {former}"]


def test_a_forked_child_is_as_dumpable_as_before(own_program: Callable[..., list[str]]) -> None:
    program = """
choose.choose_sandbox("landlock")
starter = threading.Thread(target=lambda: command(["true"]).wait())
starter.start()
while dumpable():
    time.sleep(0.01)
reading, writing = os.pipe()
if (child := os.fork()) == 0:
    found = [dumpable()]
    command(["true"]).wait()
    os.write(writing, repr((*found, dumpable())).encode())
    os._exit(0)
print(dumpable())
starter.join()
os.waitpid(child, 0)
print(os.read(reading, 100).decode(), dumpable())
"""
    assert own_program(program) == ["0", "(1, 1) 1"]


def test_a_thread_that_cannot_be_confined_leaves_the_process_dumpable(own_program: Callable[..., list[str]]) -> None:
    program = """
from toolroll.host.sandbox.confined_start import LandlockSandbox
from toolroll.host.sandbox.syscalls import Kernel, machine
try:
    command(["true"], sandbox=LandlockSandbox(machine(), Kernel({**machine().numbers, "seccomp": 9999}), 1))
except Exception as error:
    print(type(error).__name__, dumpable())
"""
    assert own_program(program) == ["ToolError 1"]
