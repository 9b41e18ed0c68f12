"""What each version of the protocol gets."""

import pytest

from tests.mcp.fixtures.suite_server import SuiteBackend
from toolroll.mcp import versions
from toolroll.mcp.wire import INVALID_PARAMS, WRONG_VERSION, RpcError

INFO = {"name": "toolroll-suite", "title": "The official suite", "version": "1"}
LISTS = {kind: {"listChanged": True} for kind in ("tools", "resources", "prompts")}
META = "io.modelcontextprotocol/"
STATELESS = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {"roots": {}}}


@pytest.mark.parametrize(
    ("asked", "version"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
def test_a_session_gets_the_version_it_asks_for_or_the_last(asked, version):
    assert versions.negotiate({"protocolVersion": asked}) == version


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 3}])
def test_a_session_must_name_a_version(params):
    with pytest.raises(RpcError, match=r"^`protocolVersion` is missing\.$") as caught:
        versions.negotiate(params)
    assert caught.value.code == INVALID_PARAMS


@pytest.mark.parametrize("params", [{}, {"_meta": 3}, {"_meta": {"progressToken": 1}}])
def test_a_request_of_a_session_has_no_envelope(params):
    assert versions.read_envelope(params) is None


def test_the_envelope_of_a_stateless_request():
    assert versions.read_envelope({"_meta": STATELESS}) == STATELESS
    with pytest.raises(RpcError) as caught:
        versions.read_envelope({"_meta": {**STATELESS, f"{META}protocolVersion": "2025-11-25"}})
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        WRONG_VERSION,
        "Protocol '2025-11-25' is not spoken here.",
        {"supported": ["2026-07-28"], "requested": "2025-11-25"},
    )
    with pytest.raises(RpcError, match=r"`_meta` has no 'io\.modelcontextprotocol/clientCapabilities'") as caught:
        versions.read_envelope({"_meta": {**STATELESS, f"{META}clientCapabilities": None}})
    assert caught.value.code == INVALID_PARAMS


def test_who_the_server_is():
    assert versions.initialize_result(SuiteBackend(), "2025-06-18") == {
        "protocolVersion": "2025-06-18",
        "capabilities": {**LISTS, "completions": {}, "logging": {}},
        "serverInfo": INFO,
        "instructions": "Only for tests.",
    }
    assert versions.discover_result(SuiteBackend()) == {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {**LISTS, "completions": {}},
        "instructions": "Only for tests.",
    }


@pytest.mark.parametrize(
    ("method", "cacheable"),
    [
        ("tools/list", True),
        ("resources/list", True),
        ("resources/templates/list", True),
        ("resources/read", True),
        ("prompts/list", True),
        ("server/discover", True),
        ("tools/call", False),
        ("prompts/get", False),
    ],
)
def test_a_stateless_result_is_complete_and_names_the_server(method, cacheable):
    found = versions.complete_result(method, {"x": 1, "_meta": {"y": 2}}, SuiteBackend())
    more = {"ttlMs": 0, "cacheScope": "private"} if cacheable else {}
    assert found == {"resultType": "complete", "x": 1, "_meta": {"y": 2, f"{META}serverInfo": INFO}, **more}


def test_links_are_left_out_for_clients_that_do_not_know_them():
    text, link = {"type": "text", "text": "a"}, {"type": "resource_link", "uri": "x"}
    plain = {"content": [text], "isError": False}
    assert versions.without_links({**plain, "content": [text, link]}) == plain
    assert versions.without_links(plain) is plain
    assert versions.without_links({"isError": True}) == {"isError": True}
