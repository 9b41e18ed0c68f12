"""Names as sources write them: quoted, with their scope, with arguments of templates."""

from __future__ import annotations

import re

from toolroll.text.code.syntax.source import text

QUOTES = "\"'`<>"

_NAME_BYTES = 200
_ARGUMENTS = re.compile(r"<[^<>]*>")
_OPERATOR = re.compile(r"\boperator\b")
_CAST = re.compile(r"operator\s+\w[^(]*")
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1).)*)\1""")


def name_of(data: bytes, start: int, end: int) -> str:
    """The name between two bytes, cut if it is long."""
    return text(data[start : min(end, start + _NAME_BYTES)])


def on_one_line(name: str) -> str:
    """A name on one line."""
    return " ".join(name.split()) if not name.isidentifier() else name


def unquoted(name: str) -> str:
    """A key without the quotes around it; those around a part of it stay."""
    return found[2] if (found := _QUOTED.fullmatch(name)) else name


def split_scope(name: str) -> tuple[str, str]:
    """What stands before the last `::` of a name, and what after it."""
    operator = _OPERATOR.search(name)
    cut = without_arguments(name[: operator.start()] if operator else name, "_").rfind("::")
    above, last = ("", name) if cut < 0 else (name[:cut], name[cut + 2 :])
    if operator is None:
        return above, last.partition("<")[0] or last
    return above, found[0].strip() if (found := _CAST.match(last)) else last


def without_arguments(name: str, filler: str = "") -> str:
    """A name without the arguments of templates, or with a filler for each of their characters."""
    while (shorter := _ARGUMENTS.sub(lambda found: filler * len(found[0]), name)) != name:
        name = shorter
    return name
