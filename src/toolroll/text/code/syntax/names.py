"""Names as sources write them: quoted, with what they are in, with arguments of templates."""

from __future__ import annotations

import re

from toolroll.text.code.syntax.source import text

QUOTES = "\"'`<>"

_NAME = 200
_ARGUMENTS = re.compile(r"<[^<>]*>")
_OPERATOR = re.compile(r"\boperator\b")
_CAST = re.compile(r"operator\s+\w[^(]*")
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1).)*)\1""")


def name_of(data: bytes, start: int, end: int) -> str:
    """A name as it is kept, however long it is."""
    return text(data[start : min(end, start + _NAME)])


def plain(name: str) -> str:
    """A name on one line."""
    return " ".join(name.split()) if not name.isidentifier() else name


def unquoted(name: str) -> str:
    """A key without the quotes around it; those around a part of it stay."""
    return found[2] if (found := _QUOTED.fullmatch(name)) else name


def scoped(name: str) -> tuple[str, str]:
    """What stands before the last `::` of a name, and what after it."""
    operator = _OPERATOR.search(name)
    cut = bare(name[: operator.start()] if operator else name, "_").rfind("::")
    above, last = ("", name) if cut < 0 else (name[:cut], name[cut + 2 :])
    if operator is None:
        return above, last.partition("<")[0] or last
    return above, found[0].strip() if (found := _CAST.match(last)) else last


def bare(name: str, filler: str = "") -> str:
    """A name without the arguments of templates, or with as many fillers."""
    while (shorter := _ARGUMENTS.sub(lambda found: filler * len(found[0]), name)) != name:
        name = shorter
    return name
