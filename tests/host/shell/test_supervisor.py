from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiting import closed_again, descriptors, until
from toolroll.host.files.spill import Spill
from toolroll.host.runtime import process_tree
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.launcher import AccessRules
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.tiers import Unconfined
from toolroll.host.shell import output, supervisor
from toolroll.host.shell.supervisor import EndReason, ResourceLimits, RunningCommand, start
from toolroll.result import ErrorCode, ToolError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

Run = Callable[..., RunningCommand]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Start a script of the shell, unconfined; whatever still runs in the end is killed."""
    state = State(str(tmp_path / "state"))
    folder = os.open(tmp_path, os.O_RDONLY)
    started: list[RunningCommand] = []

    def begin(
        script: str | list[str], seconds: float | None = 20, bounds: ResourceLimits | None = None, **options
    ) -> RunningCommand:
        running = start(
            ["bash", "-c", script] if isinstance(script, str) else script,
            sandbox=Unconfined(),
            access=AccessRules(write=(str(tmp_path),)),
            cwd=folder,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
            bounds=bounds or ResourceLimits(seconds=seconds),
            spill=Spill(state),
            **options,
        )
        started.append(running)
        return running

    yield begin
    for running in started:
        if running._failure is None:
            running.kill()
    os.close(folder)
    state.close()


def threads() -> int:
    """How many there are in all, whoever has started them."""
    return len(os.listdir("/proc/self/task"))


def said(running: RunningCommand) -> bytes:
    head, omitted, tail = running.output.ends(1 << 20)
    assert (omitted, tail) == (0, b"")
    return head


@pytest.mark.parametrize(
    ("script", "output", "status"),
    [
        ("echo out; echo err >&2; exit 3", b"out\nerr\n", 3),
        ("for n in 1 2 3; do echo $n; echo -$n >&2; done", b"1\n-1\n2\n-2\n3\n-3\n", 0),
        ("true", b"", 0),
        ("kill -9 $$", b"", -9),
        ("kill -TERM $$", b"", -15),
        ("printf 'a\\0\\377b'", b"a\0\xffb", 0),
        ("printf 'caf\\303'; sleep 0.05; printf '\\251'", "café".encode(), 0),
        ("exec >&- 2>&-; sleep 0.05; exit 4", b"", 4),  # the pipe ends before the command
        ("(sleep 0.03; echo late) &", b"late\n", 0),  # and this one after it
        ("echo a > >(sed s/a/b/)", b"b\n", 0),
        ("ulimit -c", b"0\n", 0),
        ("pwd; ps -o sid= -p $$ | tr -d ' ' | grep -cx $$", None, 0),
    ],
)
def test_what_a_command_writes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, output: bytes | None, status: int
) -> None:
    monkeypatch.setattr(supervisor, "_GRACE", 60)  # a busy machine is late
    running = run(script)
    ended = running.wait()
    assert ended == running.ended
    assert (ended.outcome, ended.status, ended.left) == (EndReason.EXITED, status, ())
    assert said(running) == (f"{tmp_path}\n1\n".encode() if output is None else output)
    assert running.errors is None


def test_the_streams_apart(run: Run) -> None:
    running = run("echo out; echo err >&2; head -c 300000 /dev/zero >&2", merge=False)
    assert running.wait().status == 0
    assert said(running) == b"out\n"
    assert running.errors.ends(1 << 20) == (b"err\n" + bytes(300000), 0, b"")


def test_wait_comes_back_while_it_runs(run: Run) -> None:
    running = run("sleep 300")
    assert running.wait(0.01) is None
    assert running.ended is None
    assert process_tree.view_processes().get(running.pid).alive
    assert running.kill().outcome is EndReason.KILLED
    assert running.wait(0) == running.kill(EndReason.CANCELLED) == running.ended


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["/no/such/program"], ErrorCode.EXECUTION, "Cannot run '/no/such/program': No such file"),
        (["no-such-program"], ErrorCode.EXECUTION, "Cannot run 'no-such-program': No such file"),
        (["/etc/passwd"], ErrorCode.EXECUTION, "Cannot run '/etc/passwd': Permission denied"),
        (["echo", "x" * 200_000], ErrorCode.EXECUTION, "Argument list too long"),
        ([], ErrorCode.VALIDATION, "empty"),
    ],
)
def test_what_cannot_be_started(run: Run, argv: list[str], code: ErrorCode, message: str) -> None:
    def attempt() -> None:
        with pytest.raises(ToolError, match=message) as caught:
            run(argv)
        assert caught.value.code is code

    attempt()  # the first command of a process opens what all of them share
    before, there = descriptors(), threads()
    attempt()
    assert closed_again(before)
    until(lambda: threads() <= there)  # the last one may still be on its last step


# Each takes at least the time limit when it is started in the plain way.
@pytest.mark.parametrize(
    "script",
    [
        "sleep 300",
        "sleep 300 & sleep 300",
        "setsid sleep 300 & sleep 300",
        "trap '' TERM INT HUP; while :; do sleep 1; done",
        "exec >&- 2>&-; sleep 300",
        "while :; do :; done",
        "yes",
        "mkfifo pipe; cat pipe",
        "kill -STOP $$",
    ],
)
def test_it_is_over_soon_after_its_time(run: Run, script: str) -> None:
    before = time.monotonic()
    running = run(script, seconds=0.3)
    ended = running.wait()
    took = time.monotonic() - before
    assert ended.outcome is EndReason.TIMED_OUT
    assert ended.status == -9
    assert 0.3 <= ended.seconds <= took
    assert took < 50


# The documented way (communicate, kill, communicate) waits for whoever holds the pipe.
def test_a_child_that_holds_the_pipe_is_not_waited_for(run: Run) -> None:
    before = time.monotonic()
    running = run("sleep 100 & echo done")
    assert running.wait().outcome is EndReason.EXITED
    assert time.monotonic() - before < 50
    assert said(running) == b"done\n"
    assert [one for one in process_tree.LiveProcesses().everybody() if one.group == running.pid] == []
    before = time.monotonic()
    plain = subprocess.Popen(["bash", "-c", "sleep 0.6 & echo done"], stdout=subprocess.PIPE)
    assert plain.communicate()[0] == b"done\n"
    assert time.monotonic() - before > 0.5


@pytest.mark.parametrize(
    "script",
    [
        "cat",
        "read line",
        "exec 3</dev/tty",
        "bash -i -c 'read line'",
        "head -c1 </dev/tty",
        f"{sys.executable} -c 'input()'",
        f"{sys.executable} -W ignore -c 'import getpass; getpass.getpass()'",
        "git -c core.askPass= credential fill <<< url=https://example.invalid; true",
    ],
)
def test_who_asks_for_input_gets_none(run: Run, script: str) -> None:
    assert run(script, seconds=50).wait().outcome is EndReason.EXITED


def test_input_is_given_as_it_comes(run: Run) -> None:
    running = run("while read line; do echo got $line; done; echo end", input=True)
    running.write(b"one\n")
    until(lambda: running.output.total == 8)
    running.write(b"two\nthree")
    running.write(b"\n")
    running.close_input()
    assert running.wait().status == 0
    assert said(running) == b"got one\ngot two\ngot three\nend\n"


def test_input_that_nobody_reads(run: Run) -> None:
    running = run("sleep 300", input=True)
    running.write(bytes(1 << 20))  # more than the pipe holds, and all that we do
    with pytest.raises(ToolError, match="does not read") as caught:
        running.write(bytes(1 << 20))
    assert caught.value.code is ErrorCode.CONFLICT
    running.kill()
    with pytest.raises(ToolError, match="has ended"):
        running.write(b"x")
    without = run("sleep 300")
    with pytest.raises(ToolError, match="reads no input"):
        without.write(b"x")


def test_much_input(run: Run) -> None:
    running = run("sleep 0.1; wc -c", input=True)
    running.write(bytes(1_000_000))
    running.close_input()
    assert running.wait().status == 0
    assert said(running) == b"1000000\n"


def test_a_closed_input_does_not_end_the_command(run: Run) -> None:
    running = run("exec <&-; echo closed; sleep 0.2; echo on", input=True)
    until(lambda: running.output.total > 0)
    running.write(bytes(100_000))
    assert running.wait().status == 0
    assert said(running) == b"closed\non\n"


def test_a_token_ends_it(run: Run) -> None:
    token = CancelToken()
    running = run("echo $$; sleep 300")
    threading.Timer(0.1, token.cancel).start()
    before = time.monotonic()
    assert running.wait(token=token).outcome is EndReason.CANCELLED
    assert time.monotonic() - before < 60
    assert process_tree.view_processes().get(running.pid) is None


def test_the_time_of_the_call_ends_it(run: Run) -> None:
    assert run("sleep 300").wait(token=CancelToken(0.05)).outcome is EndReason.TIMED_OUT


def test_a_block_ends_it(run: Run) -> None:
    with pytest.raises(ZeroDivisionError), run("sleep 300") as running:
        raise ZeroDivisionError
    assert running.ended.outcome is EndReason.KILLED


def test_output_is_told_while_it_comes(run: Run) -> None:
    told: list[tuple[float, bytes]] = []
    script = "for n in $(seq 40); do echo $n; sleep 0.01; done; echo last"
    running = run(script, on_output=lambda new: told.append((time.monotonic(), new)))
    assert running.wait().status == 0
    assert b"".join(new for _, new in told) == said(running)
    seconds = told[-1][0] - told[0][0]
    assert seconds > 0.2
    assert 2 < len(told) < seconds / output._LIVE + 4


def test_of_a_flood_the_newest_is_told(run: Run) -> None:
    told: list[bytes] = []
    running = run("seq 3000000", on_output=told.append)
    assert running.wait().status == 0
    assert max(map(len, told)) <= 64 * 1024
    assert told[-1].endswith(b"3000000\n")


def test_after_comes_when_all_is_over_and_before_anybody_knows(run: Run) -> None:
    seen: list[object] = []
    running = run(
        "setsid sleep 300 & echo $!",
        after=lambda: seen.extend((process_tree.view_processes().get(int(said(running))), running.ended)),
    )
    assert running.wait().status == 0
    assert seen == [None, None]


@pytest.mark.parametrize("which", ["on_output", "after"])
def test_an_error_of_the_caller_is_the_callers(run: Run, which: str) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    running = run("echo $$; setsid sleep 300 & sleep 0.1", **{which: fail})
    with pytest.raises(ZeroDivisionError):
        running.wait()
    with pytest.raises(ZeroDivisionError):
        running.kill()
    assert process_tree.view_processes().get(running.pid) is None


def test_descriptors_are_passed_on(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("through a descriptor")
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    running = run(f"cat <&{fd}", pass_fds=(fd,))
    running.wait()
    assert said(running) == b"through a descriptor"
    os.close(fd)


def test_many_commands_leave_nothing(run: Run) -> None:
    run("true").wait()
    before, there = descriptors(), threads()
    for number in range(200):
        running = run(["sh", "-c", f"echo {number}; exit {number % 7}"])
        assert running.wait().status == number % 7
        assert said(running) == f"{number}\n".encode()
    until(lambda: threads() <= there)
    assert closed_again(before)


def test_many_at_once(run: Run) -> None:
    commands = [run(f"sleep 0.1; echo {number}; exit {number}") for number in range(24)]
    assert [command.wait().status for command in commands] == list(range(24))
    assert [said(command) for command in commands] == [f"{number}\n".encode() for number in range(24)]


def test_a_status_that_cannot_be_known(run: Run) -> None:
    """A program may have the kernel wait for its children."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        running = run("setsid sleep 300 >/dev/null 2>&1 & echo $!; exit 3")
        ended = running.wait()
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (ended.outcome, ended.status, ended.left) == (EndReason.EXITED, None, ())
    assert process_tree.view_processes().get(int(said(running))) is None


STARVED = """
import os, resource, sys
from toolroll.host.runtime.launcher import AccessRules
from toolroll.host.sandbox.tiers import Unconfined
from toolroll.host.files.spill import Spill
from toolroll.host.runtime.state import State
from toolroll.host.shell.supervisor import ResourceLimits, start
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
folder = os.open(sys.argv[1], os.O_RDONLY)

def run(*argv):
    return start(
        argv, sandbox=Unconfined(), access=AccessRules(write=(sys.argv[1],)), cwd=folder, env={"PATH": os.environ["PATH"]},
        bounds=ResourceLimits(), spill=Spill(State(sys.argv[1])),
    )

def take_all():
    try:
        while True:
            held.append(os.dup(folder))
    except OSError:
        return len(held)

held = []
running = run("sleep", "300")
most = take_all()
try:
    running.kill()
except OSError as error:
    print(error.strerror, os.path.exists(f"/proc/{running.pid}"))
while held:
    os.close(held.pop())
take_all()
refused = 0
for _ in range(10):  # one more descriptor each time
    os.close(held.pop())
    try:
        run("true").wait()
    except Exception:
        refused += 1
print(0 < refused < 10, take_all() >= most)
"""


def test_without_descriptors(tmp_path: Path) -> None:
    """What cannot be looked after is ended, and nothing is lost."""
    command = [sys.executable, "-c", STARVED, str(tmp_path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout == "Too many open files False\nTrue True\n"
