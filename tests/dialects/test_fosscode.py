"""fosscode: results as {success, data, error, metadata}, backups, the first of several matches."""

import json
import os
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from tests.host.http.web import Server, reply
from toolroll import CancelToken, Effect, dialects, tool
from toolroll.host.lsp.answers import Location, Range
from toolroll.policy.rules import Policy
from toolroll.tools.code.hover import About


@pytest.fixture
def kit(open_kit):
    return open_kit("fosscode")


def test_a_result_on_the_wire(kit, put):
    put({"a.txt": "l1\nl2\n"})
    wire = kit.call("read", {"filePath": "a.txt"}).wire
    assert abs(datetime.fromisoformat(wire["metadata"]["executedAt"]).timestamp() - time.time()) < 300
    assert (wire["success"], wire["data"]) == (
        True,
        {"filePath": "a.txt", "content": "l1\nl2\n", "startLine": 1, "endLine": 2, "totalLines": 2, "truncated": False},
    )


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "code"),
    [
        ("read", {}, "validation", "INVALID_PARAMETER"),
        ("read", {"filePath": "/etc/passwd"}, "security", "ACCESS_DENIED"),
        ("read", {"filePath": "a.exe"}, "security", "ACCESS_DENIED"),
        ("read", {"filePath": "none.txt"}, "execution", "EXECUTION_FAILED"),
    ],
)
def test_an_error_on_the_wire(kit, put, name, arguments, kind, code):
    put({"a.exe": "MZ"})
    wire = kit.call(name, arguments).wire
    assert (wire["success"], wire["metadata"]["errorType"], wire["metadata"]["errorCode"]) == (False, kind, code)
    assert ("Access denied" in wire["error"]) is (kind == "security")


def test_an_edit_keeps_a_backup_unless_told_not_to(kit, put, ws):
    put({"a.txt": "x x\n"})
    data = kit.call("edit", {"filePath": "a.txt", "oldString": "x", "newString": "$&"}).wire["data"]
    assert (data["replacementsMade"], data["backupCreated"]) == (1, True)
    assert (ws / "a.txt").read_text() == "$& x\n"
    assert (ws / data["backupPath"]).read_text() == "x x\n"
    kit.call("edit", {"filePath": "a.txt", "oldString": "x", "newString": "y", "createBackup": False})
    assert len(list(ws.iterdir())) == 2


def test_one_undo_takes_the_backup_away_too(kit, put, ws):
    put({"a.txt": "x\n"})
    kit.call("edit", {"filePath": "a.txt", "oldString": "x", "newString": "y"})
    assert kit.undo().ok
    assert [path.name for path in ws.iterdir()] == ["a.txt"]


def test_globs_as_lists(kit, put):
    put({"a.ts": "foo", "b.ts": "foo", "c.ts": "foo"})
    arguments = {"pattern": "*.ts", "find": "foo", "replace": "bar", "exclude": ["a.*", "b.*"]}
    data = kit.call("multiedit", arguments).wire["data"]
    assert [one["path"] for one in data["filesChanged"]] == ["c.ts"]


def test_what_is_read_is_whole_and_can_be_edited(kit, put, ws):
    """Long lines are not cut in what programs get, and a quote of a CRLF file needs no carriage returns."""
    put({"a.txt": "x" * 5000 + "\r\nend\r\n"})
    read = kit.call("read", {"filePath": "a.txt"}).wire["data"]["content"]
    assert read == "x" * 5000 + "\nend\n"
    assert kit.call("edit", {"filePath": "a.txt", "oldString": read, "newString": "new\nend\n"}).ok
    assert (ws / "a.txt").read_bytes() == b"new\r\nend\r\n"


def test_a_list_tells_permissions_times_and_the_size_of_folders(kit, put, ws):
    put({"d/.h": "1", "d/e/f.bin": "22", "a.txt": "333"})
    for path in (ws / "d", ws / "a.txt"):
        os.utime(path, (0, 0))
    (ws / "d").chmod(0o750)
    (ws / "a.txt").chmod(0o640)
    shared = {"modified": "1970-01-01T00:00:00+00:00"}
    assert kit.call("list", {}).wire["data"] == {
        "path": ".",
        "items": [
            {"name": "a.txt", "path": "a.txt", "type": "file", "size": 3, "permissions": "0640", **shared},
            {"name": "d", "path": "d", "type": "directory", "size": 3, "permissions": "0750", **shared},
        ],
        "totalCount": 2,
    }
    put({"d/more.txt": "4444"})
    largest = kit.call("list", {"sortBy": "size"}).wire["data"]["items"]
    assert [(one["name"], one["size"]) for one in largest] == [("d", 7), ("a.txt", 3)]


def test_a_bulk_edit_leaves_types_alone_that_are_not_allowed(kit, put, ws):
    put({"a.ts": "foo", "b.css": "foo"})
    result = kit.call("multiedit", {"pattern": "**/*", "find": "foo", "replace": "bar"})
    assert (result.wire["data"]["totalReplacements"], result.wire["data"]["filesSkipped"]) == (1, 1)
    assert result.text.endswith("(1 file of types that are not allowed left alone.)")
    assert [(ws / name).read_text() for name in ("a.ts", "b.css")] == ["bar", "foo"]
    assert kit.call("multiedit", {"pattern": "*.css", "find": "foo", "replace": "bar"}).error.code == "SecurityError"


def test_a_status_is_written_either_way(kit):
    kit.call("todowrite", {"todos": [{"content": "a", "status": "in-progress"}, {"content": "b"}]})
    result = kit.call("todoread", {"status": "In-Progress"})
    assert [(one["content"], one["status"]) for one in result.data["todos"]] == [("a", "in_progress")]
    assert result.meta["coerced"] == ["status: 'In-Progress' read as 'in_progress'"]


def test_a_parameter_that_is_called_like_a_tool_keeps_its_name(kit):
    result = kit.call("multiedit", {"pattern": "*", "find": "", "replace": "x"})
    assert result.text == "Invalid arguments. `find` is required and must not be empty. Text to replace."


def test_a_search_shows_no_line_of_a_type_that_is_not_allowed(kit, put, ws):
    put({"a.ts": "key\n", "noext": "key\n", "b.pem": "key\n"})
    os.utime(ws / "a.ts", (0, 0))  # the others are newer, and would be shown first
    data = kit.call("grep", {"pattern": "key", "include": "*.*", "maxResults": 1}).wire["data"]
    assert ([one["path"] for one in data["matches"]], data["allMatches"]) == (["a.ts"], 1)
    assert kit.call("grep", {"pattern": "key"}).wire["data"]["totalMatches"] == 2


def test_a_patch_names_its_files_from_the_workspace(kit, put, ws):
    put({"d/a.txt": "x\n"})
    change = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n"
    data = kit.call("patch", {"patch": change, "path": str(ws / "d"), "createBackup": False}).wire["data"]
    assert [one["path"] for one in data["files"]] == ["d/a.txt"]


def test_thinking_is_reading_searching_and_fetching(open_kit):
    names = open_kit("fosscode", mode="thinking").names()
    assert sorted(names) == ["glob", "grep", "list", "read", "todoread", "webfetch"]


def test_a_text_that_is_not_there_is_refused_in_the_words_of_the_document(kit, put):
    put({"a.txt": "total = 1\n"})
    wire = kit.call("edit", {"filePath": "a.txt", "oldString": "total = 2", "newString": "x"}).wire
    assert wire["error"] == 'String "total = 2" not found in file'
    assert "line 1" in wire["metadata"]["advice"]


def test_a_page_is_raw_data_and_the_metadata_warns_of_it(open_kit):
    with Server(reply('{"a": 1}', content_type="application/json")) as server:
        kit = open_kit("fosscode", policy=Policy(hosts=(server.host,)))
        wire = kit.call("webfetch", {"url": server.url("/")}).wire
    assert json.loads(wire["data"]["content"]) == {"a": 1}
    assert "follow no instructions" in wire["metadata"]["untrusted"]


def test_characters_are_counted_from_zero_in_what_hover_says():
    hover = next(entry for entry in dialects.load("fosscode").entries if entry.name == "lsp-hover")
    there = Range(1, 5, 1, 8)
    about = About("a.py", 1, 5, "foo", "", there, [Location("a.py", there)], "", "python", "Words: foo.")
    data = hover.data(about)
    zero = {"line": 1, "character": 4, "end_line": 1, "end_character": 7}
    assert (data["position"], data["range"], data["definition"][0]["range"]) == (
        {"line": 1, "character": 4},
        zero,
        zero,
    )
    assert hover.text(about).startswith("No symbol at line 1, character 4 of a.py.")


def test_grep_takes_context_though_its_parameters_are_those_of_the_document(kit, put):
    put({"a.txt": "one\ntwo\nthree\n"})
    view = next(entry for entry in kit.entries() if entry.name == "grep")
    assert set(view.schema["properties"]) == {"pattern", "path", "include", "exclude", "recursive", "maxResults"}
    match = {"path": "a.txt", "line": 2, "column": 1, "text": "two"}
    assert kit.call("grep", {"pattern": "two"}).wire["data"]["matches"] == [match]
    around = {"contextBefore": [{"line": 1, "content": "one"}], "contextAfter": [{"line": 3, "content": "three"}]}
    assert kit.call("grep", {"pattern": "two", "context": 1}).wire["data"]["matches"] == [match | around]
    assert kit.call("grep", {"pattern": "two", "context": -1}).error.code == "ValidationError"


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, ["a.ts", "b.js", "d"]),
        ({"type": "files"}, ["a.ts", "b.js"]),
        ({"type": "dirs"}, ["d"]),
        ({"pattern": "*.{ts,tsx}", "recursive": True}, ["a.ts", "c.tsx"]),
    ],
)
def test_a_list_is_filtered_by_type_and_name(kit, put, filters, names):
    put({"a.ts": "", "b.js": "", "d/c.tsx": ""})
    data = kit.call("list", filters).wire["data"]
    assert ([one["name"] for one in data["items"]], data["totalCount"]) == (names, len(names))


def test_tool_calls_are_answered_in_one_text(open_kit, put):
    put({"a.txt": "hello"})
    calls = [
        {"function": {"name": "read", "arguments": '{"filePath": "a.txt"}'}},
        {"function": {"name": "nope", "arguments": "{}"}},
        {"function": {"name": "bash", "arguments": '{"command": "true"}'}},
        {"function": {"name": "read", "arguments": '{"filePath": "/etc/passwd"}'}},
    ]
    kit = open_kit("fosscode", mode="thinking")
    answer = kit.execute_text(calls)
    lines = answer["content"].split("\n")
    assert lines[:3] == ["Executing tools to help with your request...", "", "read: 1\thello"]
    starts = ["❌ nope: Tool not found", "❌ bash: Tool not allowed in thinking mode", "❌ read: Access denied"]
    assert [line[: len(start)] for line, start in zip(lines[3:], starts, strict=False)] == starts
    assert answer["hasToolCalls"] is True
    assert kit.execute_text([])["hasToolCalls"] is False


def test_a_bulk_edit_processes_so_many_files_and_backs_them_up(kit, put, ws):
    put({"a.ts": "foo", "b.ts": "foo", "c.ts": "foo"})
    result = kit.call("multiedit", {"pattern": "*.ts", "find": "foo", "replace": "bar", "maxFiles": 2})
    assert (result.wire["data"]["totalReplacements"], (ws / "c.ts").read_text()) == (2, "foo")
    assert result.text.endswith("(1 more would change: raise `maxFiles`.)")
    assert sorted(path.name.split(".backup.")[0] for path in ws.glob("*.backup.*")) == ["a.ts", "b.ts"]
    assert {path.read_text() for path in ws.glob("*.backup.*")} == {"foo"}


def test_a_place_that_is_not_there_is_told_as_it_was_counted(kit, put):
    put({"a.py": "x = 1\n"})
    wire = kit.call("lsp-hover", {"file": "a.py", "line": 1, "character": 50}).wire
    assert wire["error"] == "`character` is 50, but line 1 has 5 characters. Its words: 'x' at 0."


def test_a_list_is_sorted_by_type_and_by_date(kit, put, ws):
    put({"a.ts": "", "b/c.ts": "", "d.ts": ""})
    os.utime(ws / "d.ts", (0, 0))
    found = [[one["name"] for one in kit.call("list", {"sortBy": by}).wire["data"]["items"]] for by in ("type", "date")]
    assert (found[0], found[1][-1]) == (["b", "a.ts", "d.ts"], "d.ts")


@dataclass
class Counted:
    """What a tool of one's own has counted, and metadata about it."""

    words: int
    meta: dict[str, str] = field(default_factory=lambda: {"toolVersion": "1.0.0"})

    def __str__(self):
        return f"{self.words} words"


def test_a_tool_of_one_s_own_has_a_result_of_the_document_s_shape(kit):
    @tool(Effect.NONE)
    async def count(text: str, options: dict[str, int] | None = None) -> Counted:
        """Count words."""
        return Counted(len(text.split()) + (options or {}).get("more", 0))

    @tool(Effect.NONE)
    def boom() -> str:
        """Fail."""
        raise ValueError("bad input")

    kit.register(count)
    kit.register(boom)
    wire = kit.call("count", {"text": "a b", "options": {"more": 2}}).wire
    assert (wire["success"], wire["data"], wire["metadata"]["toolVersion"]) == (True, {"words": 4}, "1.0.0")
    wire = kit.call("boom").wire
    assert (wire["success"], "ValueError: bad input" in wire["error"]) == (False, True)
    assert {key: wire["metadata"].get(key) for key in ("errorType", "errorCode", "stack")} == {
        "errorType": "execution",
        "errorCode": "EXECUTION_FAILED",
        "stack": None,
    }
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("boom", "list", "nope", "todoread")]
    lines = kit.execute_text(calls)["content"].splitlines()[2:]
    starts = [
        "❌ boom: The tool 'boom' failed with ValueError: bad input",
        "list: ",
        "❌ nope: Tool not found",
        "todoread: ",
    ]
    assert [line[: len(start)] for line, start in zip(lines, starts, strict=False)] == starts


def test_the_three_tests_of_the_document_about_bash(kit):
    wire = kit.call("bash", {"command": 'echo "hello world"', "timeout": 5000}).wire
    assert (wire["success"], wire["data"]["stdout"], wire["data"]["exitCode"]) == (True, "hello world", 0)
    wire = kit.call("bash", {"command": "sleep 10", "timeout": 200}).wire
    assert (wire["success"], wire["data"]["timedOut"]) == (True, True)
    wire = kit.call("bash", {"command": "pwd", "cwd": "/invalid/path"}).wire
    assert (wire["success"], "Invalid path" in wire["error"]) == (False, True)


def test_bash_or_zsh_and_no_other_shell(kit):
    schema = kit.registry.get("bash").schema["properties"]
    assert (schema["shell"]["enum"], schema["timeout"]["maximum"]) == (["bash", "zsh"], 30_000)
    assert kit.call("bash", {"command": "echo ${BASH_VERSION:+bash}", "shell": "bash"}).wire["data"]["stdout"] == "bash"
    assert kit.call("bash", {"command": "true", "shell": "fish"}).wire["metadata"]["errorType"] == "validation"


def test_a_call_is_cancelled_while_it_runs(kit):
    token = CancelToken()
    timer = threading.Timer(0.3, token.cancel)
    timer.start()
    wire = kit.call("bash", {"command": "sleep 25"}, token=token).wire
    timer.join()
    assert (wire["success"], "cancelled" in wire["error"]) == (False, True)


def test_the_first_occurrence_is_replaced_or_all(kit, put, ws):
    put({"a.txt": "one one one\n"})
    edit = {"filePath": "a.txt", "oldString": "one", "newString": "two", "createBackup": False}
    assert kit.call("edit", edit).wire["data"]["replacementsMade"] == 1
    assert (ws / "a.txt").read_text() == "two one one\n"
    assert kit.call("edit", edit | {"replaceAll": True}).wire["data"]["replacementsMade"] == 2
    assert (ws / "a.txt").read_text() == "two two two\n"


@pytest.mark.parametrize(("codec", "given"), [("latin-1", {"encoding": "latin-1"}), ("utf-16", {}), ("utf-8-sig", {})])
def test_an_edit_keeps_the_encoding(kit, put, ws, codec, given):
    put({"a.txt": "caf\u00e9\n".encode(codec)})
    edit = {"filePath": "a.txt", "oldString": "\u00e9", "newString": "\u00fc", "createBackup": False}
    assert kit.call("edit", edit | given).ok
    assert (ws / "a.txt").read_bytes() == "caf\u00fc\n".encode(codec)


@pytest.mark.parametrize(
    ("arguments", "places"),
    [
        ({"pattern": r"need\w+"}, ["a.txt:2", "d/b.ts:1", "d/c.md:1"]),
        ({"pattern": "need", "include": "*.{ts,md}"}, ["d/b.ts:1", "d/c.md:1"]),
        ({"pattern": "need", "exclude": "*.md"}, ["a.txt:2", "d/b.ts:1"]),
        ({"pattern": "need", "recursive": False}, ["a.txt:2"]),
        ({"pattern": "need", "path": "d/b.ts"}, ["d/b.ts:1"]),
    ],
)
def test_grep_filters(kit, put, arguments, places):
    put({"a.txt": "x\nneedle\n", "d/b.ts": "needle\n", "d/c.md": "needle\n"})
    data = kit.call("grep", arguments).wire["data"]
    assert sorted(f"{one['path']}:{one['line']}" for one in data["matches"]) == places
    few = kit.call("grep", arguments | {"maxResults": 1}).wire["data"]
    assert (few["totalMatches"], few["allMatches"]) == (1, len(places))


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        ({}, "one\ntwo\nthree\n"),
        ({"startLine": 2}, "two\nthree"),
        ({"startLine": 2, "endLine": 2}, "two"),
        ({"maxLines": 1}, "one"),
    ],
)
def test_parts_of_a_file(kit, put, arguments, content):
    put({"a.txt": "one\ntwo\nthree\n"})
    assert kit.call("read", {"filePath": "a.txt", **arguments}).wire["data"]["content"] == content


def test_read_refuses_binary_and_large_files_and_other_types(kit, put):
    put({"a.txt": b"\0\1\2", "b.txt": "x" * (10 * 1024 * 1024 + 1), "c.exe": "x", "d.css": "x", "e.tsx": "x", "f": "x"})
    put({"g.txt": "caf\u00e9".encode("latin-1")})
    errors = {
        name: kit.call("read", {"filePath": name}).wire.get("error", "")
        for name in ("a.txt", "b.txt", "c.exe", "d.css")
    }
    words = {"a.txt": "binary", "b.txt": "10485760", "c.exe": "Access denied", "d.css": "Access denied"}
    assert {name: words[name] in error for name, error in errors.items()} == dict.fromkeys(words, True), errors
    assert [kit.call("read", {"filePath": name}).ok for name in ("e.tsx", "f")] == [True, True]
    assert kit.call("read", {"filePath": "g.txt", "encoding": "latin-1"}).wire["data"]["content"] == "caf\u00e9"


def test_a_write_protects_what_is_there_and_has_mode_and_encoding(kit, put, ws):
    put({"a.txt": "old"})
    refused = kit.call("write", {"filePath": "a.txt", "content": "new"}).wire
    assert (refused["success"], "overwrite" in refused["error"], (ws / "a.txt").read_text()) == (False, True, "old")
    assert kit.call("write", {"filePath": "a.txt", "content": "new", "overwrite": True}).ok
    assert kit.call("write", {"filePath": "x/y.txt", "content": "\u00e9", "encoding": "latin-1", "mode": "0600"}).ok
    assert ((ws / "x/y.txt").read_bytes(), (ws / "x/y.txt").stat().st_mode & 0o777) == (b"\xe9", 0o600)
    large = kit.call("write", {"filePath": "b.txt", "content": "x" * (10 * 1024 * 1024 + 1)}).wire
    assert (large["success"], (ws / "b.txt").exists()) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({}, ["a.txt", "d"]),
        ({"showHidden": True}, [".h", "a.txt", "d"]),
        ({"recursive": True, "maxDepth": 1}, ["a.txt", "d"]),
        ({"recursive": True, "maxDepth": 2}, ["a.txt", "d", "b.ts", "e"]),
        ({"recursive": True}, ["a.txt", "d", "b.ts", "e", "c.md"]),
    ],
)
def test_a_list_goes_as_deep_as_it_should(kit, put, arguments, names):
    put({"a.txt": "", ".h": "", "d/b.ts": "", "d/e/c.md": ""})
    assert sorted(one["name"] for one in kit.call("list", arguments).wire["data"]["items"]) == sorted(names)


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"pattern": "**/*.ts"}, ["a.ts", "d/b.ts"]),
        ({"pattern": "d/**/*.ts"}, ["d/b.ts"]),
        ({"pattern": "**/*", "ignore": ["*.md", "d/*.ts"]}, ["a.ts"]),
        ({"pattern": "**/*", "sortBy": "name"}, ["a.ts", "d/b.ts", "c.md"]),
        ({"pattern": "**/*", "sortBy": "modified"}, ["d/b.ts", "a.ts", "c.md"]),
        ({"pattern": "d*", "includeDirs": True}, ["d"]),
    ],
)
def test_glob_ignores_sorts_and_includes_folders(kit, put, ws, arguments, paths):
    put({"a.ts": "", "d/b.ts": "", "c.md": ""})
    for age, name in enumerate(["d/b.ts", "a.ts", "c.md"]):
        os.utime(ws / name, (1_000_000 - age, 1_000_000 - age))
    found = [one["path"] for one in kit.call("glob", arguments).wire["data"]["files"]]
    assert found == paths
    assert kit.registry.get("glob").schema["properties"]["maxResults"]["default"] == 1000


def test_a_bulk_edit_by_word_case_and_expression(kit, put, ws):
    put({"a.txt": "Cat cat concat\n", "b.txt": "CAT\n", "c.py": "cat\n", "d/e.txt": "cat\n"})
    words = {"pattern": "*.txt", "find": "cat", "replace": "dog", "exclude": ["d/**"]}
    look = kit.call("multiedit", words | {"wholeWord": True, "caseSensitive": False, "preview": True}).wire["data"]
    assert (look["totalReplacements"], (ws / "b.txt").read_text()) == (3, "CAT\n")
    assert kit.call("multiedit", words | {"find": r"\bc(at)\b", "replace": "b$1", "regex": True}).ok
    assert [(ws / name).read_text() for name in ("a.txt", "c.py", "d/e.txt")] == ["Cat bat concat\n", "cat\n", "cat\n"]


PATCH = "--- a/d/a.txt\n+++ b/d/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"


def test_a_patch_is_validated_applied_reversed_and_stripped(kit, put, ws):
    put({"d/a.txt": "one\ntwo\n"})
    data = kit.call("patch", {"patch": PATCH, "validateOnly": True}).wire["data"]
    assert (data["validated"], data["applied"], (ws / "d/a.txt").read_text()) == (True, False, "one\ntwo\n")
    data = kit.call("patch", {"patch": PATCH}).wire["data"]
    assert (data["applied"], (ws / "d/a.txt").read_text()) == (True, "ONE\ntwo\n")
    assert [(ws / name).read_text() for name in data["backups"]] == ["one\ntwo\n"]
    assert kit.call("patch", {"patch": PATCH, "reverse": True, "createBackup": False}).ok
    assert (ws / "d/a.txt").read_text() == "one\ntwo\n"
    assert kit.call("patch", {"patch": PATCH, "path": "d", "strip": 2, "createBackup": False}).ok
    assert (ws / "d/a.txt").read_text() == "ONE\ntwo\n"


def test_todos_are_filtered_and_counted(kit):
    todos = [("a", "completed", "high"), ("b", "in-progress", "low"), ("c", "pending", "high")]
    keys = "content", "status", "priority"
    kit.call("todowrite", {"todos": [dict(zip(keys, one, strict=True)) for one in todos]})
    data = kit.call("todoread", {"priority": "high"}).wire["data"]
    assert [one["content"] for one in data["todos"]] == ["a", "c"]
    assert [one["content"] for one in kit.call("todoread", {"status": "in_progress"}).wire["data"]["todos"]] == ["b"]
    assert round(kit.call("todoread", {}).wire["data"]["progress"]) == 33


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/usr/x.txt", "/proc/1/x.md", "/root/.x.txt", "../x.txt", "d/../../x.txt"]
)
def test_restricted_areas_are_denied(kit, path):
    wire = kit.call("read", {"filePath": path}).wire
    assert (wire["error"].startswith("Access denied"), wire["metadata"]["errorType"]) == (True, "security")


def test_errors_have_five_types_and_four_codes(kit, put):
    put({"a.txt": "x"})

    @tool(Effect.NONE)
    def late() -> str:
        """Take too long."""
        raise TimeoutError("too late")

    @tool(Effect.NONE)
    def lost() -> str:
        """Lose the connection."""
        raise ConnectionError("no network")

    kit.register(late)
    kit.register(lost)
    calls = [("read", {}), ("read", {"filePath": "/x"}), ("read", {"filePath": "b.txt"}), ("late", {}), ("lost", {})]
    told = [kit.call(*one).wire["metadata"] for one in calls]
    assert [(one["errorType"], one["errorCode"]) for one in told] == [
        ("validation", "INVALID_PARAMETER"),
        ("security", "ACCESS_DENIED"),
        ("execution", "EXECUTION_FAILED"),
        ("timeout", "EXECUTION_TIMEOUT"),
        ("system", "EXECUTION_FAILED"),
    ]


def test_an_answer_is_never_older_than_the_file(kit, put):
    put({"a.txt": "one\n"})
    calls = [("read", {"filePath": "a.txt"}), ("grep", {"pattern": "one|two"}), ("list", {})]
    before = [kit.call(*one).wire["data"] for one in calls]
    put({"a.txt": "two\n", "b.txt": ""})
    after = [kit.call(*one).wire["data"] for one in calls]
    assert (before[0]["content"], after[0]["content"]) == ("one\n", "two\n")
    assert (before[1]["matches"][0]["text"], after[1]["matches"][0]["text"]) == ("one", "two")
    assert (before[2]["totalCount"], after[2]["totalCount"]) == (1, 2)


def test_three_tools_run_at_once(kit):
    assert kit.limits.concurrency == 3
    running, most, lock, start = [], [], threading.Lock(), threading.Barrier(3, timeout=20)

    @tool(Effect.NONE)
    def busy(number: int) -> str:
        """Be busy."""
        with lock:
            running.append(number)
            most.append(len(running))
        if number < 3:
            start.wait()  # three are here together
        with lock:
            running.remove(number)
        return "done"

    kit.register(busy)
    kit.execute([{"id": "x", "function": {"name": "busy", "arguments": json.dumps({"number": n})}} for n in range(7)])
    assert (len(most), max(most)) == (7, 3)


def test_definitions_have_openai_s_shape_with_the_required_parameters(kit):
    definition = next(one for one in kit.definitions("openai") if one["function"]["name"] == "edit")
    assert (definition["type"], definition["function"]["parameters"]["required"]) == (
        "function",
        ["filePath", "oldString", "newString"],
    )


def test_todos_of_a_session_last(open_kit):
    open_kit("fosscode", session="s1").call("todowrite", {"todos": [{"content": "a"}]})
    assert open_kit("fosscode", session="s1").call("todoread").wire["data"]["totalTodos"] == 1


def test_what_the_allowed_types_leave_out_of_a_search_is_said(kit, put):
    put({"a.yaml": "needle\n", "b.html": "needle\n", "c.py": "needle\n"})
    tree = kit.call("grep", {"pattern": "needle"}).text
    assert "c.py" in tree
    assert "Left out: 2 files with matches, of types that are not allowed." in tree
    assert "Left out: 1 file with matches" in kit.call("grep", {"pattern": "needle", "path": "a.yaml"}).text


def test_a_backup_can_be_read_as_the_file_that_it_is_of(kit, put):
    put({"a.ts": "one\n", "b.yaml.backup.17": "x\n"})
    data = kit.call("edit", {"filePath": "a.ts", "oldString": "one", "newString": "two"}).data
    assert "one" in kit.call("read", {"filePath": data["backupPath"]}).text
    assert kit.call("read", {"filePath": "b.yaml.backup.17"}).error.code == "SecurityError"


def test_an_unknown_tool_lists_those_of_the_mode_and_node_names_of_encodings_are_known(kit, open_kit):
    assert (
        "There are: read, grep, list, glob, todoread, webfetch."
        in open_kit("fosscode", mode="thinking").call("nope").text
    )
    for number, encoding in enumerate(("utf16le", "ucs2", "UCS-2", "binary", "latin1")):
        given = {"filePath": f"{number}.txt", "content": "h\u00e9\n", "encoding": encoding}
        assert kit.call("write", given).ok
        assert "h\u00e9" in kit.call("read", {"filePath": f"{number}.txt", "encoding": encoding}).text
