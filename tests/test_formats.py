"""Definitions and calls in the shapes of the providers."""

import base64

import pytest

from toolroll import Image, Result, dialects, formats
from toolroll.host.convert import converter

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "minLength": 1, "description": "File, link or folder to delete."}},
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.fixture
def kit(open_kit):
    return open_kit(tools="all")


def one(kit, name, shape):
    found = kit.definitions(shape)
    return next(d for d in found if d.get("name", d.get("function", {}).get("name")) == name)


def test_openai(kit):
    found = one(kit, "stat", "openai")
    assert found["type"] == "function"
    assert set(found["function"]) == {"name", "description", "parameters"}
    assert found["function"]["parameters"]["required"] == ["path"]


def test_anthropic_and_gemini(kit):
    assert set(one(kit, "stat", "anthropic")) == {"name", "description", "input_schema"}
    assert set(one(kit, "stat", "gemini")) == {"name", "description", "parametersJsonSchema"}


@pytest.mark.parametrize(
    ("name", "annotations"),
    [
        ("read", {"readOnlyHint": True, "openWorldHint": False}),
        ("edit", {"readOnlyHint": False, "openWorldHint": False, "destructiveHint": False}),
        ("delete", {"readOnlyHint": False, "openWorldHint": False, "destructiveHint": True}),
    ],
)
def test_mcp_annotations_follow_from_the_effects(kit, name, annotations):
    assert one(kit, name, "mcp")["annotations"] == annotations


def test_schemas_are_plain(kit):
    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                # What a tool calls its own parameters is no keyword.
                yield from keys(list(inner.values()) if key == "properties" else inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    for entry in kit.entries():
        assert not {"title", "$defs", "$ref", "definitions"} & set(keys(entry.schema)), entry.name


def test_an_unknown_format_lists_those_there_are(kit):
    with pytest.raises(ValueError, match="openai, responses, anthropic, gemini, mcp"):
        kit.definitions("xml")


def test_an_mcp_result_has_text_and_image():
    result = Result("success", "a picture", data={"x": 1}, images=(Image(b"png", "image/png"),))
    assert formats.mcp_result(result, structured=True) == {
        "content": [
            {"type": "text", "text": "a picture"},
            {"type": "image", "data": base64.b64encode(b"png").decode(), "mimeType": "image/png"},
        ],
        "isError": False,
    }


STRICT_WORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "description"}
STRICT_WORDS |= {"minimum", "maximum", "minItems", "maxItems", "pattern"}


def objects(schema):
    """Every schema within a schema."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    for one in inner + [schema[word] for word in ("items",) if word in schema]:
        yield from objects(one)


@pytest.mark.parametrize("dialect", dialects.names())
@pytest.mark.parametrize("format", ["openai", "responses"])
def test_in_strict_mode_all_is_required_and_nothing_else_is_said(open_kit, dialect, format):
    kit = open_kit(dialect, tools="all")
    found = [one.get("function", one) for one in kit.definitions(format, strict=True)]
    strict = [one for one in found if one.get("strict")]
    assert len(strict) >= 0.8 * len(found)
    for one in strict:
        for schema in objects(one["parameters"]):
            assert schema.keys() <= STRICT_WORDS, one["name"]
            if schema.get("type") == "object":
                assert schema["additionalProperties"] is False
                assert schema["required"] == list(schema["properties"])


def test_the_arguments_of_strict_mode_are_taken(open_kit, put):
    put({"a.txt": "one\n"})
    kit = open_kit()
    given = {"path": "a.txt", "offset": None, "limit": None, "encoding": None}
    assert given.keys() == one(kit, "read", "openai")["function"]["parameters"]["properties"].keys()
    assert kit.call("read", given).ok


def test_gemini_in_its_older_field(kit):
    for found in kit.definitions("gemini", strict=True):
        assert not any("additionalProperties" in schema for schema in objects(found["parameters"]))


def test_anthropic_strict_has_no_bounds(kit):
    found = next(d for d in kit.definitions("anthropic", strict=True) if d["name"] == "read")
    assert found["strict"] is True
    assert not any("minimum" in schema for schema in objects(found["input_schema"]))


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DATA = base64.b64encode(PNG).decode()


@pytest.fixture
def picture(put, monkeypatch):
    """An image that is not searched for text, which takes more than a second."""
    monkeypatch.setattr(converter, "available", lambda _format: False)
    put({"a.png": PNG})


def test_execute_keeps_images_for_chat_completions(open_kit, picture):
    calls = [
        {"id": "1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.png"}'}},
        {"id": "2", "type": "function", "function": {"name": "read", "arguments": '{"path": "gone"}'}},
    ]
    first, second, images = open_kit().execute(calls)
    assert (first["role"], first["tool_call_id"], second["tool_call_id"]) == ("tool", "1", "2")
    assert "gone" in second["content"]
    assert images["role"] == "user"
    assert images["content"][1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}


def test_execute_for_responses(open_kit, picture):
    calls = [{"type": "function_call", "call_id": "1", "name": "read", "arguments": '{"path": "a.png"}'}]
    [answer] = open_kit().execute(calls, format="responses")
    assert (answer["type"], answer["call_id"]) == ("function_call_output", "1")
    assert answer["output"][1] == {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"}


def test_execute_for_anthropic(open_kit, picture):
    calls = [
        {"type": "tool_use", "id": "1", "name": "read", "input": {"path": "a.png"}},
        {"type": "tool_use", "id": "2", "name": "read", "input": {"path": "gone"}},
    ]
    first, second = open_kit().execute(calls, format="anthropic")
    assert first["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": DATA}
    assert (first["is_error"], second["is_error"], second["tool_use_id"]) == (False, True, "2")


def test_execute_for_gemini(open_kit, picture):
    calls = [
        {"functionCall": {"id": "1", "name": "read", "args": {"path": "a.png"}}},
        {"name": "read", "args": {"path": "gone"}},
    ]
    first, second = (one["functionResponse"] for one in open_kit().execute(calls, format="gemini"))
    assert (first["id"], first["name"]) == ("1", "read")
    assert first["parts"] == [{"inlineData": {"mimeType": "image/png", "data": DATA}}]
    assert "gone" in second["response"]["error"]
    assert "id" not in second


def test_execute_knows_the_formats_of_calls(kit):
    with pytest.raises(ValueError, match="There is no format 'mcp'"):
        kit.execute([], format="mcp")
