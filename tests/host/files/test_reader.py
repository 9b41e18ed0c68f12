"""Reading files of a workspace: which file is meant, what may be opened, and what counts as seen."""

from __future__ import annotations

import os
import stat
from dataclasses import FrozenInstanceError, replace

import pytest

from tests.waiting import closed_again, descriptors
from toolroll import ToolError
from toolroll.host.files.reader import ContentChange, FileReader, TextFile, read_all
from toolroll.host.files.versions import Version
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.kit import preset
from toolroll.policy.commands import Rule
from toolroll.result import Suggestion
from toolroll.text.encoding import UTF8, Encoding

VERSION = Version((1, 2, 3, 4, 5))


@pytest.fixture
def files(ctx, put):
    put({"a.txt": "alpha\nbeta\n", "sub/b.txt": "b\n", "sub/deep/c.txt": "c\n"})
    return ctx.files


def test_a_path_is_relative_to_the_folder_of_the_reader(files):
    assert files.where("a.txt") == (files.root, "a.txt")
    inner = files.at("sub")
    assert inner.where("b.txt") == (files.root, "sub/b.txt")
    assert inner.where("/x") == (files.root, "/x")
    assert inner.where("") == (files.root, "")
    assert inner.read("deep/c.txt").path == "sub/deep/c.txt"
    assert files.where("spill:abc")[1] == "abc"
    assert files.where("spill:abc")[0] is not files.root


def test_a_shown_escape_means_the_file_unless_there_is_one_of_that_name(files, ws):
    (ws / "new\nline").write_text("1")
    assert files.where("new\\nline") == (files.root, "new\nline")
    (ws / "new\\nline").write_text("2")
    assert files.where("new\\nline") == (files.root, "new\\nline")
    assert files.where("no\\nfile") == (files.root, "no\\nfile")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("a.txt", ("a.txt",)),
        ("./sub//b.txt", ("sub", "b.txt")),
        ("sub/../a.txt", ("a.txt",)),
        ("sub/deep/../../sub/b.txt", ("sub", "b.txt")),
        (".", ()),
        ("..", ()),
    ],
)
def test_the_key_of_a_path(files, path, key):
    assert files.key(path) == key


def test_reading_counts_as_seen_and_a_peek_does_not(files):
    assert files.peek("a.txt").text == "alpha\nbeta\n"
    assert files.records.get("a.txt").version is None
    read = files.read("a.txt")
    assert files.records.get("a.txt")[:2] == (read.version, UTF8)
    files.records.clear()
    window = files.window("sub/../a.txt", 2, 1, None)
    assert (window.lines, window.total, window.ended) == (("beta",), 2, True)
    assert files.records.get("a.txt").version == read.version
    assert [files.window("a.txt", *lines, None).ended for lines in ((1, 1), (1, 2), (2, 9))] == [False, True, True]


def test_an_absolute_path_relative_to_a_folder(files, ws):
    found = [files.relative(f"{ws}/sub/b.txt", folder) for folder in ("sub", ".", "./", "sub/deep", "other")]
    assert found == ["b.txt", "sub/b.txt", "sub/b.txt", None, None]
    assert files.relative("/etc/passwd", ".") is None


def test_bytes_that_are_no_text_are_kept_where_they_are_asked_for(files, put):
    put({"mixed.txt": b"a \xff b\n", "wide.txt": b"\xff\xfea\0\0\xd8"})
    found = files.peek("mixed.txt", strays=True)
    assert (found.text, found.encoding.errors, found.stale) == ("a \udcff b\n", "surrogateescape", False)
    assert found.stray is not None
    assert files.peek("a.txt", strays=True).stray is None
    for path, encoding, strays in [("mixed.txt", None, False), ("mixed.txt", "utf-8", True), ("wide.txt", None, True)]:
        with pytest.raises(ToolError):
            files.peek(path, encoding, strays=strays)


def test_the_likeliest_encoding_is_guessed_only_where_that_is_wanted(files, put):
    put({"old.txt": "déjà vu, où est le café?\n".encode("cp1252")})
    plain, guessing = (
        FileReader(files.root, files._spill, files._limits, files._policy, **options)
        for options in ({}, {"guess": True})
    )
    with pytest.raises(ToolError):
        plain.peek("old.txt")
    assert guessing.peek("old.txt").text == "déjà vu, où est le café?\n"
    assert guessing.peek("old.txt", "cp1251").text != plain.peek("old.txt", "cp1252").text


@pytest.mark.parametrize(("more", "whole"), [(0, True), (-1, False)])
def test_a_file_that_is_read_in_part_has_no_digest(files, monkeypatch, more, whole):
    monkeypatch.setattr("toolroll.host.files.reader._WHOLE_BYTES", len("alpha\nbeta\n") + more)
    assert files.window("a.txt", 1, 9, CancelToken()).lines == ("alpha", "beta")
    assert (files.records.get("a.txt").version.digest is not None) is whole


def test_limits_of_size(open_kit, put):
    put({"a.txt": "x" * 100, "b.txt": "x" * 101})
    files = open_kit(limits={"read_bytes": 100, "write_bytes": 100}).context().files
    assert files.window("a.txt", 1, 1, None).lines == ("x" * 100,)
    assert files.window("b.txt", 1, 1, None, ranged=True).lines == ("x" * 101,)
    with pytest.raises(ToolError, match=r"'b.txt' is too large: 101 bytes, the limit is 100\. Use `grep`.*give `end`"):
        files.window("b.txt", 1, 1, None)
    with pytest.raises(ToolError, match="the limit is 100"):
        files.peek("b.txt")
    assert files.peek("a.txt").data == b"x" * 100
    assert files.data("b.txt", 101) == b"x" * 101
    with pytest.raises(ToolError, match="the limit is 99"):
        files.data("a.txt", 99)


def test_a_missing_file_with_names_like_it(files, ws):
    error = files.missing("sub/bb.txt")
    assert (error.code, error.details) == ("NotFound", {"near": ["sub/b.txt"]})
    assert error.message == "File not found: there is no 'sub/bb.txt'. Did you mean 'sub/b.txt'?"
    assert error.suggest == (Suggestion("", {"sub/bb.txt": "sub/b.txt"}),)
    assert files.missing("subs/b.txt").details == {"near": ["sub"]}
    assert files.missing("zzz").message.endswith("Use `find` or `ls` to see what there is.")
    assert files.missing("../zzz").details == {"near": []}
    (ws / "gone").symlink_to("nowhere")
    assert files.missing("gone").message == "File not found: 'gone' is a link, and its target is not there."
    for number in range(5):
        (ws / f"name{number}").touch()
    assert len(files.missing("name9").details["near"]) == 3
    with pytest.raises(ToolError, match=r"Did you mean 'a\.txt'"):
        files.read("a.tx")


def test_what_is_no_file(files):
    with pytest.raises(ToolError, match=r"'sub' is a directory, not a file\. Look into it with `ls`"):
        files.read("sub")


def test_only_some_types_of_files_are_opened(open_kit, put):
    put({"a.txt": "1", "b.PY": "2", "c": "3", ".env": "4"})
    policy = replace(preset("standard"), extensions=frozenset({".py"}))
    files = open_kit(policy=policy).context().files
    assert [files.read(name).text for name in ("b.PY", "c", ".env")] == ["2", "3", "4"]
    before = descriptors()
    with pytest.raises(ToolError, match=r"Access denied: File type '\.txt' is not allowed") as caught:
        files.read("a.txt")
    assert caught.value.code == "SecurityError"
    assert closed_again(before)


def test_a_rule_of_the_operator_denies_a_path(open_kit, put):
    put({"a.txt": "1", "private/b.txt": "2"})
    policy = replace(preset("standard"), rules=(Rule("deny", path="private/**"),))
    files = open_kit(policy=policy).context().files
    assert files.read("a.txt").text == "1"
    with pytest.raises(ToolError, match=r"'private/b.txt' is .*Use another path") as caught:
        files.read("private/b.txt")
    assert caught.value.code == "PermissionDenied"


def test_the_encoding_that_a_file_was_read_in_before_is_used_again(files, put):
    put({"a.txt": "caf\u00e9\n".encode("cp1252")})
    with pytest.raises(
        ToolError, match=r"'a.txt' cannot be read\. Not valid UTF-8 at byte 3 \(line 1\)\. It looks like"
    ):
        files.read("a.txt")
    assert files.read("a.txt", "cp1252").text == "caf\u00e9\n"
    assert files.read("a.txt").text == "caf\u00e9\n"
    assert files.read("a.txt", "latin-1").encoding == Encoding("iso8859-1")
    put({"c.txt": "caf\u00e9\n".encode("utf-16")})
    assert files.read("c.txt").encoding.codec == "utf-16-le"
    put({"c.txt": "caf\u00e9\n"})  # without its byte order mark it is another encoding now
    assert files.read("c.txt").text == "caf\u00e9\n"
    put({"b.bin": b"\x7fELF\0\0"})
    with pytest.raises(ToolError, match=r"'b.bin' cannot be read as text\. It is a binary file \(ELF program\)"):
        files.read("b.bin")


@pytest.mark.parametrize(
    ("data", "encoding", "plain", "round_trips"),
    [
        (b"abc", UTF8, True, True),
        ("\u00e9".encode(), UTF8, False, True),
        (b"\xef\xbb\xbfabc", Encoding("utf-8", b"\xef\xbb\xbf"), False, True),
        (b"abc", Encoding("cp1252"), False, True),
        (b"\x1b$B\x1b(Bx\n", Encoding("iso2022_jp"), False, False),
    ],
)
def test_a_text_file(data, encoding, plain, round_trips):
    file = TextFile("a", data, encoding, VERSION)
    assert (file.plain, file.round_trips) == (plain, round_trips)


def test_a_change_and_its_diff():
    made = ContentChange("a", None, b"x\n", UTF8)
    assert (made.created, made.changed, made.diff()) == (True, True, "")
    same = ContentChange("a", b"x\n", b"x\n", UTF8)
    assert (same.created, same.changed, same.diff()) == (False, False, "")
    assert ContentChange("a", b"x\n", b"y\n", UTF8).diff() == "@@ -1,1 +1,1 @@\n-x\n+y"
    mark = Encoding("utf-8", b"\xef\xbb\xbf")
    assert ContentChange("a", mark.encode("x\n"), mark.encode("y\n"), mark).diff() == "@@ -1,1 +1,1 @@\n-x\n+y"
    wide = Encoding("utf-16-le", b"\xff\xfe")
    assert (
        ContentChange("a", wide.encode("x\n"), wide.encode("\u010a\n"), wide).diff() == "@@ -1,1 +1,1 @@\n-x\n+\u010a"
    )
    assert ContentChange("a", b"\xff\n", b"\xfe\n", UTF8).diff() == "@@ -1,1 +1,1 @@\n-\\xff\n+\\xfe"


def test_a_file_that_no_longer_parses_is_told():
    assert ContentChange("a.py", b"f(1)\n", b"f(1\n", UTF8).verdict.endswith("line 1: '(' was never closed.")
    assert ContentChange("a.py", b"f(\n", b"f(1\n", UTF8).verdict == ""


def test_a_file_that_grew_is_read_to_its_end(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 10_000)
    for size in (10_000, 9_999, 10, 0):
        fd = os.open(path, os.O_RDONLY)
        assert read_all(fd, size) == b"x" * 10_000
        os.close(fd)
    assert stat.S_ISREG(path.stat().st_mode)


def test_what_was_read_and_written_cannot_be_changed():
    for value in (TextFile("a", b"", UTF8, VERSION), ContentChange("a", b"", b"", UTF8)):
        with pytest.raises(FrozenInstanceError):
            value.path = "b"
    assert not hasattr(value, "__dict__")


def test_bytes_count_as_seen_only_where_that_is_asked_for(files, put):
    assert files.data("a.txt", 11) == b"alpha\nbeta\n"
    assert files.records.get("a.txt").version is None
    with pytest.raises(ToolError, match="too large"):
        files.data("a.txt", 10)
    assert files.data("a.txt", 11, seen=True) == b"alpha\nbeta\n"
    assert files.records.get("a.txt")[:2] == (files.read("a.txt").version, None)
