"""What a name in code is: its type and its documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.lsp.answers import Location, Range
from toolroll.host.lsp.servers import language_of
from toolroll.result import Looked
from toolroll.schema import Field, FilePath
from toolroll.text import lines
from toolroll.text.code.syntax.resolution import DefinedSymbol
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
    note: str = ""
    looked: Looked | None = field(default=None, compare=False)

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
            return f"No symbol at line {self.line}, character {self.character} of {self.path}. {self.hint}"
        where = "".join(f"\nDefined in {one.path}:{one.range.line}." for one in self.definition)
        return "\n".join(filter(None, [self.markdown + where, self.context]))


@tool(Effect.READ, rare=True)
def hover(
    ctx: Context,
    symbol: Annotated[str | None, Field(min_length=1, max_length=500), "Name, such as parse or Parser.parse."] = None,
    path: Annotated[FilePath | None, "File or folder that has it."] = None,
    line: Annotated[int | None, Field(ge=1), "A line of the file that has it."] = None,
    character: Annotated[int | None, Field(ge=1), "Any character of the name in that line."] = None,
    *,
    definition: Annotated[bool, "Tell where it is defined too."] = False,
    context: Annotated[int, Field(ge=0), "Lines to show around it."] = 0,
    language: Annotated[str | None, "Take the file to be of this language."] = None,
    span: Annotated[bool, "Tell which characters the name has."] = True,
    first: Annotated[int, "What the first character of a line is counted as in errors."] = 1,
) -> About:
    """Tell the type and documentation of a symbol, by its name or by a line that has it."""
    lookup = ctx.lookup
    if character is not None and path is not None and line is not None:  # errors count characters from `first`
        Positions(ctx.files.peek(path).text).offset(line, character, first)
    target = lookup.locate("hover", symbol, path, line, character)
    text = ctx.files.at(".").peek(target.path).text
    place = (target.path, target.line, target.character)
    found, failed = lookup.ask(lambda token: ctx.servers.hover(*place, token, language))
    defined = []
    if definition and found:
        defined = lookup.ask(lambda token: ctx.servers.definition(*place, token, language).found)[0] or []
    known = lookup.define_by_name(target)[:1] if failed else []
    if failed and not known:
        raise failed
    return About(
        path=target.path,
        line=target.line,
        character=target.character,
        symbol=target.name,
        markdown=clean(found.markdown) if found else "".join(map(_signature, known)),
        range=found.range if found and span else None,
        definition=defined,
        context=lines.show_around(text, target.line, context) if context else "",
        language=language or language_of(target.path) or "",
        hint="" if found else Positions(text).hint(target.line, first),
        note=f"(By syntax: {failed.message})" if failed else "",
        looked=lookup.looked("its line"),
    )


def _signature(one: DefinedSymbol) -> str:
    """What syntax tells of a definition."""
    return f"```{one.tags.language}\n{one.tag.text}\n```\n\nDefined in {one.path}:{one.tag.name_line}."


def clean(markdown: str) -> str:
    """The text without what only an editor can use: rules, commands as links, escapes; code stays as it is."""
    pieces = _FENCE.split(markdown.replace("\r\n", "\n"))
    plain = (piece if piece.startswith("```") else _plain(piece) for piece in pieces)
    return _BLANK.sub("\n\n", "".join(plain)).strip()


def _plain(text: str) -> str:
    import html

    text = _LINK.sub(r"\1", _RULE.sub("", text))
    return html.unescape(_ESCAPED.sub(r"\1", text)).replace("\N{NO-BREAK SPACE}", " ")
