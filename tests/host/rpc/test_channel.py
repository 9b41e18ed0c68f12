"""Two channels on one pair of sockets: calls, events and questions of a call, cancellation, and hostile messages."""

import json
import socket
import threading
import time

import pytest

from tests.waiting import until
from toolroll.host.rpc.channel import Channel, LateError, RefusedError, SocketStream
from toolroll.host.rpc.codecs import LineCodec, PeerGoneError, SizeCodec
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ErrorCode, ToolError


def in_thread(work):
    threading.Thread(target=work, daemon=True).start()


@pytest.fixture
def connect():
    """A channel whose calls `serve` answers, each in a thread."""
    made = []

    def start(serve, codec=LineCodec):
        ours, theirs = map(SocketStream, socket.socketpair())
        made.append(Channel(theirs, codec(), serve=serve, run=in_thread))
        made.append(Channel(ours, codec()))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def raw():
    """A channel, and the socket at its other end."""
    ours, theirs = socket.socketpair()
    channel = Channel(SocketStream(ours), LineCodec(1_000))
    yield channel, theirs
    theirs.close()
    channel.close()


@pytest.mark.parametrize("codec", [LineCodec, SizeCodec])
def test_a_call_with_events_and_a_question(connect, codec):
    def serve(method, params, call):
        call.tell("progress", 1)
        return [method, params, call.ask("name?", {"of": "whom"}, call.token)]

    def on_event(name, data, _token):
        heard.append((name, data))
        return "mine"

    heard = []
    assert connect(serve, codec).call("do", {"x": "\udcff"}, on_event=on_event) == ["do", {"x": "\\udcff"}, "mine"]
    assert heard == [("progress", 1), ("name?", {"of": "whom"})]


def test_errors_are_given_to_the_caller_with_their_code(connect):
    errors = {
        "tool": ToolError(ErrorCode.CONFLICT, "twice", details=[1]),
        "value": ValueError("no number"),
        "bug": KeyError("x"),
    }

    def serve(method, _params, _call):
        raise errors[method]

    channel = connect(serve)
    found = {}
    for method in (*errors, "none"):
        with pytest.raises(RefusedError) as caught:
            channel.call(method, None)
        found[method] = str(caught.value), caught.value.as_tool_error()
    assert (found["tool"][1].code, found["tool"][1].message, found["tool"][1].details) == ("Conflict", "twice", [1])
    assert found["value"] == ("no number", None)
    assert found["bug"] == ("Internal error: KeyError: 'x'", None)
    assert found["none"] == ("none is not known here", None)


def test_a_call_that_is_cancelled_is_cancelled_there_and_can_be_waited_for(connect):
    def serve(_method, _params, call):
        begun.set()
        assert until(lambda: call.token.cancelled)
        ended.append(1)
        return "ended"

    begun, ended, token = threading.Event(), [], CancelToken()
    channel = connect(serve)
    pending = channel.request("m", None)
    begun.wait()
    token.cancel()
    assert pending.wait(token, patient=True) == "ended"
    with pytest.raises(ToolError):
        channel.call("m", None, token)
    with pytest.raises(LateError):
        channel.call("m", None, deadline=time.monotonic())
    assert until(lambda: len(ended) == 3)


def test_a_question_can_be_withdrawn_and_a_caller_that_fails_ends_its_call(connect):
    def serve(method, _params, call):
        if method == "fail":
            with pytest.raises(RefusedError, match="cannot answer"):
                call.ask("x", None, call.token)
            return until(lambda: call.token.cancelled)
        threading.Timer(0.1, token.cancel).start()
        with pytest.raises(ToolError):
            call.ask("x", None, token)
        return "withdrawn"

    def fail(*_):
        raise OSError("the terminal is closed")

    token = CancelToken()
    channel = connect(serve)
    assert channel.call("m", None, on_event=lambda _name, _data, asked: until(lambda: asked.cancelled)) == "withdrawn"
    with pytest.raises(OSError, match="the terminal is closed"):
        channel.call("fail", None, on_event=fail, patient=True)


def test_who_serves_notices_that_the_caller_is_gone(connect):
    def serve(_method, _params, call):
        assert until(lambda: call.token.cancelled)
        ended.set()

    ended = threading.Event()
    channel = connect(serve)
    pending = channel.request("m", None)
    channel.close()
    assert ended.wait(10)
    with pytest.raises(PeerGoneError, match="was closed"):
        pending.wait()
    with pytest.raises(PeerGoneError):
        channel.notify("m", None)


@pytest.mark.parametrize("said", [b"x" * 1_001, b"{}x\n", b"[" * 900 + b"\n", b'{"id": 1, "res'])
def test_a_hostile_or_half_message_is_the_end(raw, said):
    channel, there = raw
    pending = channel.request("m", None)
    there.sendall(said)
    there.shutdown(socket.SHUT_WR)
    with pytest.raises(PeerGoneError):
        pending.wait(deadline=time.monotonic() + 30)


def test_the_first_of_two_answers_counts_and_events_of_nothing_are_left_out(raw):
    channel, there = raw
    pending = channel.request("m", None)
    said = [
        {"id": 9, "result": 0},
        {"of": 7, "method": "x"},
        {"of": 7, "id": 1, "method": "x"},
        {"id": 1, "result": 1},
        {"id": 1, "result": 2},
    ]
    there.sendall(b"".join(json.dumps(one).encode() + b"\n" for one in said))
    assert pending.wait() == 1
    lines = there.makefile()
    assert [json.loads(lines.readline()) for _ in range(2)][1]["error"]["message"] == "There is no such call."
    assert channel.gone is None
