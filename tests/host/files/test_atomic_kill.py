"""A process is killed at random moments while it writes: no file is ever torn, and no stray file is left.

The same killing is done to plain open("w"): if that never tears a file, the test proves nothing.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolroll.host.files import atomic

CONTROL_KILLS = 400  # at most; the first few tear on an idle machine
LONGEST = 0.03  # seconds from the first whole write to the kill
SIZE = 4_000_000

# Each version is one letter, SIZE times, so that a mixture or a part is seen at once.
WRITER = """
import itertools, os, sys
from pathlib import Path
from toolroll.host.files import atomic
from toolroll.host.files.root import Root
workspace, stage, way, size = sys.argv[1], os.open(sys.argv[2], os.O_RDONLY), sys.argv[3], int(sys.argv[4])
root = Root(workspace)

def put(name, data, durable):
    with root.place(name) as place:
        atomic.write(place, data, stage=stage, durable=durable)

for number in itertools.count():
    data = bytes([65 + number % 26]) * size
    if way == "replace":
        put("file", data, durable=number % 2 == 0)
    elif way == "create":
        put(f"new{number}", data, durable=number % 2 == 0)
        if number:
            os.unlink(f"new{number - 1}", dir_fd=root.fd)
    else:
        Path(workspace, "file").write_bytes(data)
    if number == 0:
        print("ready", flush=True)
"""


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "stage").mkdir()
    return tmp_path / "ws", tmp_path / "stage"


def kill_a_writer(folders: tuple[Path, Path], way: str, delay: float) -> None:
    command = [sys.executable, "-c", WRITER, *map(str, folders), way, str(SIZE)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout.readline() == "ready\n"
        time.sleep(delay)
        writer.kill()
    assert writer.returncode == -signal.SIGKILL


def is_whole(file: Path) -> bool:
    data = file.read_bytes()
    return len(data) == SIZE and data == data[:1] * SIZE


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", ["replace", "create"])
def test_no_kill_tears_a_file_or_leaves_one(folders, way, kills):
    workspace, stage = folders
    rng = random.Random(20_240_229)
    for _ in range(kills):
        kill_a_writer(folders, way, rng.uniform(0, LONGEST))
        found = list(workspace.iterdir())
        assert [file.name for file in found if not is_whole(file)] == []
        if way == "replace":
            assert [file.name for file in found] == ["file"]
        else:
            # One, or two when it was killed between the new file and the removal of the last one.
            assert all(file.name.startswith("new") for file in found)
            assert len(found) in (1, 2)
        for file in found:
            file.unlink()
    fd = os.open(stage, os.O_RDONLY)
    atomic.sweep(fd, older=-1)
    os.close(fd)
    assert list(stage.iterdir()) == []


def test_the_plain_way_tears(folders):
    rng = random.Random(20_240_229)
    for _ in range(CONTROL_KILLS):
        kill_a_writer(folders, "plain", rng.uniform(0, LONGEST))
        if not is_whole(folders[0] / "file"):
            return
    pytest.fail("the killing is too weak to prove anything")
