"""A child that runs a module alone: what it says arrives whole, and each way in which it ends is told apart."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.launchers import LAUNCHER
from toolroll.host.runtime import python_child
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.python_child import FrameTooLargeError, PythonChild
from toolroll.result import ToolError


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[PythonChild]]:
    echo = "import sys; source = sys.stdin.buffer\nwhile head := source.read(4):\n "
    monkeypatch.setattr(python_child, "START_CODE", echo + "exec(source.read(int.from_bytes(head, 'big')))")
    running: list[PythonChild] = []
    yield running
    for child in running:
        child.close()


def send_until_closed(child: PythonChild) -> None:
    for _ in range(100_000):
        child.send(b"pass")


SAY = b"data = b'x' * %d; sys.stdout.buffer.write(len(data).to_bytes(4, 'big') + data); sys.stdout.flush()"


def test_frames_and_ends(children: list[PythonChild]) -> None:
    child = PythonChild(LAUNCHER, "")
    children.append(child)
    child.send(SAY % 3_000_000)
    assert len(child.receive_frame(CancelToken(), time.monotonic() + 60)) == 3_000_000
    with pytest.raises(TimeoutError):
        child.receive(1, None, time.monotonic())
    token = CancelToken()
    token.cancel()
    with pytest.raises(ToolError):
        child.receive(1, token)
    child.send(b"sys.stdout.buffer.write(b'\\xff\\xff\\xff\\xff'); sys.stdout.flush()")
    with pytest.raises(FrameTooLargeError):
        child.receive_frame(None)
    child.send(b"sys.exit(3)")
    with pytest.raises(EOFError):
        child.receive_frame(None)
    assert child.close() == 3
    ending = PythonChild(LAUNCHER, "")
    children.append(ending)
    ending.send(b"sys.exit(4)")
    with pytest.raises(EOFError):
        send_until_closed(ending)
