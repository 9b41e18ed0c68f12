"""Definitions that are known by their places: whatever is asked, it is as if all of them had been read at once."""

import sysconfig
from pathlib import Path

import pytest

from toolroll.text.code.syntax import spans as bare
from toolroll.text.code.syntax.model import KINDS, Tags
from toolroll.text.code.syntax.spans import Bare
from toolroll.text.code.syntax.tags import definitions

STDLIB = Path(sysconfig.get_path("stdlib"))
SOURCE = """\
import os  # why
@first
@second("#", [
    1,  # inner
])
class Größe(Base):  # comment
    LIMIT = 1
    name: str = "é"

    @property
    def method(self): ...

    class Inner:
        def method(self):
            from os import path
            return path
            # the end
type Alias = int
LIMIT, other = 1, 2
if LIMIT:
    @first
    def branch():
        def nested(): ...
"""


def sources():
    yield SOURCE
    for name in ("typing.py", "dataclasses.py", "tarfile.py", "ssl.py"):
        if (STDLIB / name).exists():
            yield (STDLIB / name).read_text("utf-8")


def seen(source: str) -> Bare:
    made = definitions("python", source.encode())
    assert isinstance(made, Bare)
    return made


@pytest.mark.parametrize("source", [*sources()], ids=len)
def test_the_upper_ones_and_those_of_a_kind_are_those_among_all(source):
    every = Tags(seen(source).head, seen(source).definitions)
    assert seen(source).upper == every.upper
    assert seen(source).sketch == every.sketch
    for kinds in (*({kind} for kind in KINDS), {"function", "method"}, {"class", "constant"}, set(KINDS)):
        assert seen(source).of(kinds) == every.of(kinds)


@pytest.mark.parametrize("source", [*sources()], ids=len)
def test_what_is_packed_says_the_same_of_the_same_source(source):
    made = seen(source)
    again = bare.unpack(made.head, source.encode(), *bare.pack(made))
    assert again.definitions == made.definitions
    assert again.upper == made.upper


def test_what_they_say():
    assert [(tag.kind, tag.path, tag.decorators) for tag in seen(SOURCE).definitions if tag.kind != "decorator"] == [
        ("import", "os", ()),
        ("class", "Größe", ("first", 'second("#", [1])')),
        ("constant", "Größe.LIMIT", ()),
        ("variable", "Größe.name", ()),
        ("method", "Größe.method", ("property",)),
        ("class", "Größe.Inner", ()),
        ("method", "Größe.Inner.method", ()),
        ("import", "Größe.Inner.method.os", ()),
        ("type", "Alias", ()),
        ("constant", "LIMIT", ()),
        ("variable", "other", ()),
        ("function", "branch", ("first",)),
        ("function", "branch.nested", ()),
    ]
    assert [tag.name for tag in seen(SOURCE).upper] == ["Größe", "Alias", "LIMIT", "other", "branch"]
    assert [tag.parent for tag in seen(SOURCE).of({"decorator"})] == ["Größe", "Größe", "Größe.method", "branch"]


def test_what_does_not_parse_is_read_at_once():
    assert not isinstance(definitions("python", b"class Broken(:\n"), Bare)
