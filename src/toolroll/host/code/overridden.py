"""Find methods outside the workspace that a method overrides: they keep their names when it is renamed."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.syntax.resolution import family
from toolroll.text.positions import Positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolroll.host.code.symbol_lookup import SymbolLookup
    from toolroll.host.lsp.answers import Location
    from toolroll.text.code.syntax.resolution import DefinedSymbol

_MAX_ASKED = 10


def check_overridden(lookup: SymbolLookup, methods: Sequence[DefinedSymbol]) -> list[str]:
    """Raise ToolError if one of these methods overrides a known one outside; else warn of what may be overridden."""
    warnings = []
    for one in methods[:_MAX_ASKED]:
        kind, name = family(one.tags.language), one.tag.name
        found = _ask_server(lookup, one, kind)
        outside = [f"{at.path.rpartition('/')[2]}:{at.range.line}" for at in found or () if not at.inside]
        if outside and kind != "go":
            raise ToolError(
                ErrorCode.CONFLICT,
                f"{one.tag.path!r} overrides {name!r} of a class outside the workspace, in {outside[0]}, which would "
                "keep its name. Nothing was renamed.",
            )
        if outside:
            warnings.append(f"({one.tag.path!r} implements an interface outside the workspace, in {outside[0]}.)")
        elif found is None and (bases := _unknown_bases(lookup, one)):
            warnings.append(f"({', '.join(bases)}, outside the workspace, may have a {name!r} that this overrides.)")
    return warnings


def _ask_server(lookup: SymbolLookup, one: DefinedSymbol, kind: str) -> Sequence[Location] | None:
    """What a method overrides; None if no server tells."""
    if kind == "go" and one.owner is not None and one.owner.kind != "interface":
        place = (one.path, one.tag.name_line, one.tag.column)
        return lookup.ask(lambda token: lookup.servers.implementation(*place, token).found)[0]
    probes = _make_probes(lookup.text(one.path), one, kind)
    found = [lookup.ask(partial(lookup.servers.definition_in, one.path, *probe))[0] for probe in probes]
    known = [places for places in found if places is not None]
    return [place for places in known for place in places] if known else None


def _make_probes(text: str, one: DefinedSymbol, kind: str) -> Iterator[tuple[str, int]]:
    """Texts in which a line before the method asks a base for its name, and where it does."""
    start = Positions(text).offset(one.tag.line, 1)
    indent = text[start:].partition(text[start:].lstrip(" \t"))[0]
    lines = ["_probe() { return super."] if kind == "script" else []
    if kind == "python" and one.owner is not None:
        lines = [f"_probe = {base}." for base in _python_bases(text, one.owner.line, one.owner.end_line)]
    for line in lines:
        before = f"{text[:start]}{indent}{line}"
        end = "; }" if kind == "script" else ""
        yield f"{before}{one.tag.name}{end}\n{text[start:]}", len(before)


def _python_bases(text: str, first: int, last: int) -> list[str]:
    """The bases of a class as they are written, without type parameters."""
    import ast
    import textwrap

    try:
        made = ast.parse(textwrap.dedent("\n".join(text.split("\n")[first - 1 : last]))).body[0]
    except (SyntaxError, IndexError):
        return []
    bases = made.bases if isinstance(made, ast.ClassDef) else []
    return [ast.unparse(one.value if isinstance(one, ast.Subscript) else one) for one in bases]


def _unknown_bases(lookup: SymbolLookup, one: DefinedSymbol) -> list[str]:
    """The bases of a class, by its header, that the workspace does not define."""
    owner = one.owner
    if owner is None:
        return []
    words = re.findall(r"\b[A-Z]\w*", owner.signature.partition(owner.name)[2])
    return [word for word in dict.fromkeys(words) if not lookup.definitions(word)]
