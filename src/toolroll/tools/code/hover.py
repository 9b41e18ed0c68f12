"""What a name in code is: its type and its documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.lsp.answers import Location, Range
from toolroll.host.lsp.servers import language_of
from toolroll.schema import Field, FilePath
from toolroll.text import lines
from toolroll.text.positions import Positions
from toolroll.tool import Effect, tool

_FENCE = re.compile(r"(```.*?(?:```|\Z))", re.DOTALL)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]\n]+)\]\((?:command|file|vscode)[^)\n]*\)")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+\-.!<>|~])")
_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True, slots=True)
class About:
    """What stands at a place, as Markdown. It is empty when the server has nothing to tell."""

    path: str
    line: int
    character: int
    symbol: str
    markdown: str
    range: Range | None
    definition: list[Location]
    context: str
    language: str
    hint: str = ""
    """When there is nothing to tell: which words the line has."""

    @property
    def position(self) -> dict[str, int]:
        return {"line": self.line, "character": self.character}

    @property
    def signature(self) -> str:
        """The first piece of code in the text: what the name is declared as."""
        found = _FENCE.search(self.markdown)
        return "\n".join(found[0].splitlines()[1:-1]) if found else ""

    def __str__(self) -> str:
        if not self.markdown:
            return f"Nothing is known of line {self.line}, character {self.character} of {self.path}. {self.hint}"
        where = "".join(f"\nDefined in {one.path}:{one.range.line}." for one in self.definition)
        return "\n".join(filter(None, [self.markdown + where, self.context]))


@tool(Effect.READ, rare=True)
def hover(
    ctx: Context,
    path: Annotated[FilePath, "File that holds the name."],
    line: Annotated[int, Field(ge=1), "Its line, from 1."],
    character: Annotated[int, Field(ge=1), "Any character of the name in that line, from 1."],
    *,
    definition: Annotated[bool, "Tell where it is defined too."] = False,
    context: Annotated[int, Field(ge=0), "Lines to show around it."] = 0,
    language: Annotated[str | None, "Take the file to be of this language."] = None,
    span: Annotated[bool, "Tell which characters the name has."] = True,
    first: Annotated[int, "What the first character of a line is counted as in errors."] = 1,
) -> About:
    """Tell the type and documentation of the name at a place in code, by a language server."""
    document = ctx.files.peek(path)
    places = Positions(document.text)
    places.offset(line, character, first)
    place = (document.path, line, character, ctx.token, language)
    found = ctx.servers.hover(*place)
    return About(
        path=document.path,
        line=line,
        character=character,
        symbol=places.word(line, character),
        markdown=clean(found.markdown) if found else "",
        range=found.range if found and span else None,
        definition=ctx.servers.definition(*place).found if definition and found else [],
        context=_around(document.text, line, context) if context else "",
        language=language or language_of(document.path) or "",
        hint="" if found else places.hint(line, first),
    )


def clean(markdown: str) -> str:
    """The text without what only an editor can use: rules, commands as links, escapes; code stays as it is."""
    pieces = _FENCE.split(markdown.replace("\r\n", "\n"))
    plain = (piece if piece.startswith("```") else _plain(piece) for piece in pieces)
    return _BLANK.sub("\n\n", "".join(plain)).strip()


def _plain(text: str) -> str:
    import html

    text = _LINK.sub(r"\1", _RULE.sub("", text))
    return html.unescape(_ESCAPED.sub(r"\1", text)).replace("\N{NO-BREAK SPACE}", " ")


def _around(text: str, line: int, count: int) -> str:
    every = lines.split_bare(text)
    shown = range(max(1, line - count), min(len(every), line + count) + 1)
    return "\n".join(f"{'>' if at == line else ' '} {at}: {every[at - 1]}" for at in shown)
