"""Messages on lines: what is read, what is refused, and what several threads write at once."""

import json
import os
import re
import socket
import threading
import time

import msgspec
import pytest

from toolroll.host.rpc.codecs import LineCodec, encode_json
from toolroll.mcp.wire import (
    INVALID_REQUEST,
    PARSE,
    LineReader,
    LineWriter,
    RpcError,
    RpcMessage,
    describe,
    make_error,
    make_result,
    parse,
    parse_each,
)


def test_requests_notifications_and_responses():
    request = parse(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    notice = parse(b'{"jsonrpc": "2.0", "method": "hello", "params": {"a": 1}}')
    answer = parse(b'{"jsonrpc": "2.0", "id": "x", "result": null}')
    assert (request.is_request, notice.is_request, answer.is_request) == (True, False, False)
    assert (notice.params, answer.id, answer.result, answer.error) == ({"a": 1}, "x", None, msgspec.UNSET)


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"", PARSE, None),
        (b"{", PARSE, None),
        (b'[{"a": 1}, {', PARSE, None),
        (b'{"jsonrpc": "2.0", "id": 9, "method": "ping", "params": {"a": "\\ud83d"}}', PARSE, 9),
        (b'{"jsonrpc": "2.0", "id": "x", "method": "ping", "params": {"a": NaN}}', PARSE, "x"),
        (b"[" * 100_000, PARSE, None),
        (b"null", INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": [], "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": 2.0, "id": 9, "method": "ping"}', INVALID_REQUEST, 9),
        (b'{"jsonrpc": "2.1", "id": 9, "method": "ping"}', INVALID_REQUEST, 9),
    ],
)
def test_what_is_no_message(line, code, id):
    with pytest.raises(RpcError) as refused:
        parse(line)
    assert (refused.value.code, refused.value.id) == (code, id)


def test_a_batch_is_taken_apart():
    items = parse(b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, 7, {"jsonrpc": "1", "id": 2}, [1]]')
    messages, faults = parse_each(items)
    assert [one.id for one in messages] == [1]
    assert [one.id for one in faults] == [None, 2, None]


def lines(data, most=100, chunks=1):
    reader, writer = os.pipe()
    threading.Thread(target=lambda: [os.write(writer, data), os.close(writer)]).start()
    inbox = LineReader(reader, LineCodec(most))
    found = list(iter(inbox.next, None))
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
        found = list(iter(LineReader(ours.fileno(), LineCodec(most)).next, None))
    assert [bytes(one) for one in found] == expected


def test_what_is_not_unicode_is_written_out():
    assert json.loads(encode_json({"a\udc80": ["\udcff", ("x",), 1]})) == {"a\\udc80": ["\\udcff", ["x"], 1]}


def test_lines_of_several_threads_are_whole():
    reader, writer = os.pipe()
    outbox = LineWriter(writer)
    texts = [letter * 200_000 for letter in "abcd"]

    def send(text):
        outbox.put(text)
        outbox.flush()

    threads = [threading.Thread(target=send, args=(text,)) for text in texts]
    for one in threads:
        one.start()
    inbox = LineReader(reader)
    found = sorted(json.loads(inbox.next()) for _ in texts)
    for one in threads:
        one.join()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        send("nobody reads this")
    os.close(writer)
    assert found == texts


def test_a_client_that_does_not_read_keeps_one_thread_and_gets_everything():
    reader, writer = os.pipe()
    outbox = LineWriter(writer)
    outbox.put("a" * 1_000_000)
    first = threading.Thread(target=outbox.flush)
    first.start()
    assert os.read(reader, 1) == b'"'  # it writes, and waits for the rest to be read
    outbox.put("b")
    outbox.flush()  # does not wait
    assert outbox.busy
    inbox = LineReader(reader)
    assert [json.loads(b'"' + inbox.next()), json.loads(inbox.next())] == ["a" * 1_000_000, "b"]
    first.join()
    assert not outbox.busy
    os.close(reader)
    os.close(writer)


def test_what_was_put_is_written_together_and_not_before():
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    outbox = LineWriter(writer)
    assert not outbox.due
    for number in range(3):
        outbox.put(number)
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
    inbox = LineReader(reader)
    assert not inbox.ready
    assert inbox.next() == b"first"
    assert inbox.ready is ready
    os.close(writer)
    if ready:
        assert inbox.next() == b"{}"
    assert inbox.next() is None
    os.close(reader)


def test_a_message_struct_is_what_is_sent():
    assert isinstance(parse(encode_json({"jsonrpc": "2.0", "method": "x"})), RpcMessage)


def test_an_answer_is_due_by_the_time_of_the_first_one_that_waits(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    read, write = os.pipe()
    writer = LineWriter(write)
    assert (writer.due, writer.busy) == (False, False)
    writer.put(1)
    assert (writer.due, writer.busy, writer._bytes) == (False, True, 2)
    now[0] += 1
    writer.put(2)
    assert writer.due
    writer.flush()
    assert (writer.due, writer.busy, os.read(read, 100)) == (False, False, b"1\n2\n")
    assert writer._bytes == 0
    writer.put(3)
    assert not writer.due
    os.close(read)
    os.close(write)


def test_a_result_has_the_id_of_its_request():
    assert make_result("a", {"x": 1}) == {"jsonrpc": "2.0", "id": "a", "result": {"x": 1}}


def test_an_error_has_data_only_where_there_is_some():
    assert make_error(1, RpcError(-1, "no"))["error"] == {"code": -1, "message": "no"}
    assert make_error(1, RpcError(-1, "no", {}))["error"] == {"code": -1, "message": "no", "data": {}}


def test_a_fault_is_described_by_where_it_was_raised():
    try:
        json.loads("{")
    except ValueError as error:
        assert re.fullmatch(r"JSONDecodeError: .* \(.*json/decoder\.py:\d+\)", describe(error))
    assert describe(ValueError("a\n b")) == "ValueError: a b"
