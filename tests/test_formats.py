"""Definitions and calls in the shapes of the providers."""

import base64

import pytest

from toolroll import Image, Result, formats

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
    with pytest.raises(ValueError, match="openai, anthropic, gemini, mcp"):
        kit.definitions("xml")


def test_an_mcp_result_has_text_image_and_structure():
    result = Result("success", "a picture", data={"x": 1}, images=(Image(b"png", "image/png"),))
    assert formats.mcp_result(result) == {
        "content": [
            {"type": "text", "text": "a picture"},
            {"type": "image", "data": base64.b64encode(b"png").decode(), "mimeType": "image/png"},
        ],
        "isError": False,
        "structuredContent": {"x": 1},
    }
