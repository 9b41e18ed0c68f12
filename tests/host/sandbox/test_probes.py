"""What a command can do to the rest of the machine, judged by what has become of it, for each tier.

Twenty-seven trials: six things that must work, and twenty-one that must not. What Landlock cannot hold is asserted
open, so that what is said about it stays true; with no sandbox all are open, or the trials would prove nothing.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.users import need_another_user
from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.sandbox.choose import choose_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tiers are of Linux")

NOBODY = 65534
SECRET = "the-key-of-the-user"
SIZE = 12345
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable


class Ground:
    """A user's home with secrets in it, a workspace, and programs and servers outside the sandbox."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.ws = folder / "ws"
        self.temp = folder / "temp"
        self.home = folder / "home"
        self.sibling = folder / "sibling"
        for one in (self.ws, self.temp, self.home / ".ssh", self.sibling):
            one.mkdir(parents=True)
        (self.home / ".ssh" / "id").write_text(SECRET)
        (self.home / ".bashrc").write_text("x" * SIZE)
        (self.home / ".bashrc").chmod(0o600)
        os.utime(self.home / ".bashrc", (1000, 1000))
        (self.ws / "key").symlink_to(self.home / ".ssh" / "id")
        (self.ws / "out").symlink_to(self.sibling)
        self.tmp = Path("/tmp") / f"toolroll-probe-{os.urandom(6).hex()}"
        stack.callback(self.tmp.unlink, missing_ok=True)
        self.tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.udp.bind(("127.0.0.1", 0))
        self.path = stack.enter_context(socket.socket(socket.AF_UNIX))
        self.path.bind(str(folder / "docker.sock"))
        self.path.listen()
        self.abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        self.abstract.bind("\0" + self.tmp.name)
        self.abstract.listen()
        self.other = stack.enter_context(
            subprocess.Popen(["sleep", "300"], env={"SECRET": SECRET, "PATH": os.environ["PATH"]})
        )
        stack.callback(self.other.kill)
        for one in (self.tcp, self.udp, self.path, self.abstract):
            one.setblocking(False)

    def words(self) -> dict[str, str]:
        """What a script may name."""
        return {
            "FOLDER": str(self.folder),
            "OTHER": str(self.other.pid),
            "PYTHON": PYTHON,
            "TMPFILE": str(self.tmp),
            "ABSTRACT": self.tmp.name,
            "TCP": str(self.tcp.getsockname()[1]),
            "UDP": str(self.udp.getsockname()[1]),
        }


@contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(folder, stack)


def accepted(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def received(server: socket.socket) -> bool:
    try:
        server.recv(100)
    except BlockingIOError:
        return False
    return True


def untouched(path: Path) -> bool:
    return path.read_text() == "x" * SIZE


Effect = Callable[[Ground, str], bool]
"""Whether it has happened, from the state of the machine and from what the script printed."""

MUST_WORK: dict[str, tuple[str, Effect]] = {
    "run python": ("$PYTHON -c 'print(6 * 7)'", lambda _, said: said == "42\n"),
    "git status": ("git init -q r && cd r && git status --short && echo fine", lambda _, said: said == "fine\n"),
    "write in the workspace": (
        "mkdir -p a/b && echo 1 > a/b/c && mv a z && rm -r z/b && ln -s x l && echo done > d",
        lambda g, _: (g.ws / "d").read_text() == "done\n" and (g.ws / "z").is_dir(),
    ),
    "pipes": ("seq 1000 | sort -rn | head -1; cat <(echo two)", lambda _, said: said == "1000\ntwo\n"),
    "a temporary file": (
        'f=$(mktemp) && echo x > "$f" && cat "$f" && dirname "$f"',
        lambda g, said: said == f"x\n{g.temp}\n",
    ),
    "/dev/null": ("echo x > /dev/null && head -c 4 /dev/zero | wc -c", lambda _, said: said == "4\n"),
}

SOCKET = "$PYTHON -c 'import socket as s, sys; c = s.socket(s.{family}, s.{kind}); c.{do}'"

MUST_NOT: dict[str, tuple[str, Effect]] = {
    "read a secret": ("cat $FOLDER/home/.ssh/id", lambda _, said: SECRET in said),
    "read by a link": ("cat key", lambda _, said: SECRET in said),
    "read by ..": ("cat ../home/.ssh/id", lambda _, said: SECRET in said),
    "read by /proc/self/root": ("cat /proc/self/root$FOLDER/home/.ssh/id", lambda _, said: SECRET in said),
    "write to ~/.bashrc": ("echo x >> $FOLDER/home/.bashrc", lambda g, _: not untouched(g.home / ".bashrc")),
    "write beside the workspace": ("echo x > ../sibling/a", lambda g, _: (g.sibling / "a").exists()),
    "write by a link": ("echo x > out/b", lambda g, _: (g.sibling / "b").exists()),
    "write to /tmp": ("echo x > $TMPFILE", lambda g, _: g.tmp.exists()),
    "truncate": (
        "$PYTHON -c 'import os; os.truncate(\"../home/.bashrc\", 3)'",
        lambda g, _: not untouched(g.home / ".bashrc"),
    ),
    "link a file in": ("ln ../home/.ssh/id hard && cat hard", lambda g, _: (g.ws / "hard").exists()),
    "make a device": ("mknod node c 1 3", lambda g, _: (g.ws / "node").exists()),
    "chmod outside": (
        "chmod 644 ../home/.bashrc",
        lambda g, _: (g.home / ".bashrc").stat().st_mode & 0o777 == 0o644,
    ),
    "utime outside": ("touch -c -d @2000 ../home/.bashrc", lambda g, _: (g.home / ".bashrc").stat().st_mtime == 2000),
    "stat outside": ("stat -c %s ../home/.bashrc", lambda _, said: str(SIZE) in said),
    "TCP": (
        SOCKET.format(family="AF_INET", kind="SOCK_STREAM", do='connect(("127.0.0.1", int(sys.argv[1])))') + " $TCP",
        lambda g, _: accepted(g.tcp),
    ),
    "/dev/tcp": ("echo x > /dev/tcp/127.0.0.1/$TCP", lambda g, _: accepted(g.tcp)),
    "UDP": (
        SOCKET.format(family="AF_INET", kind="SOCK_DGRAM", do='sendto(b"x", ("127.0.0.1", int(sys.argv[1])))')
        + " $UDP",
        lambda g, _: received(g.udp),
    ),
    "a socket by its path": (
        SOCKET.format(family="AF_UNIX", kind="SOCK_STREAM", do='connect("../docker.sock")'),
        lambda g, _: accepted(g.path),
    ),
    "an abstract socket": (
        SOCKET.format(family="AF_UNIX", kind="SOCK_STREAM", do='connect("\\0" + sys.argv[1])') + " $ABSTRACT",
        lambda g, _: accepted(g.abstract),
    ),
    "another's environment": ("tr '\\0' '\\n' < /proc/$OTHER/environ", lambda _, said: SECRET in said),
    "kill another process": ("kill -9 $OTHER; sleep 0.1", lambda g, _: g.other.poll() is not None),
}

METADATA = {"chmod outside", "utime outside", "stat outside"}
OPEN = {"bubblewrap": set(), "landlock": METADATA}


def survey(name: str, trials: dict[str, tuple[str, Effect]], folder: Path) -> set[str]:
    """The trials that have had their effect, each on a ground of its own; in one group, as a kit has it."""
    sandbox = choose_sandbox(name).group()
    happened = set()
    for number, (trial, (script, effect)) in enumerate(trials.items()):
        with ground(folder / str(number)) as here:
            if effect(here, tried(sandbox, here, script)):
                happened.add(trial)
    sandbox.close()
    return happened


def tried(sandbox: Sandbox, here: Ground, script: str) -> str:
    cwd = os.open(here.ws, os.O_RDONLY)
    process = sandbox.spawn(
        AccessRules((str(here.ws), str(here.temp))),
        ["bash", "-c", script],
        cwd=cwd,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(here.temp), **here.words()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    os.close(cwd)
    with process:
        return process.communicate(timeout=60)[0].decode()


def as_nobody(work: Callable[[Path], set[str]]) -> set[str]:
    """The same, done by a child of ours that is not root."""
    folder = Path(tempfile.mkdtemp(prefix="toolroll-test-"))
    folder.chmod(0o700)
    os.chown(folder, NOBODY, NOBODY)
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads, which this has not
        child = os.fork()
    if child == 0:
        said = b"the child failed"
        try:
            os.chdir(folder)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            ctypes.CDLL(None).prctl(4, 1)  # dumpable, as any process that did not change its user
            said = json.dumps(sorted(work(folder))).encode()
        except BaseException as error:
            said = repr(error).encode()
        finally:
            os.write(writing, said)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    shutil.rmtree(folder)
    return set(json.loads(said))


def as_somebody(user: str, work: Callable[[Path], set[str]], tmp_path: Path) -> set[str]:
    if user == "me":
        return work(tmp_path)
    need_another_user()
    return as_nobody(work)


@pytest.mark.parametrize("user", ["me", "nobody"])
def test_a_tier(confined: str, user: str, tmp_path: Path) -> None:
    trials = MUST_WORK | MUST_NOT
    assert len(trials) == 27
    happened = as_somebody(user, lambda folder: survey(confined, trials, folder), tmp_path)
    assert happened == set(MUST_WORK) | OPEN[confined]


@pytest.mark.parametrize("user", ["me", "nobody"])
def test_without_a_sandbox_everything_happens(user: str, tmp_path: Path) -> None:
    happened = as_somebody(user, lambda folder: survey("none", MUST_WORK | MUST_NOT, folder), tmp_path)
    root = user == "me" and os.geteuid() == 0
    assert happened | {"make a device"} == set(MUST_WORK) | set(MUST_NOT)
    assert ("make a device" in happened) == root
