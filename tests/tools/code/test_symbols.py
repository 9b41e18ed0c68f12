"""Symbols of a tree by kind and name, and code by a pattern."""

import pytest

from toolroll import ErrorCode, Kit, ToolError
from toolroll.tools.code.symbols import symbols

FILES = {
    ".gitignore": "built/\n",
    "built/m.py": "class Built: pass\n",
    "m.py": (
        "import os\nfrom json import dumps\n\nclass Base:\n    pass\n\nclass Child(Base):\n    @property\n"
        "    def size(self):\n        return len(os.listdir('.'))\n\ndef helper(a, b=1):\n    return dumps(a)\n"
    ),
    "web/a.ts": 'import { dumps } from "./json";\nexport class Page extends Base { draw() { dumps(1); } }\n',
    "a.xyz": "class Unknown\n",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """One kit for all that only look, so that one process parses for them."""
    top = tmp_path_factory.mktemp("symbols")
    for name, text in FILES.items():
        (top / "ws" / name).parent.mkdir(parents=True, exist_ok=True)
        (top / "ws" / name).write_text(text)
    with Kit(top / "ws", state_dir=top / "state") as kit:
        yield kit


@pytest.fixture
def looking(filled):
    return filled.context()


# Arguments, and the rows.
ROWS = [
    ({"kind": "classes"}, ["m.py:4: class Base", "m.py:7: class Child(Base)", "web/a.ts:2: class Page extends Base"]),
    (
        {"kind": "functions"},
        ["m.py:9: def size(self)  (in Child)", "m.py:12: def helper(a, b=1)", "web/a.ts:2: draw()  (in Page)"],
    ),
    (
        {"kind": "imports"},
        ["m.py:1: import os", "m.py:2: from json import dumps", 'web/a.ts:1: import { dumps } from "./json"'],
    ),
    ({"kind": "imports", "path": "m.py", "name": "json"}, ["m.py:2: from json import dumps"]),
    (
        {"kind": "calls", "name": "dumps"},
        [
            "m.py:13: dumps: return dumps(a)  (in helper)",
            "web/a.ts:2: dumps: export class Page extends Base { draw() { dumps(1); } }  (in Page.draw)",
        ],
    ),
    ({"kind": "calls", "name": "os.listdir"}, ["m.py:10: os.listdir: return len(os.listdir('.'))  (in Child.size)"]),
    ({"kind": "decorators"}, ["m.py:8: @property  (on Child.size)"]),
    ({"name": "Child.size"}, ["m.py:9: def size(self)  (in Child)"]),
    ({"name": "*a*e", "path": "web"}, ["web/a.ts:2: class Page extends Base"]),
    ({"pattern": "dumps($A)"}, ["m.py:13: dumps(a)", "web/a.ts:2: dumps(1)"]),
    ({"pattern": "def $F(): $$$BODY"}, []),
    (
        {"pattern": "def $F($$$ARGS): $$$BODY", "path": "m.py"},
        ["m.py:9: def size(self): return len(os.listdir('.'))", "m.py:12: def helper(a, b=1): return dumps(a)"],
    ),
    ({"pattern": "class $A", "path": "built"}, ["built/m.py:1: class Built: pass"]),
]


@pytest.mark.parametrize(("arguments", "expected"), ROWS, ids=str)
def test_rows(looking, arguments, expected):
    found = symbols(looking, **arguments)
    assert str(found) == ("\n".join(expected) or "Nothing found.")
    assert found.total == len(expected)


def test_a_limit(looking):
    found = symbols(looking, "classes", limit=2)
    assert (str(found), found.note) == (
        "m.py:4: class Base\nm.py:7: class Child(Base)",
        "(2 of 3 in 2 files shown (limit reached).)",
    )
    assert found.whole().endswith("web/a.ts:2: class Page extends Base")


# Arguments, and what is said when there is nothing.
NOTHING = [
    ({"name": "helpr"}, "(Searched 3 files; not searched: 1 hidden, 1 ignored. Did you mean 'helper'?)"),
    ({"kind": "classes", "name": "helper"}, "(Looked at 1 file.)"),
    ({"kind": "variables"}, "(Looked at 2 files.)"),
    ({"pattern": "nowhere($A)"}, "(Searched 3 files; not searched: 1 hidden, 1 ignored.)"),
    ({"name": "Unknown"}, "(Looked at 0 files; not at: 1 .xyz.)"),
]


@pytest.mark.parametrize(("arguments", "note"), NOTHING, ids=str)
def test_nothing(looking, arguments, note):
    found = symbols(looking, **arguments)
    assert (str(found), found.note, found.rows) == ("Nothing found.", note, [])


def test_files_that_were_not_looked_at_are_told(ctx, put):
    put({"a.py": "class A: pass\n", "big.py": b"#" * (2 << 20) + b"\n", "hard.yaml": b"- " * 20_000})
    assert symbols(ctx, "classes").note == "(Looked at 1 file; not at: 1 too hard to parse, 1 too large.)"


def test_a_pattern_that_cannot_be_read(looking):
    with pytest.raises(ToolError, match="cannot be read") as caught:
        symbols(looking, pattern="$$$")
    assert caught.value.code == ErrorCode.VALIDATION
