"""Where symbols are defined and used in a tree."""

import pytest

from toolroll import ErrorCode, Suggestion, ToolError
from toolroll.tools.code.references import references

FILES = {
    "core.py": 'class Engine:\n    """Engine"""\n    def start(self):\n        return self.start\n',
    "a.py": "from core import Engine\n# Engine\nEngine().start()\nother.start()\n",
    "pkg/b.ts": 'import { Engine } from "./engine";\nclass Car extends Engine { run(e: Engine) { e.start("Engine"); } }\n',
    "README.md": "# Engine\n",
    "c.xyz": "Engine()\n",
    "d.py": "Engineer = 1\n",
}


def test_definitions_and_uses(ctx, put):
    put(FILES)
    found = references(ctx, "Engine")
    assert str(found) == (
        "1 definition of Engine\n"
        "core.py:1:7: class: class Engine:\n"
        "5 uses in 2 files\n"
        "a.py:1:18: import: from core import Engine\n"
        "a.py:3:1: call: Engine().start()\n"
        'pkg/b.ts:1:10: import: import { Engine } from "./engine";\n'
        'pkg/b.ts:2:19: inherit: class Car extends Engine { run(e: Engine) { e.start("Engine"); } }\n'
        'pkg/b.ts:2:35: type: class Car extends Engine { run(e: Engine) { e.start("Engine"); } }'
    )
    assert found.note == "(Looked at 3 files; not at: 1 .xyz, 1 Markdown.)"


def test_a_method_of_a_class(ctx, put):
    put(FILES)
    found = references(ctx, "Engine.start")
    assert [f"{one.path}:{one.line}:{one.kind}" for one in (*found.definitions, *found.uses)] == [
        "core.py:3:method",
        "a.py:3:call",
        "a.py:4:call",
        "core.py:4:attribute",
        "pkg/b.ts:2:call",
    ]
    assert found.note == "(3 of the uses are told by their name only.)"


def test_a_name_of_something_outside(ctx, put):
    put(
        {
            "a.py": "import os.path\nos.path.join(1)\n','.join(x)\n",
            "b.py": "from os.path import join\njoin(1)\n",
            "c.py": "def join(): pass\njoin()\n",
        }
    )
    found = references(ctx, "os.path.join")
    assert [f"{one.path}:{one.line}:{one.kind}" for one in (*found.definitions, *found.uses)] == [
        "a.py:2:call",
        "b.py:1:import",
        "b.py:2:call",
    ]


def test_a_limit_and_a_path(ctx, put):
    put(FILES)
    found = references(ctx, "Engine", "a.py", limit=1)
    assert [(one.path, one.line) for one in found.uses] == [("a.py", 1)]
    assert (found.total, found.note) == (2, "(1 of 2 uses shown (limit reached).)")


# Symbol, what is said, and the name that is tried next.
NOWHERE = [
    ("Engin", "(Searched 6 files. Did you mean 'Engine' or 'Engineer'?)", "Engine"),
    ("zebra", "(Searched 6 files.)", None),
    ("other.Engine.zebra", "(Searched 6 files.)", None),
]


@pytest.mark.parametrize(("symbol", "note", "near"), NOWHERE)
def test_a_symbol_that_is_nowhere(ctx, put, symbol, note, near):
    put(FILES)
    found = references(ctx, symbol)
    assert (str(found), found.note) == (f"{symbol} is neither defined nor used.", note)
    assert found.more == (Suggestion("references", {"symbol": near, "path": "."}) if near else None)


def test_a_word_that_is_no_symbol_here(ctx, put):
    put({"a.py": "# ghost\nx = 'ghost'\n", "b.md": "ghost\n"})
    found = references(ctx, "ghost")
    assert (str(found), found.note) == ("ghost is neither defined nor used.", "(Looked at 1 file; not at: 1 Markdown.)")


def test_what_is_no_name(ctx):
    with pytest.raises(ToolError, match="is no name of a symbol") as caught:
        references(ctx, "two words")
    assert caught.value.code == ErrorCode.VALIDATION


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_name_in_other_letters(ctx, put, encoding):
    put({"a.py": "class Café: ...\nCafé()\n".encode(encoding), "b.py": "x = 1\n"})
    found = references(ctx, "Café")
    assert [(one.line, one.kind) for one in (*found.definitions, *found.uses)] == [(1, "class"), (2, "call")]
