"""Whatever a command starts ends with it: seven shapes of tree, four ways to end, every tier that works here.

The same trees are ended by killing the group: if none of them survives that, the test proves nothing.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.users import need_another_user
from tests.waiting import until
from toolroll.host.files.spill import Spill
from toolroll.host.runtime import process_tree
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.sandbox.tiers import Unconfined
from toolroll.host.shell.process_group import process_registry
from toolroll.host.shell.supervisor import EndReason, ResourceLimits, RunningCommand, start

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"), pytest.mark.timeout(100)]

RUNS = 2
# SLEEP becomes a command that can be known by its arguments, however its environment is changed. In the end each
# script waits for a line, and the number says how many such commands there must be before it is ended.
SHAPES = {
    "background": ("SLEEP & SLEEP &", 2),
    "nohup": ("nohup SLEEP >/dev/null 2>&1 &", 1),
    "setsid": ("setsid SLEEP & setsid SLEEP >/dev/null 2>&1 &", 2),
    "double fork": ("(setsid sh -c 'SLEEP & SLEEP' &)", 2),
    "daemon": ("env -i PATH=$PATH setsid sh -c 'cd /; exec <&- >&- 2>&-; SLEEP &'", 1),
    "respawner": ("setsid sh -c 'trap : TERM; while :; do setsid SLEEP; done' >/dev/null 2>&1 &", 1),
    "deaf": ("(trap '' TERM HUP INT QUIT USR1; SLEEP & setsid sh -c 'SLEEP; :') &", 2),
}
WAIT = "\nread line"


@pytest.fixture
def sandbox(tier: str) -> Sandbox:
    return choose_sandbox(tier)


Begin = Callable[..., RunningCommand]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    folder = os.open(tmp_path, os.O_RDONLY)
    state = State(str(tmp_path / "state"))
    spill = Spill(state)

    def make(sandbox: Sandbox, script: str, seconds: float | None = 60, **options) -> RunningCommand:
        return start(
            ["bash", "-c", script],
            sandbox=sandbox,
            access=AccessRules(write=(str(tmp_path),)),
            cwd=folder,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
            bounds=ResourceLimits(seconds=seconds),
            spill=spill,
            input=True,
            **options,
        )

    yield make
    os.close(folder)
    state.close()


@pytest.fixture
def tag() -> Iterator[str]:
    """A number that is in the arguments of all processes of a test; none of them is left when it ends."""
    tag = str(uuid.uuid4().int % 10**12 + 10**12)
    yield tag
    for pid in tagged(tag):
        os.kill(pid, signal.SIGKILL)


def tagged(tag: str) -> list[int]:
    """The living processes with this in their arguments or their environment."""
    found = []
    for one in process_tree.LiveProcesses().everybody():
        try:
            texts = [Path(f"/proc/{one.pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
        except OSError:
            continue
        if any(tag.encode() in text for text in texts) and one.alive and one.pid != os.getpid():
            found.append(one.pid)
    return found


def sleepers(tag: str) -> int:
    """How many of them sleep, as the shapes tell them to."""
    names = (Path(f"/proc/{pid}/comm") for pid in tagged(tag))
    return sum(1 for name in names if name.exists() and name.read_text() == "sleep\n")


def shaped(shape: str, tag: str) -> str:
    return SHAPES[shape][0].replace("SLEEP", f"sleep {tag}") + WAIT


def by_itself(running: RunningCommand) -> EndReason:
    running.write(b"\n")
    return running.wait().outcome


def by_token(running: RunningCommand) -> EndReason:
    token = CancelToken()
    token.cancel()
    return running.wait(token=token).outcome


ENDS: dict[EndReason, Callable[[RunningCommand], EndReason]] = {
    EndReason.EXITED: by_itself,
    EndReason.KILLED: lambda running: running.kill().outcome,
    EndReason.CANCELLED: by_token,
    EndReason.TIMED_OUT: lambda running: running.wait(token=CancelToken(0)).outcome,
}


@pytest.mark.parametrize("outcome", ENDS)
def test_nothing_is_left(sandbox: Sandbox, begin: Begin, tag: str, outcome: EndReason) -> None:
    process_registry().rest()
    children = set(process_tree.LiveProcesses().children(os.getpid()))
    tags = [(shape, f"{tag}{number}{index}") for index, shape in enumerate(SHAPES) for number in range(RUNS)]
    commands = [begin(sandbox, shaped(shape, one)) for shape, one in tags]
    until(lambda: sleepers(tag) == RUNS * sum(count for _, count in SHAPES.values()))
    with ThreadPoolExecutor(len(commands)) as pool:  # all at the same time, so that one could take another's
        outcomes = list(pool.map(ENDS[outcome], commands))
    survivors = tagged(tag)
    assert outcomes == [outcome] * len(commands)
    assert [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in survivors] == []
    assert [command.ended.left for command in commands] == [()] * len(commands)
    process_registry().rest()
    # Dead children that were not waited for would be listed too.
    until(lambda: set(process_tree.LiveProcesses().children(os.getpid())) <= children)


def test_killing_the_group_is_not_enough(tag: str) -> None:
    for index, (shape, (_, count)) in enumerate(SHAPES.items()):
        one = f"{tag}{index}"
        plain = subprocess.Popen(["bash", "-c", shaped(shape, one)], stdin=subprocess.PIPE, start_new_session=True)
        until(lambda one=one, count=count: sleepers(one) == count)
        os.killpg(plain.pid, signal.SIGKILL)
        plain.communicate()
    hidden = ["setsid", "double fork", "daemon", "respawner", "deaf"]
    until(lambda: [shape for index, shape in enumerate(SHAPES) if sleepers(f"{tag}{index}")] == hidden)


def test_commands_leave_each_other_alone(sandbox: Sandbox, begin: Begin, tag: str) -> None:
    first, second = (begin(sandbox, shaped("daemon", f"{tag}{name}")) for name in (1, 2))
    until(lambda: sleepers(f"{tag}1") == sleepers(f"{tag}2") == 1)
    first.kill()
    assert (tagged(f"{tag}1"), sleepers(f"{tag}2")) == ([], 1)
    for _ in range(5):
        begin(sandbox, "true").wait()
    time.sleep(0.25)  # long enough for the one that runs to look around
    assert sleepers(f"{tag}2") == 1
    second.kill()
    assert tagged(tag) == []


@pytest.mark.parametrize("apart", [False, True])
def test_children_of_the_program_are_left_alone(sandbox: Sandbox, begin: Begin, tag: str, apart: bool) -> None:
    """Those that were there, those that come while a command runs, and those that have ended and wait to be asked."""

    def child(script: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sh", "-c", script], start_new_session=apart)

    older, dead = child(f"exec sleep {tag}"), child("exit 7")
    command = begin(sandbox, shaped("daemon", tag))
    until(lambda: sleepers(tag) == 2)
    newer, newer_dead = child(f"exec sleep {tag}"), child("exit 8")
    orphaned = child(f"sleep {tag} >/dev/null 2>&1 &")
    until(lambda: sleepers(tag) == 4)
    time.sleep(0.25)
    command.kill()
    begin(sandbox, "true").wait()
    assert sleepers(tag) == 3
    assert (older.poll(), newer.poll()) == (None, None)
    assert (dead.wait(), newer_dead.wait(), orphaned.wait()) == (7, 8, 0)
    for one in (older, newer):
        one.kill()
        one.wait()


def test_the_program_is_a_subreaper_only_while_commands_run(sandbox: Sandbox, begin: Begin) -> None:
    def where_orphans_go() -> int:
        found = subprocess.Popen(
            ["sh", "-c", "sh -c 'while [ $(ps -o ppid= -p $$) = '$$' ]; do :; done; ps -o ppid= -p $$' &"],
            stdout=subprocess.PIPE,
        )
        return int(found.communicate()[0])

    elsewhere = where_orphans_go()
    with begin(sandbox, "sleep 60"):
        assert where_orphans_go() == os.getpid() != elsewhere
    assert where_orphans_go() == elsewhere


class Late(Unconfined):
    """The command has run for a while when we hear of it, as on a machine that is very busy."""

    def spawn(self, *args, **options) -> subprocess.Popen[bytes]:
        process = super().spawn(*args, **options)
        time.sleep(0.1)
        return process


# Each takes off what can be taken off, and goes where nobody looks for it.
UNBLOCK = """
import os, signal
signal.pthread_sigmask(signal.SIG_SETMASK, ())
os.fork() and os._exit(0)
os.setsid()
os.fork() and os._exit(0)
os.execv("/bin/sleep", ["sleep", "TAG"])
"""
HIDES = {
    "without its tag": "env -i setsid sh -c 'sleep TAG >/dev/null 2>&1 &'",
    "with a smaller limit": "env -i setsid bash -c 'ulimit -R 3000000000000; sleep TAG >/dev/null 2>&1 &'",
    "with its signals unblocked": f"sleep 0.1; env -i PYTHON -c '{UNBLOCK}' >/dev/null 2>&1",
    "again and again": "env -i setsid sh -c 'for n in 1 2 3 4 5 6 7 8; do setsid sh -c \"sleep TAG &\" & done' >/dev/null 2>&1",
}


@pytest.mark.parametrize(
    ("sandbox", "way"),
    [
        *((Unconfined(), way) for way in HIDES),
        # The one with its signals unblocked hides in the time that `Late` makes longer: nothing is left to know it by.
        *((Late(), way) for way in HIDES if way != "with its signals unblocked"),
    ],
    ids=lambda one: one if isinstance(one, str) else "late" if isinstance(one, Late) else "at once",
)
def test_it_cannot_hide(begin: Begin, tag: str, sandbox: Sandbox, way: str) -> None:
    script = HIDES[way].replace("TAG", tag).replace("PYTHON", sys.executable)
    running = begin(sandbox, script)
    assert running.wait().outcome is EndReason.EXITED
    assert tagged(tag) == []
    assert resource.getrlimit(15) == (resource.RLIM_INFINITY, resource.RLIM_INFINITY)  # nothing of ours is marked


HOPS = """
import os, sys
os.fork() and os._exit(0)
os.setsid()
for _ in range(int(sys.argv[1])):
    os.fork() and os._exit(0)
os.execv("/bin/sleep", ["sleep", sys.argv[2]])
"""


@pytest.mark.slow
def test_one_that_changes_hands_while_the_command_ends(begin: Begin, tag: str) -> None:
    """It is never there where we have not looked yet: about one in a hundred got away from a single look."""
    left = []
    for number in range(600):
        begin(Unconfined(), f"env -i {sys.executable} -S -c '{HOPS}' {number % 40} {tag} >/dev/null 2>&1").wait()
        left += tagged(tag)
    assert left == []


def test_one_whose_first_thread_has_ended(begin: Begin) -> None:
    """It looks dead in /proc, and is not."""
    code = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(999,)).start(); ctypes.CDLL(None).pthread_exit(None)"
    running = begin(Unconfined(), f"{sys.executable} -c '{code}' >/dev/null 2>&1 & echo $!; read line")
    until(lambda: running.output.total > 0)
    pid = int(running.output.read(0, 100))
    until(lambda: process_tree.LiveProcesses().get(pid).state == "Z")
    assert by_itself(running) is EndReason.EXITED
    assert process_tree.LiveProcesses().get(pid) is None


HOST = """
import os, sys, time
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.runtime.launcher import AccessRules
from toolroll.host.files.spill import Spill
from toolroll.host.runtime.state import State
from toolroll.host.shell.supervisor import ResourceLimits, start
folder, tier, script, then = sys.argv[1:]
running = start(
    ["bash", "-c", script], sandbox=choose_sandbox(tier), access=AccessRules(write=(folder,)), cwd=os.open(folder, os.O_RDONLY),
    env={"PATH": "/usr/local/bin:/usr/bin:/bin"}, bounds=ResourceLimits(), spill=Spill(State(folder + "/state")), input=True,
)
print(running.pid, flush=True)
sys.stdin.readline()
if then == "raise":
    raise SystemExit(3)
if then == "fork":
    before = time.monotonic()
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
    print(running.wait(0.1), time.monotonic() - before < 40, flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("then", ["end", "raise", "kill", "fork"])
def test_the_end_of_the_whole_program(sandbox: Sandbox, tmp_path: Path, tag: str, then: str) -> None:
    """A program that ends leaves nothing. One that is killed leaves what has emptied its environment, if anything."""
    shapes = ["background", "setsid", "daemon" if sandbox.whole or then not in ("kill", "fork") else "nohup"]
    scripts = "".join(f"{shaped(shape, tag).removesuffix(WAIT)}\n" for shape in shapes)
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path), str(sandbox.tier), scripts + "sleep 60", then],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert int(host.stdout.readline())
    until(lambda: sleepers(tag) == 5)
    if then == "kill":
        host.kill()
    said, _ = host.communicate("\n")
    assert said == (
        "None True\n" if then == "fork" else ""
    )  # the end of a copy of it has nothing to do with the command
    killed = then in ("kill", "fork")
    assert host.returncode == (-9 if killed else 3 if then == "raise" else 0)
    until(lambda: [pid for pid in tagged(tag) if pid != host.pid] == [])


def test_a_confined_daemon_that_nobody_knows(begin: Begin, tmp_path: Path, tag: str, landlock: Sandbox) -> None:
    """It has none of our marks, but the filter of the sandbox; one with its session is no command but ours.

    Unless it has made smaller what would have been a mark: nobody else has a reason to.
    """
    sandbox = landlock
    folder, null = os.open(tmp_path, os.O_RDONLY), os.open(os.devnull, os.O_RDWR)

    def confined(script: str) -> subprocess.Popen[bytes]:
        access, env = AccessRules(write=(str(tmp_path),)), {"PATH": os.environ["PATH"]}
        return sandbox.spawn(access, ["bash", "-c", script], cwd=folder, env=env, stdin=null, stdout=null, stderr=null)

    other = begin(sandbox, "read line")
    command = begin(sandbox, "read line")
    server = confined(f"sleep {tag}1; :")
    daemon = confined(f"sleep {tag}2 & env -i setsid bash -c 'ulimit -R 0; exec sleep {tag}3' &")
    assert daemon.wait() == 0
    until(lambda: sleepers(tag) == 3)
    time.sleep(0.25)
    command.kill()
    assert sleepers(tag) == 3  # they may be the other's
    other.kill()
    assert (sleepers(f"{tag}1"), tagged(f"{tag}2"), tagged(f"{tag}3")) == (1, [], [])
    assert server.poll() is None
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    os.close(folder)
    os.close(null)


# It becomes another user when all that it needs is loaded, and its command becomes root by a program of root's.
STRANGER = HOST.replace("running = start", "def run(script): return start").replace(
    '"bash", "-c", script', '"sh", "-c", script'
)
STRANGER = (
    STRANGER[: STRANGER.index("print")]
    + """
run("true").wait()
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
before = time.monotonic()
ended = run(script).wait()
print(len(ended.left), ended.outcome, ended.status, time.monotonic() - before < 40, flush=True)
"""
)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_what_is_not_ours_to_kill_is_told(tag: str) -> None:
    need_another_user()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copy(shutil.which("setpriv"), f"{folder}/become")
        os.chmod(f"{folder}/become", 0o4755)
        os.mkdir(f"{folder}/state", 0o700)
        os.chown(f"{folder}/state", 65534, 65534)
        script = f"setsid {folder}/become --reuid 0 sleep {tag} >/dev/null 2>&1 & sleep 0.3"
        host = subprocess.Popen(
            [sys.executable, "-c", STRANGER, folder, "none", script, ""], stdout=subprocess.PIPE, text=True
        )
        assert host.communicate()[0] == "1 exited 0 True\n"
    assert sleepers(tag) == 1
