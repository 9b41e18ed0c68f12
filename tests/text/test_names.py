"""Names on one line, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import pytest

from toolroll.text.names import meant, named, shown

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
    assert shown(name) == said
    assert shown(said) == said
    assert said.isprintable()
    if "\\" not in name or name == "a\\n\nb":
        assert meant(said) == name


@pytest.mark.parametrize("path", ["C:\\new\\table", "a\\q", "x\\u12", "\\UFFFFFFFF", "\\", "a\\x41"])
def test_what_we_would_not_show_so_is_meant_as_it_is(path: str) -> None:
    assert meant(path) == path or shown(meant(path)) == path


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
    assert named(rows) == [Row("a\\nb", "c\nd"), Row("e", "f")]
    assert named([Pair("a\nb", "c\nd")]) == [Pair("a\\nb", "c\nd")]
    assert named(Packed(["x\ty"], tuple(rows))) == Packed(["x\\ty"], (Row("a\\nb", "c\nd"), Row("e", "f")))
    assert named({"a": Row("\x1b", "")}) == {"a": Row("\x1b", "")}  # what is no output
    same = [Row("a", "b\n")]
    assert named(same) is same
    assert named("a\nb") == "a\nb"
