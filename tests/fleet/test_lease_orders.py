"""The worker's side of orders for leases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import msgspec
import pytest

from toolroll.fleet import lease_orders
from toolroll.fleet.lease_orders import ApproverAnswer, LeaseAnswer, LeaseDesk, LeaseOrder, LeaseProblem
from toolroll.fleet.pool import PoolKit
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.result import ErrorCode, Result

WRITE = {"name": "write", "arguments": {"path": "new.txt", "content": "new\n"}}


class Desk:
    """A desk with one lease, and what it says."""

    def __init__(self, pool: PoolKit) -> None:
        self.said = SimpleQueue[LeaseAnswer]()
        self.desk = LeaseDesk(pool, self.said.put)
        assert self.do(1, "open").problem is None

    def do(self, number: int, do: str, **given: Any) -> LeaseAnswer:
        """Give an order; what is said next."""
        self.desk.take(LeaseOrder(number, 1, do, given))
        return self.said.get(timeout=60)


@pytest.fixture
def desk(ws: Path) -> Iterator[Desk]:
    (ws / "a.txt").write_text("one\n" * 100)
    frozen = FrozenCopy(str(ws), None, 10**9)
    pool = PoolKit(frozen.path, frozen.state, {}, policy="ask")
    made = Desk(pool)
    yield made
    made.desk.close()
    pool.close()
    frozen.close()


def test_a_question_waits_for_its_answer(desk: Desk) -> None:
    asked = desk.do(2, "call", approve="one by one", **WRITE).question
    assert asked is not None
    assert (asked.name, asked.arguments) == (WRITE["name"], WRITE["arguments"])
    assert desk.do(3, "describe") == LeaseAnswer(3, msgspec.Raw(b'""'))
    done = desk.do(2, "answer", **msgspec.to_builtins(ApproverAnswer(asked.question, "once")))
    assert (done.number, msgspec.json.decode(done.value, type=Result).ok) == (2, True)


def test_a_call_that_asks_can_be_cancelled(desk: Desk) -> None:
    assert desk.do(2, "call", approve="one by one", **WRITE).question
    result = msgspec.json.decode(desk.do(2, "cancel").value, type=Result)
    assert result.error is not None
    assert result.error.code == "Cancelled"
    assert desk.do(3, "describe") == LeaseAnswer(3, msgspec.Raw(b'""'))


def test_an_answer_that_cannot_be_sent_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_orders, "MAX_ANSWER_BYTES", 500)
    said = "The answer has 538 bytes, and 500 can be sent. Ask for less at once."
    assert desk.do(2, "read_bytes", path="a.txt") == LeaseAnswer(2, problem=LeaseProblem(ErrorCode.TOO_LARGE, said))
