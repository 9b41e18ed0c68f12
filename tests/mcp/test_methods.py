"""The methods that need nothing but the backend."""

import pytest

from tests.mcp.fixtures.suite_server import SuiteBackend
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp.methods import BACKEND_METHODS, RpcRequest, completion_result
from toolroll.mcp.wire import INVALID_PARAMS, NO_RESOURCE, RpcError


def request(method="x", meta=None, **params):
    return RpcRequest(1, method, params, lambda _message: None, CancelToken(), meta)


def call(method, meta=None, **params):
    return BACKEND_METHODS[method](SuiteBackend(), request(method, meta, **params))


def refused(method, meta=None, **params):
    with pytest.raises(RpcError) as caught:
        call(method, meta, **params)
    return caught.value.code, caught.value.message, caught.value.data


def test_parameters_have_their_types():
    one = request(text="a", table={"b": 1}, nothing=None, empty="")
    assert (one.text("text"), one.text("empty"), one.table("table"), one.table("nothing")) == ("a", "", {"b": 1}, {})
    assert one.table("absent") == {}
    for name in ("table", "nothing", "absent"):
        with pytest.raises(RpcError, match=rf"^`{name}` must be a string\.$") as caught:
            one.text(name)
        assert caught.value.code == INVALID_PARAMS
    assert one.table("empty") == {}
    for name in ("text",):
        with pytest.raises(RpcError, match=rf"^`{name}` must be an object\."):
            one.table(name)


def test_lists_come_from_the_backend():
    backend = SuiteBackend()
    assert call("resources/list") == {"resources": backend.resources()}
    assert call("resources/templates/list") == {"resourceTemplates": backend.templates()}
    assert call("prompts/list") == {"prompts": backend.prompts()}
    assert backend.resources()
    assert backend.prompts()


def test_a_resource_is_read_or_unknown():
    uri = "test://static-text"
    text = {"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."}
    assert call("resources/read", uri=uri) == {"contents": [text]}
    unknown = ("There is no resource 'test://none'.", {"uri": "test://none"})
    assert refused("resources/read", uri="test://none") == (NO_RESOURCE, *unknown)
    assert refused("resources/read", {"a": 1}, uri="test://none") == (INVALID_PARAMS, *unknown)
    assert refused("resources/read") == (INVALID_PARAMS, "`uri` must be a string.", None)


def test_a_prompt_is_filled_in_with_texts():
    filled = call("prompts/get", name="test_prompt_with_arguments", arguments={"arg1": "a", "arg2": 2})
    assert filled["messages"][0]["content"]["text"] == "Prompt with arguments: arg1='a', arg2='2'"
    assert refused("prompts/get", name="no") == (INVALID_PARAMS, "There is no prompt 'no'.", None)
    assert refused("prompts/get", name="test_prompt_with_arguments") == (INVALID_PARAMS, "Missing: arg1, arg2.", None)


def test_completions_are_at_most_a_hundred():
    found = call("completion/complete", ref={"type": "ref/prompt"}, argument={"name": "x", "value": "par"})
    assert found == {"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}}
    many = [str(number) for number in range(101)]
    assert completion_result(many) == {"completion": {"values": many[:100], "total": 101, "hasMore": True}}
    assert completion_result(many[:100])["completion"]["hasMore"] is False


def test_what_cannot_be_completed(ws, tmp_path):
    from toolroll import Kit
    from toolroll.mcp.kit_backend import KitBackend

    backend = KitBackend(lambda _folder, _approve: Kit(ws, state_dir=tmp_path / "state"))
    with pytest.raises(RpcError, match="There is nothing to complete in 'other'") as caught:
        BACKEND_METHODS["completion/complete"](backend, request(ref={"type": "other"}))
    assert caught.value.code == INVALID_PARAMS
    backend.close()
