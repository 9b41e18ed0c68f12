"""A worker answers every task that it takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolroll import Lease
from toolroll.fleet.pool import freeze
from toolroll.fleet.tasks import FleetResult, FleetTask, RunAgent
from toolroll.fleet.worker import FrozenPlace, Ready, TaskOrder, WorkerOrder, decode_answer, encode_order, serve
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
    """Orders for a worker, each sent when the one before is answered."""

    def __init__(self, place: FrozenPlace, *tasks: FleetTask) -> None:
        self.answers: list[Ready | FleetResult] = []
        self._place, self._tasks = place, tasks
        self._answered = threading.Event()

    def orders(self) -> Iterator[bytes]:
        yield encode_order(WorkerOrder("worker", 2, self._place))
        for task in self._tasks:
            self._answered.wait(30)
            self._answered.clear()
            yield encode_order(TaskOrder(task))
        self._answered.wait(30)

    def write(self, line: bytes) -> None:
        self.answers.append(decode_answer(line))
        self._answered.set()

    def run(self) -> list[FleetResult]:
        serve(self.orders(), self.write, "", make_agent)
        return [one for one in self.answers if isinstance(one, FleetResult)]


def test_tasks_that_raise_or_change_bytes_are_answered(place: FrozenPlace) -> None:
    latin = FleetTask("latin", setup=[r"printf 'caf\351\n' > a.txt"])
    results = Session(place, FleetTask("agent", agent="Work."), latin).run()
    assert [(one.id, one.status, one.why) for one in results] == [
        ("agent", "error", "SystemExit: no agent"),
        ("latin", "passed", ""),
    ]
    assert "+caf\\udce9\n" in results[1].patch


def test_a_task_that_gets_no_thread_is_answered(place: FrozenPlace) -> None:
    session = Session(place, FleetTask("1", check="true"))
    given = session.orders()

    def orders() -> Iterator[bytes]:
        yield next(given)
        line = next(given)
        threading.stack_size(_NO_ROOM)
        yield line
        threading.stack_size(0)
        yield from given

    try:
        serve(orders(), session.write, "", make_agent)
    finally:
        threading.stack_size(0)
    why = "The worker cannot start a thread for this task: can't start new thread."
    assert session.answers[1:] == [FleetResult("1", "error", why, worker="worker")]
