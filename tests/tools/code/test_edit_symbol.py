"""Definitions replaced, moved and deleted, and code put beside them."""

import sys
from pathlib import Path

import pytest

from toolroll.result import ErrorCode, ToolError
from toolroll.tools.code.edit_symbol import edit_symbol

needs_ty = pytest.mark.skipif(not (Path(sys.executable).parent / "ty").exists(), reason="ty is not installed")

SOURCE = """\
import os


# About f.
@cache
def f(a):
    return a


class C:
    def m(self):
        return 1

    def n(self):
        return f(2)
"""


def files(ws):
    return {str(path.relative_to(ws)): path.read_text() for path in ws.rglob("*.*") if path.is_file()}


# Action, symbol, text, and the lines of the file around it afterwards.
EDITS = [
    ("replace", "f", "def f(a, b):\n    return a + b", "# About f.\n@cache\ndef f(a, b):\n    return a + b\n\n\nclass C"),
    ("replace", "f", "@other\ndef f(a): ...\n", "# About f.\n@other\ndef f(a): ...\n\n\nclass C"),
    ("replace", "f", "# New.\ndef f(a): ...\n", "import os\n\n\n# New.\ndef f(a): ...\n\n\nclass C"),
    ("replace", "C.m", "def m(self):\n    if 1:\n        return 2", "class C:\n    def m(self):\n        if 1:\n            return 2\n\n    def n"),
    ("insert_before", "f", "def e(): ...", "import os\n\n\ndef e(): ...\n\n\n# About f.\n@cache"),
    ("insert_after", "f", "def g(): ...", "    return a\n\n\ndef g(): ...\n\n\nclass C"),
    ("insert_before", "C.n", "def k(self): ...", "        return 1\n\n    def k(self): ...\n\n    def n"),
    ("insert_after", "C.n", "    def o(self): ...", "        return f(2)\n\n    def o(self): ...\n"),
]  # fmt: skip


@pytest.mark.parametrize(("action", "symbol", "text", "expected"), EDITS)
def test_replace_and_insert(ctx, put, ws, action, symbol, text, expected):
    put({"a.py": SOURCE})
    done = edit_symbol(ctx, action, symbol, text=text)
    assert expected in files(ws)["a.py"]
    assert str(done).startswith(f"Done: {action.replace('_', ' ')} {symbol}.\na.py\n@@ ")


REFUSED = [
    (
        {"action": "replace", "symbol": "f", "text": "return 2"},
        ErrorCode.VALIDATION,
        "'f' would not be defined any more",
    ),
    ({"action": "replace", "symbol": "f", "text": "def f(:"}, ErrorCode.VALIDATION, "would not"),
    ({"action": "insert_after", "symbol": "f"}, ErrorCode.VALIDATION, "`text` is missing"),
    ({"action": "move", "symbol": "f"}, ErrorCode.VALIDATION, "`to` is missing"),
    ({"action": "move", "symbol": "C.m", "to": "b.py"}, ErrorCode.UNSUPPORTED, "is inside 'C'"),
    ({"action": "move", "symbol": "f", "to": "taken.py"}, ErrorCode.CONFLICT, "'taken.py' has a 'f' already"),
    ({"action": "move", "symbol": "f", "to": "../b.py"}, ErrorCode.SECURITY, "outside"),
    ({"action": "delete", "symbol": "f", "path": "a.py"}, ErrorCode.CONFLICT, "a.py:15: return f(2)"),
    ({"action": "delete", "symbol": "listed"}, ErrorCode.CONFLICT, "taken.py:1: __all__"),
    ({"action": "delete", "symbol": "nowhere"}, ErrorCode.NOT_FOUND, "There is no symbol 'nowhere'"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), REFUSED)
def test_what_is_refused(ctx, put, ws, arguments, code, words):
    put({"a.py": SOURCE})
    given = {"path": "a.py"} if arguments["symbol"] == "f" else {}
    put({"taken.py": "__all__ = ['listed']\ndef f(): ...\n\n\ndef listed(): ...\n"})
    before = files(ws)
    with pytest.raises(ToolError) as caught:
        edit_symbol(ctx, **given | arguments)
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message
    assert files(ws) == before


def test_delete_what_is_unused(ctx, put, ws):
    put({"a.py": SOURCE})
    assert edit_symbol(ctx, "delete", "C.m", preview=True).preview
    edit_symbol(ctx, "delete", "C.m")
    assert files(ws)["a.py"].endswith("class C:\n    def n(self):\n        return f(2)\n")


PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/a.py": "from __future__ import annotations\n\nimport os\nfrom .c import helper as h\n\nX = 1\n\n\ndef f(n: int) -> str:\n    return h(os.sep * n)\n",
    "pkg/c.py": "def helper(x: str) -> str:\n    return x\n",
    "main.py": "from pkg.a import X, f\n\nprint(f(X))\n",
    "other.py": "import pkg.a\n\nprint(pkg.a.X)\n",
}


@needs_ty
def test_move_with_its_imports(ctx, put, ws):
    put(PACKAGE)
    edit_symbol(ctx, "move", "f", to="pkg/sub/b.py")
    assert files(ws) == PACKAGE | {
        "pkg/a.py": "from __future__ import annotations\n\nimport os\nfrom .c import helper as h\n\nX = 1\n",
        "pkg/sub/b.py": (
            "from __future__ import annotations\n\nfrom ..c import helper as h\nimport os\n\n\n"
            "def f(n: int) -> str:\n    return h(os.sep * n)\n"
        ),
        "main.py": "from pkg.a import X\nfrom pkg.sub.b import f\n\nprint(f(X))\n",
    }


@needs_ty
def test_a_move_that_would_break_something(ctx, put, ws):
    put(PACKAGE | {"pkg/a.py": PACKAGE["pkg/a.py"].replace("return h(", "return h(str(X) + ") + "\n\nf(2)\n"})
    before = files(ws)
    with pytest.raises(
        ToolError, match=r"'f' needs X of pkg/a.py, which needs 'f': the modules would import each other"
    ):
        edit_symbol(ctx, "move", "f", to="pkg/b.py")
    assert files(ws) == before


@needs_ty
def test_a_move_to_a_new_file_that_causes_errors_is_taken_back_whole(kit, put, ws):
    put(PACKAGE | {"all.py": "from pkg.a import *\n\nprint(f(1), X)\n"})
    before = files(ws)
    result = kit.call("edit_symbol", {"action": "move", "symbol": "f", "to": "pkg/sub/b.py"})
    assert result.text.startswith("Nothing was moved: it would cause 1 new error.\nall.py:3: "), result.text
    assert (files(ws), (ws / "pkg/sub").exists()) == (before, False)
    assert kit.call("edit", {"path": "pkg/a.py", "old": "X = 1", "new": "X = 2"}).ok


def test_move_typescript(ctx, put, ws):
    put(
        {
            "src/a.ts": 'import { z } from "./z";\nimport type { T } from "./t";\n\nconst k = 1;\n\n/** Doc. */\nexport function f(t: T) {\n  return z(k);\n}\n\nexport const g = () => 2;\n',
            "src/z.ts": "export const z = (n: number) => n;\n",
            "src/t.ts": "export type T = string;\n",
            "src/u.ts": 'import { f, g } from "./a";\n\nf("");\ng();\n',
        }
    )
    edit_symbol(ctx, "move", "f", "src/a.ts", to="src/lib/b.ts")
    found = files(ws)
    assert found["src/lib/b.ts"] == (
        'import { z } from "../z";\nimport type { T } from "../t";\nimport { k } from "../a";\n\n'
        "/** Doc. */\nexport function f(t: T) {\n  return z(k);\n}\n"
    )
    assert found["src/u.ts"] == 'import { g } from "./a";\nimport { f } from "./lib/b";\n\nf("");\ng();\n'
    assert found["src/a.ts"].endswith("export const k = 1;\n\nexport const g = () => 2;\n")


def test_move_in_another_language(ctx, put, ws):
    put({"A.java": "class A { }\n\n// About B.\nclass B { }\n"})
    done = edit_symbol(ctx, "move", "B", to="B.java")
    assert files(ws) == {"A.java": "class A { }\n", "B.java": "// About B.\nclass B { }\n"}
    assert "imports and includes are as they were" in done.note
