"""Where a name in code is defined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.lsp.answers import Location
from toolroll.result import ErrorCode, Looked, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text.code.syntax.resolution import DefinedSymbol
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
    note: str = ""
    looked: Looked | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "\n".join(map(str, self.places)) or f"No definition of {self.symbol!r} is known. {self.hint}"


@tool(Effect.READ, rare=True)
def definition(
    ctx: Context,
    symbol: Annotated[str | None, Field(min_length=1, max_length=500), "Name, such as parse or Parser.parse."] = None,
    path: Annotated[FilePath | None, "File or folder that has it."] = None,
    line: Annotated[int | None, Field(ge=1), "A line of the file that has it."] = None,
    character: Annotated[int | None, Field(ge=1), "Any character of the name in that line."] = None,
    *,
    language: Annotated[str | None, "Take the file to be of this language."] = None,
) -> Defined:
    """Go to a definition, by name or by a line that has the name."""
    lookup = ctx.lookup
    if symbol is not None and line is None and (known := lookup.definitions(symbol, path or ".")):
        return Defined(symbol, [_defined(one) for one in known], looked=lookup.looked("its name"))
    target = lookup.locate("definition", symbol, path, line, character)
    place = (target.path, target.line, target.character)
    found, failed = lookup.ask(lambda token: ctx.servers.definition(*place, token, language).found)
    if failed is not None:
        if not (known := lookup.define_by_name(target)):
            raise failed
        places, note = [_defined(one) for one in known], f"(By name: {failed.message})"
        return Defined(target.name, places, note=note, looked=lookup.looked("its name"))
    found = found or []
    hint = "" if found else Positions(lookup.text(target.path)).hint(target.line)
    return Defined(target.name, [_place(ctx, one) for one in found], hint, looked=lookup.looked("its line"))


def _defined(one: DefinedSymbol) -> Place:
    return Place(one.path, one.tag.name_line, one.tag.column, one.tag.text)


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
