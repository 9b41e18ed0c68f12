"""A tool whose program, grammar or service gave no answer claims nothing: neither that nothing is there nor success."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Files
from tests.host.http.web import Server
from toolroll.host.convert import converter
from toolroll.host.http.client import Client
from toolroll.host.runtime import python_child
from toolroll.host.runtime.launcher import Launcher
from toolroll.kit import preset
from toolroll.result import CouldNotLookError, Result
from toolroll.tools.web.fetch import fetch

ENDS = {
    "is missing": "",
    "exits 1": "exit 1",
    "exits 2": "exit 2",
    "exits 127": "exit 127",
    "is silent": "exit 0",
    "is killed": "kill -9 $$",
    "is slow": "exec sleep 30",
    "is too old": "echo 'error: unknown option' >&2; exit 64",
}
CLAIMS = re.compile(
    r"\bno (match|finding|problem|test|symbol|definition|file|issue|commit|change)|nothing (found|differs|to|is)"
    r"|neither defined|there is no (symbol|test|definition)|\b\d+ passed|is clean|nothing .* defined",
    re.IGNORECASE,
)
GO = {"go.mod": "module m\n", "m.go": "package m\n\nfunc f() {}\n\nfunc g() { f() }\n"}
GO_TEST = {"go.mod": "module m\n", "m_test.go": "package m\n"}
RUST = {"Cargo.toml": "[package]\nname = 'm'\n", "src/lib.rs": "#[test]\nfn a() {}\n"}
JAVASCRIPT = "test('a', () => {})\n"
PYTHON_TEST = {"test_m.py": "def test_a(): pass\n"}

NOTEBOOK = '{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}'
LOOKED: list[tuple[str, dict[str, Any], str]] = [
    ("git", {"action": "status"}, "git"),
    ("grep", {"pattern": "nothing_here"}, "the search"),
    ("find", {"pattern": "*.nothing"}, "the file list"),
    ("outline", {"path": "a.py"}, "syntax"),
    ("outline", {"path": "."}, "syntax"),
    ("symbols", {"name": "f"}, "syntax"),
    ("repo_map", {}, "syntax"),
    ("definition", {"symbol": "f"}, "syntax"),
    ("references", {"symbol": "f"}, "syntax"),
    ("rag", {"action": "search", "query": "harbours"}, "the library"),
    ("history", {}, "the history"),
    ("profile", {"action": "hotspots", "code": "1 + 1"}, "the profiler"),
]

Row = tuple[str, str, dict[str, Any], Files]
PROGRAMS: list[Row] = [
    ("git", "git", {"action": "status"}, {}),
    ("git", "git", {"action": "diff"}, {}),
    ("git", "git", {"action": "log"}, {}),
    ("git", "git", {"action": "stash"}, {}),
    ("tests", "go", {"timeout": 1}, GO_TEST),
    ("tests", "cargo", {"timeout": 1}, RUST),
    ("tests", "node", {"timeout": 1}, {"package.json": '{"scripts": {"test": "node --test"}}', "a.test.js": JAVASCRIPT}),
    ("tests", "vitest", {"timeout": 1}, {"package.json": '{"devDependencies": {"vitest": "1"}}', "a.test.js": JAVASCRIPT}),
    ("tests", "jest", {"timeout": 1}, {"package.json": '{"devDependencies": {"jest": "1"}}', "a.test.js": JAVASCRIPT}),
    ("tests", "python3", {"timeout": 1}, PYTHON_TEST),
    ("profile", "python3", {"code": "1 + 1", "action": "hotspots", "timeout": 1}, {}),
    ("diagnostics", "gopls", {"files": ["m.go"]}, GO),
    ("definition", "gopls", {"path": "m.go", "line": 5, "symbol": "f"}, GO),
    ("hover", "gopls", {"path": "m.go", "line": 5, "symbol": "f"}, GO),
    ("references", "gopls", {"symbol": "f"}, GO),
    ("rename", "gopls", {"symbol": "f", "new_name": "h"}, GO),
    ("edit_symbol", "gopls", {"symbol": "g", "action": "delete"}, GO),
]  # fmt: skip


def check(result: Result, at: object) -> None:
    """It names who could not look, and claims nothing."""
    details = result.error.details if result.error is not None else None
    looked = result.data.get("looked") if isinstance(result.data, dict) else None
    if isinstance(details, dict) and details.get("outcome") == "could not look":
        assert details["who"], at
        assert details["why"], at
    else:
        assert looked, (at, result.text)
        assert looked["failed"], (at, result.text)
    assert not CLAIMS.search(result.text), (at, result.text)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a program on PATH that ends in one of these ways; the rest of PATH is a shell and few tools."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "bash", "sleep", "kill", "env", "git", "cat", "mkdir", "dirname"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)

    def put(name: str, script: str) -> None:
        (folder / name).unlink(missing_ok=True)
        if script:
            (folder / name).write_text(f"#!{shutil.which('sh', path='/usr/bin:/bin')}\n{script}\n")
            (folder / name).chmod(0o755)

    return put


@pytest.mark.parametrize(
    ("tool", "program", "arguments", "files"), PROGRAMS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_program_that_gives_no_answer(
    tool, program, arguments, files, programs, open_kit, put, ws, monkeypatch, shared_parsers
):
    if tool == "git":
        os.makedirs(ws / ".git/objects")
        put({".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/x": "", ".git/config": ""})
    put(files)
    for end, script in ENDS.items():
        if (program == "python3" and end == "is missing") or (program == "git" and end == "is slow"):
            continue  # our own Python runs in its place, and git's time limit is too long for a test
        if program == "gopls" and end not in ("is missing", "exits 1", "is silent", "is too old"):
            continue  # the others are the same to us
        programs(program, script)
        kit = open_kit(policy=replace(preset("standard"), sandbox="none"))
        check(kit.call(tool, arguments), (end, tool))
        kit.close()
        put(files)


FAULTS = {
    "is missing": "sys.modules['tree_sitter'] = None",
    "has no grammar": "sys.modules['tree_sitter_python'] = None",
    "is too old": "import tree_sitter; del tree_sitter.Language",
    "exits 1": "sys.exit(1)",
    "exits 2": "sys.exit(2)",
    "is silent": "sys.exit(0)",
    "is killed": "import os; os.kill(os.getpid(), 9)",
    "crashes": "import os; os.abort()",
}
PARSED: list[tuple[str, dict[str, Any]]] = [
    ("definition", {"symbol": "url_for"}),
    ("hover", {"symbol": "url_for"}),
    ("references", {"symbol": "url_for"}),
    ("references", {"symbol": "url_for", "kind": "callees"}),
    ("rename", {"symbol": "url_for", "new_name": "x"}),
    ("edit_symbol", {"symbol": "url_for", "action": "delete"}),
    ("outline", {"path": "."}),
    ("outline", {"path": "a.py"}),
    ("symbols", {"name": "url_for"}),
    ("repo_map", {}),
    ("diagnostics", {"files": ["a.py"], "symbol": "url_for"}),
]


def put_before_import(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let our Python children run this before they import anything of ours."""
    mark = "importlib.import_module"
    monkeypatch.setattr(python_child, "START_CODE", python_child.START_CODE.replace(mark, f"{code}\n{mark}"))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_parser_that_gives_no_answer(fault, open_kit, put, monkeypatch):
    put_before_import(monkeypatch, FAULTS[fault])
    put({"a.py": "def url_for():\n    return 1\n\nurl_for()\n", "b.py": "import a\n"})
    kit = open_kit()
    for tool, arguments in PARSED:
        check(kit.call(tool, arguments), (fault, tool, arguments))


def test_a_file_without_a_grammar_among_others(open_kit, put, monkeypatch):
    put_before_import(monkeypatch, "sys.modules['tree_sitter_go'] = None")
    put({"a.py": "def here():\n    there()\n", "b.go": "package b\n\nfunc there() {}\n"})
    kit = open_kit()
    check(kit.call("definition", {"symbol": "there", "path": "b.go"}), "definition")
    listed = kit.call("symbols", {"kind": "function"})
    assert (listed.status, [row[4:6] for row in listed.data["rows"]]) == ("partial", [("function", "here")])
    assert listed.data["looked"]["failed"][0]["who"] == "The parser"
    absent = kit.call("symbols", {"name": "elsewhere"})
    assert (absent.status, absent.text.startswith("Nothing found.")) == ("success", True), "no file has the name"


@pytest.mark.parametrize("program", ["/bin/true", "/bin/false", "/nowhere/rg"])
def test_a_search_program_that_gives_no_answer(program, open_kit, put, monkeypatch, tmp_path):
    find = Launcher.find
    monkeypatch.setattr(Launcher, "find", lambda self, name: program if name == "rg" else find(self, name))
    put({"a.py": "def url_for():\n    return 1\n"})
    kit = open_kit()
    for tool, arguments in [
        ("grep", {"pattern": "url_for"}),
        ("grep", {"pattern": "url_for", "path": "a.py"}),
        ("grep", {"pattern": "url_for", "output": "count"}),
        ("definition", {"symbol": "url_for"}),
        ("references", {"symbol": "url_for"}),
        ("symbols", {"name": "url_for"}),
    ]:
        check(kit.call(tool, arguments), (program, tool, arguments))


@pytest.mark.parametrize("child", ["raise SystemExit(1)", "import no_such_package"])
def test_a_converter_that_gives_no_answer(child, open_kit, put, monkeypatch):
    put_before_import(monkeypatch, child)
    put({"a.odt": b"PK\x03\x04"})
    kit = open_kit()
    check(kit.call("read", {"path": "a.odt"}), "read")
    monkeypatch.setattr(converter, "available", lambda _format: False)
    check(kit.call("read", {"path": "a.odt"}), "read without the extra")


def test_a_service_that_gives_no_answer(open_kit, monkeypatch):
    monkeypatch.setenv("TOOLROLL_SEARCH_ENGINES", "searxng")
    monkeypatch.setenv("TOOLROLL_SEARXNG_URL", "http://127.0.0.1:1")  # nothing listens there
    kit = open_kit()
    check(kit.call("web_search", {"query": "harbours"}), "web_search")


SERVERS = {
    "does not start": ["/nowhere/server"],
    "exits 1": ["/bin/sh", "-c", "exit 1"],
    "exits 127": ["/bin/sh", "-c", "exit 127"],
    "is silent": ["/bin/true"],
    "is killed": ["/bin/sh", "-c", "kill -9 $$"],
    "is slow": ["/bin/sh", "-c", "exec sleep 30"],
    "speaks otherwise": ["/bin/sh", "-c", "echo hello; exec sleep 30"],
}


@pytest.mark.parametrize("end", SERVERS)
def test_an_mcp_server_that_gives_no_answer(end, open_kit):
    config = {"command": SERVERS[end][0], "args": SERVERS[end][1:], "timeout": 1, "startTimeout": 1}
    kit = open_kit(mcp={"bad": config}, policy=replace(preset("standard"), sandbox="none"))
    for arguments in [
        {"action": "list_tools"},
        {"action": "list_tools", "server": "bad"},
        {"action": "call_tool", "server": "bad", "name": "x"},
        {"action": "read_resource", "server": "bad", "uri": "a:b"},
    ]:
        check(kit.call("mcp", arguments), (end, arguments))


@pytest.mark.parametrize("ending", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf", b"nonsense"])
def test_a_web_server_that_gives_no_answer(ending, ctx):
    with Server(ending) as server:
        ctx.http = Client([server.host])
        with pytest.raises(CouldNotLookError) as caught:
            fetch(ctx, server.url(), robots=False)
        ctx.http.close()
    assert not CLAIMS.search(caught.value.message)


def test_a_store_of_documents_that_gives_no_answer(open_kit):
    class Store:
        def add(self, _documents):
            raise ConnectionError("no store")

        def search(self, _query, _limit):
            raise ConnectionError("no store")

    check(open_kit(knowledge=Store()).call("rag", {"action": "search", "query": "harbours"}), "rag")


def test_what_an_answer_stands_on(open_kit, put, ws):
    """Each tool that asks a program, a grammar or a store says who looked at what."""
    os.system(f"git init -q {ws}")
    put({"a.py": "def f(): ...\n\nf()\n", "p.ipynb": NOTEBOOK})
    kit = open_kit()
    for tool, arguments, by in LOOKED:
        result = kit.call(tool, arguments)
        assert result.ok, (tool, result.text)
        looked = result.data["looked"]
        assert (looked["by"][0], looked["failed"], bool(looked["at"])) == (by, [], True), (tool, looked)


def test_a_warm_search_sees_a_change_by_a_name_outside(open_kit, put, ws, tmp_path):
    put({f"f{number}.py": "x = 1\n" for number in range(300)})
    os.link(ws / "f5.py", tmp_path / "before")
    kit = open_kit()
    for _ in range(2):
        assert "Searched 300 files" in kit.call("grep", {"pattern": "needle"}).text
    os.link(ws / "f6.py", tmp_path / "after")
    kit.call("grep", {"pattern": "needle"})
    for name, path in (("before", "f5.py"), ("after", "f6.py")):
        (tmp_path / name).write_text("needle = 2\n")
        assert path in kit.call("grep", {"pattern": "needle", "output": "files"}).text
