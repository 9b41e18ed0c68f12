"""Where symbols are defined and used in a tree."""

import os
import sys
from pathlib import Path

import pytest

from toolroll import ErrorCode, Suggestion, ToolError
from toolroll.host.code import symbol_lookup
from toolroll.policy.rules import Policy
from toolroll.tools.code.references import references

needs_ty = pytest.mark.skipif(not (Path(sys.executable).parent / "ty").exists(), reason="ty is not installed")

FILES = {
    "core.py": 'class Engine:\n    """Engine"""\n    def start(self):\n        return self.start\n',
    "a.py": "from core import Engine\n# Engine\nEngine().start()\nother.start()\n",
    "pkg/b.ts": 'import { Engine } from "./engine";\nclass Car extends Engine { run(e: Engine) { e.start("Engine"); } }\n',
    "README.md": "# Engine\n",
    "c.xyz": "Engine()\n",
    "d.py": "Engineer = 1\n",
}


@needs_ty
def test_definitions_and_uses(ctx, put):
    put(FILES)
    found = references(ctx, "Engine")
    assert str(found) == (
        "1 definition of Engine\n"
        "core.py:1:7: class: class Engine:\n"
        "2 uses in 1 file, resolved by ty\n"
        "a.py:1:18: import: from core import Engine\n"
        "a.py:3:1: call: Engine().start()"
    )
    assert found.note == (
        "(3 other places with this name left out: another language. Looked at 3 files; not at: 1 .xyz, 1 Markdown.)"
    )


@needs_ty
def test_a_method_of_a_class(ctx, put):
    put(FILES)
    found = references(ctx, "Engine.start")
    assert [f"{one.path}:{one.line}:{one.kind}" for one in (*found.definitions, *found.uses)] == [
        "core.py:3:method",
        "a.py:3:call",
        "core.py:4:attribute",
    ]
    # What `other` is, nobody knows.
    assert str(found).endswith(
        "1 more by name: may include others, what they stand on is unknown\na.py:4:7: call: other.start()"
    )


JAVA = {
    "a/Server.java": "class Server { void start() {} void run() { start(); this.start(); } }\n",
    "a/Main.java": "class Main { void main() { Server s = new Server(); s.start(); other.start(); } }\n",
    "b/Motor.java": "class Motor { void start() {} }\n",
    "b/Use.java": "class Use { void go(Motor m) { m.start(); } }\n",
}


def test_by_name_without_a_server_grouped_by_definition(ctx, put):
    put(JAVA)
    assert str(references(ctx, "start")).splitlines() == [
        "2 definitions of start",
        "a/Server.java:1:21: method: class Server { void start() {} void run() { start(); this.start(); } }",
        "b/Motor.java:1:20: method: class Motor { void start() {} }",
        "4 uses in 3 files, by name: may include others",
        "of Server.start in a/Server.java:1, by name: may include others:",
        "a/Main.java:1:55: call: class Main { void main() { Server s = new Server(); s.start(); other.start(); } }",
        "a/Server.java:1:45: call: class Server { void start() {} void run() { start(); this.start(); } }",
        "a/Server.java:1:59: call: class Server { void start() {} void run() { start(); this.start(); } }",
        "1 more by name: may include others, what they stand on is unknown",
        "a/Main.java:1:70: call: class Main { void main() { Server s = new Server(); s.start(); other.start(); } }",
        "of Motor.start in b/Motor.java:1, by name: may include others:",
        "b/Use.java:1:34: call: class Use { void go(Motor m) { m.start(); } }",
    ]


def test_a_file_chooses_the_definition(ctx, put):
    put(JAVA)
    found = references(ctx, "start", "b/Motor.java")
    assert [(one.path, one.line) for one in (*found.definitions, *found.uses)] == [
        ("b/Motor.java", 1),
        ("b/Use.java", 1),
    ]
    assert found.note == (
        "(By name: no language server is known for this language. 4 other places with this name left out: "
        "more likely Server.start of a/Server.java, another definition, Server.start.)"
    )


def test_callers_and_callees(ctx, put):
    put({"A.java": "class A {\n  void a() { b(); Math.abs(1); }\n  void b() { }\n}\n"})
    callers = references(ctx, "A.b", kind="callers")
    assert str(callers).splitlines()[-1] == "A.java:2:14: call: void a() { b(); Math.abs(1); } (in A.a)"
    callees = references(ctx, path="A.java", line=2, kind="callees")
    assert str(callees).splitlines()[-1] == "A.java:3:8: method: void b() (in line 2)"
    assert "Also calls what is defined elsewhere: abs." in callees.note


@pytest.fixture
def rust_kit(open_kit, tmp_path, monkeypatch):
    """A kit whose rust-analyzer is the program that is made of a script."""

    def serve(script):
        program = tmp_path / "bin" / "rust-analyzer"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setattr(symbol_lookup, "_SERVER_SECONDS", 0.5)
        return open_kit(policy=Policy(sandbox="none"))

    return serve


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo unknown binary >&2; exit 1",
            "The language server rust-analyzer ended with status 1; it said 'unknown binary'",
        ),
        ("sleep 20", "The language server did not answer in time"),
    ],
)
def test_a_server_that_does_not_start_or_answer(rust_kit, put, script, reason):
    kit = rust_kit(script)
    put({"a.rs": "fn start() {}\nfn main() { start(); }\n"})
    for tool, line in (
        ("references", "a.rs:2:13: call: fn main() { start(); }"),
        ("definition", "a.rs:1:4: fn start()"),
    ):
        result = kit.call(tool, {"symbol": "start", "path": "a.rs", "line": 2})
        assert (result.ok, line in result.text, "By name: " in result.text) == (True, True, True), result.text
    assert reason in kit.call("references", {"symbol": "start"}).text


def test_a_member_of_a_base_class(ctx, put):
    put(
        {
            "A.java": "class A { void go() { } }\n",
            "B.java": "class B extends A { }\nclass C extends B { void f() { go(); } }\n",
        }
    )
    found = references(ctx, "C.go")
    assert [(one.path, one.line) for one in found.definitions] == [("A.java", 1)]


def test_what_a_line_has(ctx, put):
    put({"a.java": "class A { int b(int c, int d) { return c + d; } }\n"})
    with pytest.raises(ToolError) as caught:
        references(ctx, path="a.java", line=7)
    assert caught.value.message == "`line` is 7, but the file has 1 line."
    with pytest.raises(ToolError) as caught:
        references(ctx, symbol="e", path="a.java", line=1)
    assert caught.value.message.startswith("Line 1 of 'a.java' has no 'e'. Its words: 'class' at 1, 'A' at 7")
    with pytest.raises(ToolError, match=r"Give `symbol`, such as Parser.parse, or `path` and `line`"):
        references(ctx)


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


@needs_ty
def test_uses_that_no_server_relates_are_shown_by_name(ctx, put, ws):
    put({"real/pkg/m.py": "def f(): ...\n", "use.py": "from pkg.m import f\n"})
    (ws / "pkg").symlink_to("real/pkg")
    found = references(ctx, "f")
    assert (found.total, [one.path for one in found.groups[0].unknown], found.note) == (0, ["use.py"], "")
    assert "1 more by name: may include others" in str(found)
