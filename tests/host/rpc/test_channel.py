"""Two channels on one pair of sockets: calls, events and questions of a call, cancellation, and hostile messages."""

import json
import os
import socket
import threading
import time
from functools import partial
from typing import Any

import pytest

from tests.waiting import until
from toolroll.host.rpc.channel import Channel, FileStream, LateError, RefusedError, SocketStream
from toolroll.host.rpc.codecs import MAX_MESSAGE_BYTES, LineCodec, PeerGoneError, RawLineCodec, SizeCodec
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


def no_input(_size: int) -> bytes:
    return b""


def line(value: Any) -> bytes:
    return LineCodec().encode(value)


def taking(fd: int, most: int = MAX_MESSAGE_BYTES) -> Channel:
    """A channel whose lines the test takes itself."""
    return Channel(FileStream(partial(os.read, fd), -1), RawLineCodec(most), reads=False)


def lines(data, most=100, chunks=1):
    reader, writer = os.pipe()
    threading.Thread(target=lambda: [os.write(writer, data), os.close(writer)]).start()
    found = list(iter(taking(reader, most).take, None))
    os.close(reader)
    return [bytes(one) for one in found]


def test_lines_are_split_and_empty_ones_dropped():
    assert lines(b"one\n\n  \r\ntwo\r\nthree") == [b"one", b"two\r"]


def test_a_line_that_is_too_long_is_passed_over_and_the_next_is_read():
    long = b"x" * 200_000
    assert lines(b"one\n" + long + b"\ntwo\n", most=70_000) == [b"one", b"", b"two"]
    assert lines(long + b"\n", most=1_000_000) == [long]


@pytest.mark.parametrize(
    ("pieces", "most", "expected"),
    [
        ([b"on", b"e\ntwo\nth", b"ree", b"\n", b"\n \n", b"four\nfi"], 100, [b"one", b"two", b"three", b"four"]),
        ([b"one\nto", b"o lon", b"g, and", b" passed over", b"\n", b"two\n"], 6, [b"one", b"", b"two"]),
        ([b"too long", b" at first\ntwo\nth", b"ree\n"], 6, [b"", b"two", b"three"]),
        ([b"just", b"it", b"\n", b"too big", b"\n"], 6, [b"justit", b""]),
    ],
)
def test_lines_come_in_any_pieces(pieces, most, expected):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # each is read by itself
    with ours, theirs:
        for piece in pieces:
            theirs.send(piece)
        theirs.shutdown(socket.SHUT_WR)
        found = list(iter(taking(ours.fileno(), most).take, None))
    assert [bytes(one) for one in found] == expected


def test_lines_of_several_threads_are_whole():
    reader, writer = os.pipe()
    outbox = FileStream(no_input, writer)
    texts = [letter * 200_000 for letter in "abcd"]

    def send(text):
        outbox.put(line(text))
        outbox.flush()

    threads = [threading.Thread(target=send, args=(text,)) for text in texts]
    for one in threads:
        one.start()
    inbox = taking(reader)
    found = sorted(json.loads(inbox.take()) for _ in texts)
    for one in threads:
        one.join()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        send("nobody reads this")
    os.close(writer)
    assert found == texts


def test_a_client_that_does_not_read_keeps_one_thread_and_gets_everything():
    reader, writer = os.pipe()
    outbox = FileStream(no_input, writer)
    outbox.put(line("a" * 1_000_000))
    first = threading.Thread(target=outbox.flush)
    first.start()
    assert os.read(reader, 1) == b'"'  # it writes, and waits for the rest to be read
    outbox.put(line("b"))
    outbox.flush()  # does not wait
    assert outbox.busy
    inbox = taking(reader)
    assert [json.loads(b'"' + inbox.take()), json.loads(inbox.take())] == ["a" * 1_000_000, "b"]
    first.join()
    assert not outbox.busy
    os.close(reader)
    os.close(writer)


def test_what_was_put_is_written_together_and_not_before():
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    outbox = FileStream(no_input, writer)
    assert not outbox.due
    for number in range(3):
        outbox.put(line(number))
    with pytest.raises(BlockingIOError):
        os.read(reader, 100)
    time.sleep(0.003)
    assert outbox.due
    outbox.flush()
    assert os.read(reader, 100) == b"0\n1\n2\n"
    assert not outbox.due
    outbox.flush()
    with pytest.raises(BlockingIOError):
        os.read(reader, 100)
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize(
    ("behind", "ready"),
    [
        (b"", False),
        (b'{"half', False),
        (b"\n \r\n", False),
        (b'\n\n{"half', False),
        (b"{}\n", True),
        (b"\n \n{}\n", True),
        (b'{}\n{"half', True),
    ],
)
def test_whether_the_next_line_is_here_already(behind, ready):
    reader, writer = os.pipe()
    os.write(writer, b"first\n" + behind)
    inbox = taking(reader)
    assert not inbox.is_next_here
    assert inbox.take() == b"first"
    assert inbox.is_next_here is ready
    os.close(writer)
    if ready:
        assert inbox.take() == b"{}"
    assert inbox.take() is None
    os.close(reader)


def test_an_answer_is_due_by_the_time_of_the_first_one_that_waits(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    read, write = os.pipe()
    writer = FileStream(no_input, write)
    assert (writer.due, writer.busy) == (False, False)
    writer.put(line(1))
    assert (writer.due, writer.busy, writer._bytes) == (False, True, 2)
    now[0] += 1
    writer.put(line(2))
    assert writer.due
    writer.flush()
    assert (writer.due, writer.busy, os.read(read, 100)) == (False, False, b"1\n2\n")
    assert writer._bytes == 0
    writer.put(line(3))
    assert not writer.due
    os.close(read)
    os.close(write)
