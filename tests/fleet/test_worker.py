"""A worker answers every task that it takes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from toolroll import Lease
from toolroll.fleet.pool import freeze
from toolroll.fleet.tasks import FleetResult, FleetTask, RunAgent
from toolroll.fleet.worker import FrozenPlace, TaskOrder, Worker, WorkerOrder, make_codec
from toolroll.host.rpc.channel import Channel, RefusedError, SocketStream
from toolroll.host.settings import Settings

_NO_ROOM = 1 << 46  # bytes of stack, which no thread gets


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FrozenPlace]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("one\n")
    frozen = freeze(str(tmp_path / "ws"), None, [], "local", settings=Settings())
    yield FrozenPlace(frozen.path, frozen.state)
    frozen.close()


def make_agent(model: str) -> RunAgent:
    def run_agent(kit: Lease, task: str) -> tuple[bool, str]:
        raise SystemExit("no agent")

    return run_agent


class Session:
    """A worker in this process that has begun."""

    def __init__(self, place: FrozenPlace) -> None:
        ours, theirs = socket.socketpair()
        serve = Worker("", make_agent).serve
        self._worker = threading.Thread(target=serve, args=(SocketStream(theirs),))
        self._worker.start()
        self.channel = Channel(SocketStream(ours), make_codec())
        self.channel.call("begin", WorkerOrder("worker", 2, place))

    def run(self, task: FleetTask) -> FleetResult:
        return msgspec.convert(self.channel.call("task", TaskOrder(task)), FleetResult)

    def close(self) -> None:
        self.channel.close()
        self._worker.join()


@pytest.fixture
def session(place: FrozenPlace) -> Iterator[Session]:
    made = Session(place)
    yield made
    made.close()


def test_tasks_that_raise_or_change_bytes_are_answered(session: Session) -> None:
    latin = FleetTask("latin", setup=[r"printf 'caf\351\n' > a.txt"])
    results = [session.run(FleetTask("agent", agent="Work.")), session.run(latin)]
    assert [(one.id, one.status, one.why) for one in results] == [
        ("agent", "error", "SystemExit: no agent"),
        ("latin", "passed", ""),
    ]
    assert "+caf\\udce9\n" in results[1].patch


def test_a_task_that_gets_no_thread_is_answered(session: Session) -> None:
    """There is one thread, that of the begin: it takes what waits, and the rest is refused. Each has one answer."""
    threading.stack_size(_NO_ROOM)
    try:
        orders = [TaskOrder(FleetTask(str(number), check="true")) for number in range(4)]
        running = [session.channel.request("task", order) for order in orders]
        said = list[str]()
        for one in running:
            try:
                said.append(one.wait()["status"])
            except RefusedError as error:
                said.append(str(error))
    finally:
        threading.stack_size(0)
    assert "No thread can be started for it: can't start new thread." in said
    assert session.run(FleetTask("last", check="true")).status == "passed"


def test_a_call_that_there_is_none_of_is_refused(session: Session) -> None:
    with pytest.raises(RefusedError, match="nothing is not known here"):
        session.channel.call("nothing", {})
    with pytest.raises(RefusedError, match="missing required field"):
        session.channel.call("task", {})
