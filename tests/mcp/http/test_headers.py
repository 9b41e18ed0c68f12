"""The headers of stateless requests: what they must repeat, and in which spellings."""

import pytest

from toolroll.mcp.http.headers import check_arguments, check_envelope, has_headers
from toolroll.mcp.wire import RpcError

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
READ = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "read"}
SCHEMA = {
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
        "plain": {"type": "string"},
        "bad": {"type": "number", "x-mcp-header": "Bad"},
        "worse": {"type": "string", "x-mcp-header": "no token"},
    }
}


def raw(headers):
    pairs = headers.items() if isinstance(headers, dict) else headers
    return [(name.encode(), value.encode()) for name, value in pairs]


@pytest.mark.parametrize(
    ("params", "headers", "code"),
    [
        ({"_meta": META, "name": "read"}, READ, None),
        ({"_meta": META, "name": "read"}, {**READ, "mcp-name": "=?base64?cmVhZA==?="}, None),
        ({"_meta": META, "name": "ä"}, {**READ, "mcp-name": "=?base64?w6Q=?="}, None),
        ({"_meta": META}, READ, None),
        ({"_meta": META, "name": "read"}, {**READ, "mcp-name": "=?base64?cmVhZB==?="}, -32020),
        ({"_meta": META, "name": "read"}, {**READ, "mcp-name": "write"}, -32020),
        ({"_meta": META, "name": "read"}, {**READ, "mcp-method": "tools/list"}, -32020),
        ({"_meta": META, "name": "read"}, {**READ, "mcp-protocol-version": "2025-11-25"}, -32020),
        ({"_meta": META, "name": "read"}, [*READ.items(), ("mcp-name", "read")], -32020),
        ({"_meta": META, "name": "read"}, {"mcp-protocol-version": "2026-07-28"}, -32020),
        ({"_meta": META | {"io.modelcontextprotocol/protocolVersion": None}}, READ, -32020),
        ({"_meta": {}}, READ, -32602),
        ({"_meta": 3}, READ, -32602),
        ({}, READ, -32602),
    ],
)
def test_a_request_says_in_its_headers_what_it_is(params, headers, code):
    try:
        check_envelope("tools/call", params, raw(headers))
    except RpcError as fault:
        assert fault.code == code
    else:
        assert code is None


@pytest.mark.parametrize(
    ("arguments", "headers", "fits"),
    [
        ({}, {}, True),
        ({"region": "eu"}, {"mcp-param-region": "eu"}, True),
        ({"region": None, "plain": "x", "bad": 1.5, "worse": "x"}, {}, True),
        ({"region": "eu"}, {}, False),
        ({}, {"mcp-param-region": "eu"}, False),
        ({"region": "eu"}, {"mcp-param-region": "us"}, False),
        ({"region": "eu"}, [("mcp-param-region", "eu"), ("mcp-param-region", "eu")], False),
        ({"region": ["eu"]}, {}, True),
        ({"region": ["eu"]}, {"mcp-param-region": "eu"}, False),
        ({"region": True}, {"mcp-param-region": "true"}, True),
        ({"deep": {"count": 42}}, {"mcp-param-count": "42.0"}, True),
        ({"deep": {"count": 42.0}}, {"mcp-param-count": "42"}, True),
        ({"deep": {"count": 42}}, {"mcp-param-count": "42.5"}, False),
        ({"deep": {"count": 42}}, {"mcp-param-count": "4e1"}, False),
        ({"deep": 3}, {}, True),
    ],
)
def test_a_header_that_stands_for_an_argument_agrees_with_it(arguments, headers, fits):
    try:
        check_arguments(SCHEMA, arguments, raw(headers))
    except RpcError as fault:
        assert (fault.code, fits) == (-32020, False)
    else:
        assert fits


def test_most_tools_have_no_headers():
    assert has_headers(SCHEMA)
    assert not has_headers({"properties": {"a": {"type": "string"}, "b": True}, "type": "object"})
    assert not has_headers({"type": "object"})
