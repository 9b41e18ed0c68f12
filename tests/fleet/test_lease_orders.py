"""The worker's side of orders for leases."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from tests.waiting import until
from toolroll import CancelToken, ToolError
from toolroll.fleet.lease_orders import LeaseOrder, LeaseServer
from toolroll.fleet.pool import PoolKit
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.rpc.channel import Channel, RefusedError, SocketStream
from toolroll.host.rpc.codecs import LineCodec
from toolroll.result import ErrorCode

WRITE = {"name": "write", "arguments": {"path": "new.txt", "content": "new\n"}, "approve": "one by one"}


class Desk:
    """A server of leases with one of them, at the other end of a channel whose messages have a bound."""

    def __init__(self, pool: PoolKit) -> None:
        server, ends = LeaseServer(pool), socket.socketpair()

        def serve(_method: str, params: Any, call: Any) -> Any:
            return server.carry_out(LeaseOrder(**params), call)

        def run(work: Any) -> None:
            threading.Thread(target=work).start()

        self._there = Channel(SocketStream(ends[0]), LineCodec(100_000), serve=serve, run=run)
        self._here = Channel(SocketStream(ends[1]), LineCodec())
        self.do("open")

    def do(self, do: str, token: CancelToken | None = None, on_event: Any = None, **given: Any) -> Any:
        order = {"lease": 1, "do": do, "given": given}
        return self._here.call("lease", order, token, on_event=on_event, patient=True)

    def close(self) -> None:
        self._here.close()
        self._there.close()


@pytest.fixture
def desk(ws: Path) -> Iterator[Desk]:
    (ws / "a.txt").write_text("one\n" * 50_000)
    frozen = FrozenCopy(str(ws), None, 10**9)
    pool = PoolKit(frozen.path, frozen.state, {}, policy="ask")
    made = Desk(pool)
    yield made
    made.close()
    pool.close()
    frozen.close()


def test_a_question_waits_for_its_answer(desk: Desk) -> None:
    asked = SimpleQueue[Any]()

    def answer(event: str, request: dict[str, Any], _withdrawn: CancelToken) -> Any:
        asked.put((event, request["name"], request["arguments"], desk.do("describe")))
        return "once"

    assert desk.do("call", on_event=answer, **WRITE)["status"] == "success"
    assert asked.get() == ("approve", WRITE["name"], WRITE["arguments"], "")


def test_what_is_no_answer_ends_the_call(desk: Desk) -> None:
    with pytest.raises(RefusedError, match="There is no answer 'perhaps'"):
        desk.do("call", on_event=lambda *_: "perhaps", **WRITE)
    assert desk.do("describe") == ""


def test_a_call_that_asks_can_be_cancelled(desk: Desk) -> None:
    token, withdrawn = CancelToken(), list[bool]()

    def wait(_event: str, _request: Any, taken_back: CancelToken) -> Any:
        token.cancel()
        withdrawn.append(until(lambda: taken_back.cancelled or True))
        return False

    result = desk.do("call", token, wait, **WRITE)
    assert result["status"] == "error"
    assert desk.do("describe") == ""


def test_an_answer_that_cannot_be_sent_is_named(desk: Desk) -> None:
    with pytest.raises(RefusedError, match="and 100,000 can be sent") as raised:
        desk.do("read_bytes", path="a.txt")
    known = raised.value.as_tool_error()
    assert isinstance(known, ToolError)
    assert known.code is ErrorCode.TOO_LARGE
    assert desk.do("describe") == ""
