"""The walk over Python's statements against the query that looks at every node."""

import sysconfig
from pathlib import Path

import pytest
import tree_sitter

from toolroll.text.code.syntax import captures as captured
from toolroll.text.code.syntax import languages, statements
from toolroll.text.code.syntax.definitions import Definitions
from toolroll.text.code.syntax.model import Head
from toolroll.text.code.syntax.source import Source
from toolroll.text.code.syntax.spans import Bare
from toolroll.text.code.syntax.tags import definitions

PYTHON = languages.LANGUAGES["python"]
ROOT = Path(__file__).parents[4]
STDLIB = Path(sysconfig.get_path("stdlib"))
OWN = sorted((ROOT / "src").rglob("*.py"))[::12]
OTHERS = [STDLIB / name for name in ("typing.py", "dataclasses.py", "tarfile.py", "test/test_grammar.py", "ssl.py")]

TRICKY = '''\
from __future__ import annotations  # first
import a, b.c as d
from . import (  # some
    e,
    f,
)
from ..g import *
one = two = 1
three, four, (five, six), *seven = range(9)
(eight, nine) = 1, 2
ten: int = 10
eleven.twelve = thirteen[0] = 1
urls = [
    "a#b",  # no comment in the text
    # a comment alone
]
type Alias = list[int]
type Generic[T] = list[T]
@first  # why
# between
@second("#", [
    1,  # inner
])
async def decorated(
    x,  # the x
    *, y: int = 1,
) -> dict[str, int]:  # after
    # the last word of the head
    """Text."""
    inner = 1
    def nested(): import h; return h
    # the end of the body

# not of the body
class Outer(Base, metaclass=Meta):  # comment

    CONSTANT = 1; other = 2
    left, right = 1, 2
    @property
    def method(self): ...  # trailing
    if CONSTANT:
        hidden = 1
        def branch(self): pass
    class Inner:
        value: int
        set_value: int = 1
try:
    import i
except ImportError:
    def fallback(): ...
except* ValueError:
    class Starred: ...
else:
    def otherwise(): ...
finally:
    def finally_(): ...
for x in y:
    def looped(): ...
else:
    def unlooped(): ...
while x:
    def whiled(): ...
with x as z, y:
    def managed(): ...
match x:
    case 1:
        def matched(): ...
    case _:
        class Unmatched: ...
if x:
    pass
elif y:
    import j
else:
    def last(): ...
    # the end
def quiet(): return 1  # beside
def aliased():
    if x:
        type Within = int
    return type (x)
def commented():
    if x:
        return "#"
        # at the end

        # and after it
def quoted():
    return """
    # no comment"""
def importing():
    from k import(m)
def lazy(): x; import l
'''


def tree(source):
    return languages.parser("python").parse(source).root_node


def by_query(source):
    found = tree_sitter.QueryCursor(languages.query_without("python", "text", "ref.")).captures(tree(source))
    where = Source(source, [node.byte_range for node in found.get("comment", ())])
    return Definitions(PYTHON, where, captured.read(where, found)).tags()


def by_walk(source):
    return list(Bare(Head("python", 0, 0, False), *statements.read(source, tree(source))).definitions)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_walk_finds_what_the_query_finds(end):
    source = TRICKY.replace("\n", end).encode()
    assert not tree(source).has_error
    found = by_walk(source)
    assert found == by_query(source)
    assert {tag.name for tag in found} >= {"fallback", "Starred", "finally_", "unlooped", "Unmatched", "nested", "four"}
    assert {tag.name for tag in found} >= {"Within", "k", "l"}


@pytest.mark.parametrize("path", [*OWN, *(path for path in OTHERS if path.exists())], ids=lambda path: path.name)
def test_it_does_so_in_real_sources(path):
    source = path.read_bytes()
    if not tree(source).has_error:
        assert by_walk(source) == by_query(source)


def test_every_part_of_a_source_that_still_parses_gives_the_same():
    lines = TRICKY.splitlines(keepends=True)
    parts = ["".join(lines[:at]).encode() for at in range(len(lines))] + [
        "".join(lines[at:]).encode() for at in range(len(lines))
    ]
    whole = [part for part in parts if not tree(part).has_error]
    assert len(whole) > len(lines)
    for part in whole:
        assert by_walk(part) == by_query(part)


def test_what_does_not_parse_is_left_to_the_query():
    source = b"def fine(): ...\n\nclass Broken(:\n    def within(self): ...\n"
    assert tree(source).has_error
    assert list(definitions("python", source).definitions) == by_query(source)
    assert definitions("python", source).broken == 3


def test_deep_nesting_takes_no_stack():
    source = "".join(f"{' ' * depth}if x:\n" for depth in range(90)) + " " * 90 + "def deep(): ...\n"
    assert [(tag.name, tag.line) for tag in by_walk(source.encode())] == [("deep", 91)]
