"""The client of one request: what it can do, what it is asked, and how far it learns the work is."""

import threading
from types import SimpleNamespace

import pytest

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp import peer as module
from toolroll.mcp.methods import RpcRequest
from toolroll.mcp.peer import ClientPeer, MissingCapabilityError
from toolroll.mcp.wire import RpcMessage
from toolroll.result import ErrorCode, ToolError

FORM = ("elicitation/create", {"message": "Well?"})


CAN = {"elicitation": {}}


def make(params=None, ask=None, capabilities=CAN, meta=None):
    """A peer, and the messages that it sends."""
    sent = []
    request = RpcRequest(1, "tools/call", params or {}, sent.append, CancelToken(), meta)
    return ClientPeer(request, capabilities, ask), sent


def answering(**answer):
    """A way to ask that answers at once."""
    return lambda _method, _params, then, _send: then(RpcMessage("2.0", "q", **answer))


def error_of(peer):
    with pytest.raises(ToolError) as caught:
        peer.request(*FORM)
    return caught.value.code, caught.value.message


def test_only_what_is_declared_can_be_done():
    peer, _ = make(capabilities={"elicitation": {}, "roots": {"listChanged": True}, "sampling": None})
    assert [peer.can(one) for one in ("elicitation", "roots", "sampling", "other")] == [True, True, False, False]


def test_an_answer_is_waited_for_in_another_thread():
    asked = []

    def ask(method, params, then, _send):
        asked.append((method, params))
        threading.Timer(0.05, then, [RpcMessage("2.0", "q", result={"action": "accept"})]).start()

    peer, _ = make(ask=ask)
    assert peer.request(*FORM) == {"action": "accept"}
    assert asked == [FORM]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"error": {"code": -1, "message": "no form"}}, "no form"),
        ({"error": {"code": -1}}, "no reason given"),
        ({"error": "broken"}, "no reason given"),
        ({"result": 3}, "no reason given"),
    ],
)
def test_a_refusal_says_why(answer, why):
    peer, _ = make(ask=answering(**answer))
    assert error_of(peer) == (ErrorCode.UNSUPPORTED, f"The client refused 'elicitation/create': {why}.")


def test_a_client_that_goes_answers_nothing():
    peer, _ = make(ask=lambda _method, _params, then, _send: then(None))
    assert error_of(peer) == (ErrorCode.CANCELLED, "The client has gone.")


def test_a_cancelled_call_does_not_wait_for_an_answer():
    peer, _ = make(ask=lambda _method, _params, _then, _send: threading.Timer(0.05, peer.token.cancel).start())
    assert error_of(peer)[0] is ErrorCode.CANCELLED


def test_a_question_that_the_client_cannot_answer_is_not_asked():
    peer, sent = make(ask=answering(result={}), capabilities={"roots": {}})
    with pytest.raises(MissingCapabilityError, match="does not support elicitation") as caught:
        peer.request(*FORM)
    assert (caught.value.capability, sent) == ("elicitation", [])


@pytest.mark.parametrize(
    ("meta", "levels"),
    [(None, ["debug", "info", "error"]), ({}, []), ({"level": "info"}, ["info", "error"]), ({"level": "x"}, [])],
)
def test_a_stateless_client_gets_the_log_that_it_asks_for(meta, levels):
    given = {"io.modelcontextprotocol/logLevel": meta["level"]} if meta else {}
    peer, sent = make({"_meta": given}, meta=meta)
    for level in ("debug", "info", "error"):
        peer.notify("notifications/message", {"level": level})
    assert [one["params"]["level"] for one in sent] == levels


def test_notifications_are_sent_as_they_are():
    peer, sent = make()
    peer.notify("notifications/message", {"level": "info"})
    assert sent == [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}]


def test_progress_is_sent_to_those_who_asked_for_it():
    for params in ({}, {"_meta": 3}, {"_meta": {}}):
        peer, sent = make(params)
        peer.progress(1, 2, "")
        assert sent == []


def test_progress_grows_and_is_not_sent_too_often(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(module, "_PROGRESS_INTERVAL_S", 0.5)
    peer, sent = make({"_meta": {"progressToken": 0}})

    def report(done, total=10, note="", after=1.0):
        now[0] += after
        peer.progress(done, total, note)
        return sent.pop()["params"] if sent else None

    assert report(0) == {"progressToken": 0, "progress": 0, "total": 10}
    assert report(0) is None
    assert report(2, None, "half") == {"progressToken": 0, "progress": 2, "message": "half"}
    assert report(1, after=0.0) is None
    assert report(3, after=0.25) is None
    assert report(3, after=0.25) == {"progressToken": 0, "progress": 3, "total": 10}
    assert report(10, after=0.0) == {"progressToken": 0, "progress": 10, "total": 10}
