"""Where a name in code is defined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.lsp.answers import Location
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text.positions import Positions
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Place:
    """A line of code. Of files outside the workspace only the line's number is known."""

    path: str
    line: int
    character: int
    text: str

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}:{self.character}: {self.text.strip()}"
            if self.text
            else f"{self.path}:{self.line}"
        )


@dataclass(frozen=True, slots=True)
class Defined:
    """Where a name is defined; several places for what is overloaded or declared more than once."""

    symbol: str
    places: list[Place]
    hint: str = ""

    def __str__(self) -> str:
        return "\n".join(map(str, self.places)) or f"No definition of {self.symbol!r} is known. {self.hint}"


@tool(Effect.READ, rare=True)
def definition(
    ctx: Context,
    path: Annotated[FilePath, "File that holds the name."],
    line: Annotated[int, Field(ge=1), "Its line, from 1."],
    character: Annotated[int, Field(ge=1), "Any character of the name in that line, from 1."],
    *,
    language: Annotated[str | None, "Take the file to be of this language."] = None,
) -> Defined:
    """Find where the name at a place in code is defined, by a language server."""
    document = ctx.files.peek(path)
    found = ctx.servers.definition(document.path, line, character, ctx.token, language).found
    places = Positions(document.text)
    hint = "" if found else places.hint(line)
    return Defined(places.word(line, character), [_place(ctx, one) for one in found], hint)


def _place(ctx: Context, one: Location) -> Place:
    text = _line(ctx, one) if one.inside else ""
    return Place(one.path, one.range.line, one.range.character, text)


def _line(ctx: Context, one: Location) -> str:
    try:
        text = ctx.files.at(".").peek(one.path).text
    except ToolError as error:
        if error.code in (ErrorCode.SECURITY, ErrorCode.PERMISSION, ErrorCode.TOO_LARGE, ErrorCode.UNSUPPORTED):
            return ""  # the place may be named, its text not shown
        raise
    return Positions(text).line(one.range.line)
