"""Messages of JSON-RPC: what is read, and what is refused."""

import json
import re

import msgspec
import pytest

from toolroll.host.rpc.codecs import encode_json
from toolroll.mcp.wire import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE,
    RpcError,
    RpcMessage,
    describe,
    make_error,
    make_result,
    parse,
    parse_each,
)


def test_a_name_may_be_given_twice_with_the_same_value():
    call = b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"arguments": {"path": "a", "path": "a"}}}'
    assert parse(call).params == {"arguments": {"path": "a"}}


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
        (
            b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"arguments": {"path": "a", "path": "b"}}}',
            INVALID_PARAMS,
            3,
        ),
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


def test_what_is_not_unicode_is_written_out():
    assert json.loads(encode_json({"a\udc80": ["\udcff", ("x",), 1]})) == {"a\\udc80": ["\\udcff", ["x"], 1]}


def test_a_message_struct_is_what_is_sent():
    assert isinstance(parse(encode_json({"jsonrpc": "2.0", "method": "x"})), RpcMessage)


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
