"""Names on one line, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import pytest

from toolroll.text.names import parse_shown, show_name, show_names

NAMES = [
    ("plain.py", "plain.py"),
    ("with space", "with space"),
    ("żółw/été.txt", "żółw/été.txt"),
    ("back\\slash", "back\\slash"),
    ("a\nb", "a\\nb"),
    ("a\\n\nb", "a\\\\n\\nb"),
    ("e\x1b[2J", "e\\x1b[2J"),
    ("bidi\u202egnp", "bidi\\u202egnp"),
    ("zero\u200bwidth", "zero\\u200bwidth"),
    ("tab\t\r", "tab\\t\\r"),
    ("back\\slash/a\nb", "back\\slash/a\\nb"),
    ("\u2028line", "\\u2028line"),
    ("\U000e0041tag", "\\U000e0041tag"),
]


@pytest.mark.parametrize(("name", "said"), NAMES)
def test_what_is_shown_can_be_given_back(name: str, said: str) -> None:
    assert show_name(name) == said
    assert show_name(said) == said
    assert said.isprintable()
    if "\\" not in name or name == "a\\n\nb":
        assert parse_shown(said) == name


@pytest.mark.parametrize("path", ["C:\\new\\table", "a\\q", "x\\u12", "\\UFFFFFFFF", "\\", "a\\x41"])
def test_what_we_would_not_show_so_is_meant_as_it_is(path: str) -> None:
    assert parse_shown(path) == path or show_name(parse_shown(path)) == path


@dataclass(frozen=True, slots=True)
class Row:
    path: str
    text: str


class Pair(NamedTuple):
    path: str
    text: str


class Packed(msgspec.Struct, frozen=True):
    paths: list[str]
    rows: tuple[Row, ...] = ()


def test_outputs() -> None:
    rows = [Row("a\nb", "c\nd"), Row("e", "f")]
    assert show_names(rows) == [Row("a\\nb", "c\nd"), Row("e", "f")]
    assert show_names([Pair("a\nb", "c\nd")]) == [Pair("a\\nb", "c\nd")]
    assert show_names(Packed(["x\ty"], tuple(rows))) == Packed(["x\\ty"], (Row("a\\nb", "c\nd"), Row("e", "f")))
    assert show_names({"a": Row("\x1b", "")}) == {"a": Row("\x1b", "")}  # what is no output
    same = [Row("a", "b\n")]
    assert show_names(same) is same
    assert show_names("a\nb") == "a\nb"
