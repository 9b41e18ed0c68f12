from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import alive, closed_again, descriptors, gone
from toolroll.host.runtime import processes
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.launcher import DEVNULL, PIPE, folder_path, start_process
from toolroll.host.runtime.processes import Stream
from toolroll.result import ErrorCode, ToolError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@contextmanager
def stream(argv: list[str], *, cwd: int, stdin: int = DEVNULL, **how: Any) -> Iterator[Stream]:
    """What a program writes that runs as any other."""
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    process = start_process(argv, folder_path(cwd), env, (stdin, PIPE, PIPE))
    with processes.stream(process, **how) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    before = descriptors()
    yield fd
    assert closed_again(before)  # no descriptor is left
    os.close(fd)


@pytest.mark.parametrize(
    ("script", "stdout", "stderr", "status"),
    [
        ("echo out; echo err >&2; exit 3", b"out\n", b"err\n", 3),
        ("kill -9 $$", b"", b"", -9),
        ("cat", b"", b"", 0),  # there is nothing on stdin
        ("printf 'a\\0b'", b"a\0b", b"", 0),
        ("head -c 300000 /dev/zero >&2; echo done", b"done\n", bytes(65536), 0),
        ("head -c 300000 /dev/zero", bytes(300000), b"", 0),
        ("exec env", f"PATH={os.environ['PATH']}\nLANG=C.UTF-8\n".encode(), b"", 0),
    ],
)
def test_what_a_program_writes(folder: int, script: str, stdout: bytes, stderr: bytes, status: int) -> None:
    argv = ["env"] if script == "exec env" else ["sh", "-c", script]  # a shell adds PWD
    with stream(argv, cwd=folder, deadline=time.monotonic() + 20) as running:
        assert b"".join(running) == stdout
        assert (running.stderr, running.status) == (stderr, status)


def test_stdin_is_a_descriptor_if_one_is_given(folder: int, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"given")
    fd = os.open(tmp_path / "in", os.O_RDONLY)
    with stream(["cat"], cwd=folder, stdin=fd) as running:
        assert b"".join(running) == b"given"
    os.close(fd)


def test_the_folder_is_the_descriptor_not_the_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "mine").touch()
    (tmp_path / "other").mkdir()
    fd = os.open(tmp_path / "real", os.O_RDONLY)
    (tmp_path / "real").rename(tmp_path / "moved")
    (tmp_path / "real").symlink_to("other")
    with stream(["ls"], cwd=fd) as running:
        assert b"".join(running) == b"mine\n"
    os.close(fd)


def test_a_missing_program_is_not_a_missing_file(folder: int) -> None:
    with (
        pytest.raises(ToolError, match="Cannot run '/no/such/program': No such file") as caught,
        stream(["/no/such/program"], cwd=folder),
    ):
        pass
    assert caught.value.code is ErrorCode.EXECUTION


@pytest.mark.timeout(60)
@pytest.mark.parametrize("script", ["sleep 300", "yes", "exec >&- 2>&-; sleep 300", "while :; do :; done"])
def test_the_deadline_ends_it(folder: int, script: str) -> None:
    with stream(["sh", "-c", f"echo $$; {script}"], cwd=folder, deadline=time.monotonic() + 50) as running:
        chunks = iter(running)
        pid = int(next(chunks).split()[0])
        running._deadline = time.monotonic() + 0.3  # from when it runs, which may take a while
        with pytest.raises(TimeoutError):
            deque(chunks, maxlen=0)
    assert gone(pid)


@pytest.mark.timeout(60)
def test_a_token_ends_it(folder: int) -> None:
    token = CancelToken()
    with stream(["sh", "-c", "echo $$; sleep 300"], cwd=folder, token=token) as running:
        chunks = iter(running)
        pid = int(next(chunks))
        threading.Timer(0.2, token.cancel).start()
        with pytest.raises(ToolError, match="cancelled") as caught:
            next(chunks)
    assert caught.value.code is ErrorCode.CANCELLED
    assert gone(pid)


@pytest.mark.timeout(60)
def test_what_it_started_ends_too(folder: int) -> None:
    with stream(["sh", "-c", "sleep 300 & echo $!; sleep 300 & echo $!; wait"], cwd=folder) as running:
        said = b""
        for chunk in running:
            said += chunk
            if said.count(b"\n") == 2:
                break
    assert [gone(int(pid)) for pid in said.split()] == [True, True]


@pytest.mark.timeout(60)
def test_what_it_left_behind_ends_too(folder: int) -> None:
    """The program itself has ended, and a child that does not hold the pipes goes on."""
    with stream(["sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!"], cwd=folder) as running:
        pid = int(b"".join(running))
        assert alive(pid)
    assert gone(pid)


@pytest.mark.timeout(60)
def test_an_error_of_ours_ends_it(folder: int) -> None:
    pids: list[int] = []

    def fail() -> None:
        with stream(["sh", "-c", "echo $$; exec yes"], cwd=folder) as running:
            pids.append(int(next(iter(running)).split()[0]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert gone(pids[0])


def test_the_memory_of_a_program_is_bounded(folder: int) -> None:
    script = "while [ $(ulimit -v) = unlimited ]; do :; done; ulimit -v; ulimit -c"
    with stream(["/bin/sh", "-c", script], cwd=folder, memory=1 << 28) as chunks:
        assert b"".join(chunks) == b"262144\n0\n"
