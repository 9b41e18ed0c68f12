"""Replace text in many files at once: all of them or none."""

import os
import signal
import subprocess
import sys

import pytest

from toolroll import Kit

pytestmark = pytest.mark.usefixtures("each_regex_engine")


@pytest.fixture(autouse=True)
def files(put):
    put(
        {
            "a.ts": "foo(foo)\r\n",
            "b/c.ts": "Foo food f\u00f6\u00f6 foo\n",
            "n.md": "foo\n",
            "bin.ts": b"foo\0",
            ".gitignore": "gen\n",
            "gen/g.ts": "foo\n",
        }
    )


BASE = {"pattern": "**/*.ts", "find": "foo", "replace": "bar"}


@pytest.mark.parametrize(
    ("arguments", "total", "a", "c"),
    [
        ({}, 4, b"bar(bar)\r\n", "Foo bard f\u00f6\u00f6 bar\n"),
        ({"whole_word": True}, 3, b"bar(bar)\r\n", "Foo food f\u00f6\u00f6 bar\n"),
        ({"case_sensitive": False}, 5, b"bar(bar)\r\n", "bar bard f\u00f6\u00f6 bar\n"),
        ({"find": r"(f)oo\b", "replace": "${1}ee$$", "regex": True}, 3, b"fee$(fee$)\r\n", "Foo food f\u00f6\u00f6 fee$\n"),
        ({"find": "f\u00f6\u00f6", "replace": "x"}, 1, b"foo(foo)\r\n", "Foo food x foo\n"),
        ({"find": "\\)", "replace": ",\n)", "regex": True}, 1, b"foo(foo,\r\n)\r\n", "Foo food f\u00f6\u00f6 foo\n"),
        ({"exclude": "b/**"}, 2, b"bar(bar)\r\n", "Foo food f\u00f6\u00f6 foo\n"),
        ({"include": "c.*"}, 2, b"foo(foo)\r\n", "Foo bard f\u00f6\u00f6 bar\n"),
        ({"path": "b"}, 2, b"foo(foo)\r\n", "Foo bard f\u00f6\u00f6 bar\n"),
        ({"replace": r"\1$1"}, 4, b"\\1$1(\\1$1)\r\n", "Foo \\1$1d f\u00f6\u00f6 \\1$1\n"),
    ],
)  # fmt: skip
def test_replaced(kit, ws, arguments, total, a, c):
    result = kit.call("multiedit", BASE | arguments)
    assert (result.ok, result.data["total"]) == (True, total), result.text
    assert (ws / "a.ts").read_bytes() == a
    assert (ws / "b/c.ts").read_text() == c
    assert (ws / "bin.ts").read_bytes() == b"foo\0"
    assert (ws / "gen/g.ts").read_text() == "foo\n"


def test_a_preview_changes_nothing_and_names_each_place(kit, ws):
    result = kit.call("multiedit", BASE | {"preview": True})
    assert [one["ids"] for one in result.data["files"]] == [["a.ts:1:1", "a.ts:1:5"], ["b/c.ts:1:5", "b/c.ts:1:14"]]
    assert "-foo(foo)\n+bar(bar)" in result.text
    assert (ws / "a.ts").read_bytes() == b"foo(foo)\r\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"expected_count": 5}, "Conflict", "4 occurrences"),
        ({"max_files": 1}, "TooLarge", "`max_files`"),
        ({"find": "nowhere"}, "NotFound", "does not occur"),
        ({"find": "(", "regex": True}, "ValidationError", "`find`"),
        ({"find": "(?=x)", "regex": True}, "ValidationError", "`find`"),
        ({"find": "x*", "regex": True}, "ValidationError", "empty"),
        ({"find": "(f)", "replace": "$2", "regex": True}, "ValidationError", "'2'"),
        ({"pattern": "../*"}, "SecurityError", "outside"),
    ],
)
def test_all_or_none(kit, ws, arguments, code, words):
    result = kit.call("multiedit", BASE | arguments)
    assert (result.error.code, words in result.text) == (code, True), result.text
    assert (ws / "a.ts").read_bytes() == b"foo(foo)\r\n"
    assert kit.journal.entries() == []


def test_a_file_that_cannot_be_written_leaves_the_others_alone(kit, ws, put):
    put({"z.ts": "foo\n"})
    kit.call("read", {"path": "z.ts"})
    put({"z.ts": "foo theirs\n"})
    assert kit.call("multiedit", BASE).error.code == "Conflict"
    assert (ws / "a.ts").read_bytes() == b"foo(foo)\r\n"


def test_one_undo_takes_all_of_it_back(kit, ws):
    assert kit.call("multiedit", BASE).ok
    assert len(kit.journal.entries()) == 1
    assert kit.call("undo").ok
    assert (ws / "a.ts").read_bytes() == b"foo(foo)\r\n"
    assert sorted(os.listdir(ws)) == [".gitignore", "a.ts", "b", "bin.ts", "gen", "n.md"]


def test_a_pattern_that_explodes_elsewhere_ends(kit, put):
    put({"long.ts": "a" * 50_000 + "b\n"})
    assert kit.call("multiedit", BASE | {"find": "(a+)+$", "replace": "x", "regex": True}).error.code == "NotFound"


KILLED = """
import os, signal, sys
from toolroll import Kit
rename, left = os.rename, int(sys.argv[3])

def renamed(source, target, **options):
    global left
    rename(source, target, **options)
    left -= target.endswith(".md")
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

os.rename = renamed
Kit(sys.argv[1], state_dir=sys.argv[2]).call("multiedit", dict(pattern="**/*.md", find="foo", replace="bar", max_files=200))
"""


@pytest.fixture
def many(ws, put):
    """Files in two folders, more than are replaced at a time; how they look now."""
    put({f"d{number % 2}/f{number}.md": f"foo {number}\n" for number in range(120)})
    return lambda: {path.relative_to(ws): path.read_text() for path in ws.rglob("*.md")}


def test_many_files_are_changed_and_taken_back(kit, many):
    before, opened = many(), len(os.listdir("/proc/self/fd"))
    result = kit.call("multiedit", BASE | {"pattern": "**/*.md", "max_files": 200})
    assert (result.data["total"], many()) == (121, {path: text.replace("foo", "bar") for path, text in before.items()})
    assert len(kit.journal.entries()[0].changes) == 121
    assert kit.call("undo").ok
    assert many() == before
    assert len(os.listdir("/proc/self/fd")) < opened + 50  # folders of our state, but none for each file


@pytest.mark.parametrize("renames", [1, 60, 110])
@pytest.mark.parametrize("each_regex_engine", ["re2"], indirect=True)  # the child has its own
def test_a_kill_among_many_leaves_none_changed(ws, many, tmp_path, renames):
    before, state = many(), tmp_path / "state of the killed"
    child = subprocess.run([sys.executable, "-c", KILLED, ws, state, str(renames)], check=False)
    assert child.returncode == -signal.SIGKILL
    assert sum(text.startswith("bar") for text in many().values()) == renames
    with Kit(ws, state_dir=state) as kit:
        assert (kit.recovered, many()) == ([], before)


def test_a_change_by_others_among_many_takes_all_back_but_theirs(kit, ws, many, monkeypatch):
    before, rename = many(), os.rename
    last = max(before)

    def renamed(source, target, **options):
        rename(source, target, **options)
        if target.endswith(".md"):
            (ws / last).write_text("foo theirs\n")

    monkeypatch.setattr(os, "rename", renamed)
    result = kit.call("multiedit", BASE | {"pattern": "**/*.md", "max_files": 200})
    assert (result.error.code, str(last) in result.text) == ("Conflict", True)
    assert many() == before | {last: "foo theirs\n"}
    assert kit.journal.entries() == []
