"""A tool is a decorated, typed function."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from toolroll import Context, Effect, FilePath, Tool, ToolError, tool


@dataclass
class Box:
    width: int
    name: str = "box"


@tool(Effect.READ | Effect.WRITE)
def sample(ctx: Context, path: FilePath, count: Annotated[int, "How many."] = 2, *, loud: bool = False) -> str:
    """Do a thing.

    In more words.
    """
    return f"{path} {count} {loud}"


def test_the_signature_is_the_schema():
    assert sample.schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "count": {"type": "integer", "description": "How many.", "default": 2},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert (sample.name, sample.description) == ("sample", "Do a thing.\n\nIn more words.")
    assert (sample.effects, sample.safe, sample.paths) == (Effect.READ | Effect.WRITE, False, ("path",))


def test_a_tool_is_still_a_function():
    assert sample(None, "a", count=3) == "a 3 False"


def test_the_bare_decorator_declares_every_effect():
    @tool
    def pure(x: int) -> int:
        """Double."""
        return 2 * x

    assert isinstance(pure, Tool)
    assert (pure.effects, pure.safe, pure.takes_context, pure(4)) == (~Effect.NONE, False, False, 8)
    assert tool(name="other", category="mine")(pure.function).effects == ~Effect.NONE
    assert tool(Effect.NONE)(pure.function).safe


def test_checked_values_become_the_declared_types():
    @tool
    def area(box: Box, many: int, names: tuple[str, ...] = ()) -> str:
        """Area."""
        return f"{box!r} {many!r} {names!r}"

    given = {"box": {"width": 2}, "many": 3.0, "names": ["a"]}
    assert area.run(None, given) == "Box(width=2, name='box') 3 ('a',)"


def test_a_value_that_only_the_type_refuses_is_named():
    @tool
    def wide(box: Box) -> str:
        """Wide."""
        return ""

    with pytest.raises(ToolError, match="`box`"):
        wide.run(None, {"box": {"width": "x"}})


def test_a_tool_needs_a_docstring():
    with pytest.raises(TypeError, match="docstring"):
        tool(lambda: None)
