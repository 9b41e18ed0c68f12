"""Another process swaps a folder and a link to outside, over and over, while files are read and written.

The same attack is run on the naive way, "resolve, check, open": if that holds, the attack proves nothing.
"""

import itertools
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from toolroll.host.files import atomic
from toolroll.host.files.root import Root
from toolroll.result import ErrorCode, ToolError

ATTEMPTS = 8_000
PATIENCE = 30  # seconds; on an idle machine the naive way leaks within milliseconds
ATTACK_SECONDS = 100  # the attacker ends by itself even if the test is killed

ATTACKER = """
import ctypes, os, sys, time
folder, link, seconds = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2]), float(sys.argv[3])
renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
AT_FDCWD, RENAME_EXCHANGE = -100, 2
def swap():
    if renameat2(AT_FDCWD, folder, AT_FDCWD, link, RENAME_EXCHANGE):
        sys.exit(f"renameat2: {os.strerror(ctypes.get_errno())}")
swap()
print("ready", flush=True)
end = time.monotonic() + seconds
while time.monotonic() < end:
    for _ in range(100):
        swap()
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux")


@pytest.fixture
def arena(tmp_path):
    """`ws/d` is by turns a folder and a link to `outside`; each holds an `f.txt`."""
    (tmp_path / "stage").mkdir()
    for folder, text in {"ws/d": "inside", "outside": "SECRET"}.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "f.txt").write_text(text)
    (tmp_path / "ws/l").symlink_to("../outside")
    paths = [str(tmp_path / "ws/d"), str(tmp_path / "ws/l")]
    command = [sys.executable, "-c", ATTACKER, *paths, str(ATTACK_SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as attacker:
        try:
            if attacker.stdout.readline() != "ready\n":
                pytest.skip(attacker.stderr.read())
            yield tmp_path
            assert attacker.poll() is None, "the attacker ended before the test did"
        finally:
            attacker.kill()


@pytest.fixture(params=[None, False], ids=["openat2", "walk"])
def root(request, arena):
    with Root(str(arena / "ws"), kernel=request.param) as root:
        if request.param is None and not root.kernel:
            pytest.skip("no openat2 here")
        yield root


def attempt(action, *args) -> str:
    """What the victim met: the text it read or wrote, or a word for how it was stopped."""
    try:
        return action(*args)
    except ToolError as error:
        return "refused" if error.code is ErrorCode.SECURITY else error.code
    except OSError as error:
        return type(error).__name__


def besieged(action, *args) -> Counter[str]:
    """How often the victim met what, counted until both sides of the swap have come up often."""
    met: Counter[str] = Counter()
    end = time.monotonic() + PATIENCE
    while met.total() < ATTEMPTS or (min(met["inside"], met["refused"]) < 200 and time.monotonic() < end):
        met.update(attempt(action, *args, met.total() + number) for number in range(1_000))
    assert min(met["inside"], met["refused"]) >= 200, met
    return met


def leaked(arena: Path) -> list[str]:
    """The names that turned up outside; they are removed, so that the next attempt is seen too."""
    names = [name for name in os.listdir(arena / "outside") if name != "f.txt"]
    for name in names:
        shutil.rmtree(arena / "outside" / name)
    return names


def safe_read(root: Root, number: int) -> str:
    with os.fdopen(root.file("d/f.txt")) as file:
        return file.read()


def safe_write(root: Root, stage: int, number: int) -> str:
    """By turns: overwrites a file, makes one in a new folder, and takes it away again."""
    name = "d/f.txt" if number % 2 else f"d/new{number % 10}/f.txt"
    with root.place(name, create=True) as place:
        atomic.write(place, b"inside", stage=stage, durable=False)
        if number % 10 == 0:
            os.unlink(place.name, dir_fd=place.fd)
    return "inside"


def resolved(arena: Path, path: str) -> str:
    """The naive check: where the path leads now, which says nothing about where it leads a moment later."""
    real = os.path.realpath(arena / "ws" / path)
    if os.path.commonpath([real, arena / "ws"]) != str(arena / "ws"):
        raise ToolError(ErrorCode.SECURITY, "outside")
    return real


def naive_read(arena: Path, number: int) -> str:
    return Path(resolved(arena, "d/f.txt")).read_text()


def naive_write(arena: Path, number: int) -> str:
    path = Path(resolved(arena, f"d/new{number}/f.txt"))
    path.parent.mkdir()
    path.write_text("inside")
    shutil.rmtree(path.parent)
    return "inside"


def test_no_read_escapes(root):
    assert besieged(safe_read, root)["SECRET"] == 0


def test_no_write_escapes(root, arena):
    stage = os.open(arena / "stage", os.O_RDONLY)
    besieged(safe_write, root, stage)
    os.close(stage)
    assert leaked(arena) == []
    assert (arena / "outside/f.txt").read_text() == "SECRET"
    assert os.listdir(arena / "stage") == []


@pytest.mark.parametrize("action", [naive_read, naive_write])
def test_the_naive_way_escapes(arena, action):
    end = time.monotonic() + PATIENCE
    for number in itertools.count():
        if attempt(action, arena, number) == "SECRET" or leaked(arena):
            return
        assert time.monotonic() < end, "the attack is too weak to prove anything"
