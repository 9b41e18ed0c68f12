"""The signature is the schema."""

import sys
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType
from typing import Annotated, Any, Literal, TypedDict

import pytest

from toolroll.schema import Field, FilePath, object_schema, parameters_of
from toolroll.schema.signature import schema_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: Annotated[int, "Down."] = 0


class Named(TypedDict, total=False):
    name: str


POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "description": "Down."}},
    "required": ["x"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (dict, {"type": "object"}),
        (str | None, {"type": "string"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (str | list[str], {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        (
            Annotated[int, Field(ge=1, le=9), "One."],
            {"type": "integer", "minimum": 1, "maximum": 9, "description": "One."},
        ),
        (Annotated[FilePath, "A file."], {"type": "string", "minLength": 1, "description": "A file."}),
        (Point, POINT),
        (list[Point], {"type": "array", "items": POINT}),
        (Named, object_schema({"name": {"type": "string"}}, ())),
    ],
)
def test_each_type_has_its_schema(hint, schema):
    assert schema_of(hint) == schema


@pytest.mark.parametrize("hint", [bytes, object(), complex])
def test_a_type_without_a_schema_is_refused(hint):
    with pytest.raises(TypeError, match="has no JSON Schema"):
        schema_of(hint)


@dataclass
class Tree:
    children: "list[Tree]"


def test_a_type_that_holds_itself_is_refused():
    with pytest.raises(TypeError, match="holds itself"):
        schema_of(Tree)


def test_parameters_carry_defaults_paths_and_whether_they_are_shown():
    def sample(ctx, path: FilePath, limit: int = 5, *, quiet: bool = False) -> None: ...
    def several(paths: tuple[FilePath, ...], others: list[FilePath] | None = None, words: list[str] = []) -> None: ...  # noqa: B006

    assert [one.path for one in parameters_of(several, skip=0)] == [True, True, False]
    path, limit, quiet = parameters_of(sample, skip=1)
    assert (path.required, path.path, path.shown) == (True, True, True)
    assert (limit.required, limit.default, limit.schema) == (False, 5, {"type": "integer", "default": 5})
    assert (quiet.shown, quiet.default) == (False, False)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(a): ...", "'a' needs a type"),
        ("def f(*a: int): ...", "names its parameters"),
        ("def f(**a: int): ...", "names its parameters"),
    ],
)
def test_a_signature_that_says_too_little_is_refused(source, message):
    names: dict[str, Any] = {}
    exec(source, names)
    with pytest.raises(TypeError, match=message):
        parameters_of(names["f"], skip=0)


def test_types_of_the_function_that_makes_a_tool_are_found_where_annotations_are_postponed():
    source = """
from __future__ import annotations
from dataclasses import dataclass
from toolroll import tool

def make():
    @dataclass
    class Inner:
        x: int

    @tool
    def take(one: Inner) -> str:
        "Takes one."
        return str(one.x)

    return take

def fail():
    @tool
    def take(one: Unknown) -> str:
        "Takes one."
        return ""
"""
    made = vars(sys.modules.setdefault("made", ModuleType("made")))
    exec(compile(source, "made.py", "exec"), made)
    assert made["make"]().parameters[0].schema["properties"] == {"x": {"type": "integer"}}
    with pytest.raises(TypeError, match="take: the type 'Unknown' is not known where the tool is made"):
        made["fail"]()
