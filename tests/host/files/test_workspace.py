"""Strict reads, atomic writes, and a guard against changes nobody has seen."""

import os
import stat
from dataclasses import replace

import pytest

from toolroll import ToolError
from toolroll.host.files.workspace import _changed_lines
from toolroll.kit import preset
from toolroll.policy.commands import Rule
from toolroll.text.encoding import UTF8


def test_bytes_outside_an_edit_stay(kit, put, ws):
    before = "\ufeffeins\r\nzwei\ndrei\r\nvier".encode()
    put({"a.txt": before})
    assert kit.call("edit", {"path": "a.txt", "old": "zwei", "new": "ZWEI"}).ok
    assert (ws / "a.txt").read_bytes() == before.replace(b"zwei", b"ZWEI")


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig", "utf-32"])
def test_an_edit_keeps_encoding_and_mark(kit, put, ws, codec):
    put({"a.txt": "h\u00e9llo w\u00f6rld\r\n".encode(codec)})
    assert kit.call("edit", {"path": "a.txt", "old": "w\u00f6rld", "new": "\u4e16\u754c"}).ok
    assert (ws / "a.txt").read_bytes() == "h\u00e9llo \u4e16\u754c\r\n".encode(codec)


def test_a_declared_encoding_is_kept_for_later_edits(kit, put, ws):
    put({"a.txt": "Stra\u00dfe\n".encode("cp1252")})
    refused = kit.call("read", {"path": "a.txt"})
    assert (refused.error.code, "`encoding`" in refused.text) == ("ValidationError", True)
    assert kit.call("read", {"path": "a.txt", "encoding": "cp1252"}).text == "1\tStra\u00dfe"
    assert kit.call("edit", {"path": "a.txt", "old": "Stra\u00dfe", "new": "Stra\u00dfen"}).ok
    assert (ws / "a.txt").read_bytes() == "Stra\u00dfen\n".encode("cp1252")


def test_where_nobody_can_name_an_encoding_it_is_guessed(open_kit, put, ws):
    kit = open_kit("pigo")
    put({"a.txt": "Stra\u00dfe 1\r\nb\n".encode("cp1252")})
    assert kit.call("edit", {"path": "a.txt", "old_string": "Stra\u00dfe", "new_string": "Gasse"}).ok
    put({"a.txt": "Stra\u00dfe 1\r\nb\n".encode("cp1252")})
    assert kit.call("edit", {"path": "a.txt", "old_string": "b", "new_string": "\u00fc"}).ok
    assert (ws / "a.txt").read_bytes() == "Stra\u00dfe 1\r\n\u00fc\n".encode("cp1252")
    shown = kit.call("read", {"path": "a.txt"})
    assert (shown.text, shown.meta["encoding"]) == (
        "1\tStra\u00dfe 1\n2\t\u00fc\n(Not UTF-8: read as cp1252.)",
        "cp1252",
    )
    put({"a.txt": "Stra\u00dfe\n"})
    assert kit.call("read", {"path": "a.txt"}).text == "1\tStra\u00dfe"


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        ("native", " It looks like 'cp1252': give that as `encoding` of `read` first."),
        ("cdd", ""),
    ],
)
def test_an_edit_tells_where_the_encoding_can_be_named(open_kit, put, ws, dialect, said):
    kit = open_kit(dialect)
    put({"a.txt": "caf\u00e9 b\n".encode("cp1252")})
    names = {"native": ("path", "old", "new"), "cdd": ("file_path", "old_string", "new_string")}[dialect]
    result = kit.call("edit", dict(zip(names, ("a.txt", "caf\u00e9", "c"), strict=True)))
    assert result.text == f"'a.txt' cannot be read. Not valid UTF-8 at byte 3 (line 1).{said}"


def test_an_encoding_that_does_not_survive_is_not_edited(kit, put, ws):
    data = b"\x1b$B\x1b(Bx\n"  # an empty escape sequence of ISO-2022-JP is lost when decoded
    put({"a.txt": data})
    result = kit.call("read", {"path": "a.txt", "encoding": "iso2022_jp"})
    assert result.ok
    assert kit.call("edit", {"path": "a.txt", "old": "x", "new": "y"}).error.code == "Unsupported"
    assert (ws / "a.txt").read_bytes() == data


def test_a_write_keeps_mode_and_link(kit, put, ws):
    put({"run.sh": "old\n"})
    (ws / "run.sh").chmod(0o750)
    (ws / "link").symlink_to("run.sh")
    assert kit.call("write", {"path": "link", "content": "new\n"}).ok
    assert (ws / "run.sh").read_text() == "new\n"
    assert stat.S_IMODE((ws / "run.sh").stat().st_mode) == 0o750
    assert os.readlink(ws / "link") == "run.sh"


def test_nothing_is_left_when_a_write_fails(kit, ws, put):
    put({"file": "x"})
    assert kit.call("write", {"path": "file/below/a.txt", "content": "x"}).error.code == "ValidationError"
    assert kit.call("write", {"path": "new/deep/a.txt", "content": "\ud800"}).error.code == "ValidationError"
    assert os.listdir(ws) == ["file"]


def test_too_much_is_refused(open_kit, ws, put):
    kit = open_kit(limits={"write_bytes": 10, "read_bytes": 10})
    put({"big.txt": "x" * 11})
    for name, arguments in (
        ("write", {"path": "a", "content": "x" * 11}),
        ("read", {"path": "big.txt"}),
        ("edit", {"path": "big.txt", "old": "x", "new": "y"}),
    ):
        result = kit.call(name, arguments)
        assert (result.error.code, "too large" in result.text) == ("TooLarge", True)
    assert os.listdir(ws) == ["big.txt"]


GUARDS = [
    # guard in the dialect, read before?, changed since?, may edit?
    ("pigo", False, False, True),
    ("pigo", True, True, True),
    ("native", False, False, True),
    ("native", True, False, True),
    ("native", True, True, True),  # by a quote to the letter
    ("cdd", False, False, False),
    ("cdd", True, False, True),
    ("cdd", True, True, False),
]


@pytest.mark.parametrize(
    ("now", "arguments", "said"),
    [
        ("# x\na = 1\nb = 2\n", {"old": "b = 2"}, "It was changed since it was read, in line 1 as they are now."),
        ("a = 1\nb  = 2\n", {"old": "b = 2"}, "modified since"),
        ("b = 2\nb = 2\n", {"old": "b = 2", "replace_all": True}, "modified since"),
        ("b = 2\nb = 2\n", {"old": "b = 2", "near_line": 2}, "modified since"),
    ],
)
def test_a_quote_to_the_letter_needs_no_fresh_read(kit, put, now, arguments, said):
    put({"a.py": "a = 1\nb = 2\n"})
    kit.call("read", {"path": "a.py"})
    put({"a.py": now})
    result = kit.call("edit", {"path": "a.py", "new": "b = 3", **arguments})
    assert (result.ok, said in result.text) == ("was changed" in said, True), result.text
    assert not kit.call("insert", {"path": "a.py", "line": 1, "content": "c"}).ok or result.ok


def test_bytes_that_are_no_text_are_kept(kit, put, ws):
    put({"a.txt": b"one\ncaf\xe9\n"})
    assert kit.call("edit", {"path": "a.txt", "old": "one", "new": "two"}).ok
    assert kit.call("insert", {"path": "a.txt", "line": 1, "content": "zero"}).ok
    assert (ws / "a.txt").read_bytes() == b"zero\ntwo\ncaf\xe9\n"
    assert "Not valid UTF-8" in kit.call("edit", {"path": "a.txt", "old": "two", "new": "zw\u00f6lf"}).text


@pytest.mark.parametrize(("dialect", "read", "changed", "may"), GUARDS)
def test_the_edit_guard(open_kit, put, ws, dialect, read, changed, may):
    kit = open_kit(dialect)
    put({"a.txt": "alpha\n"})
    path, old, new = ("path", "old", "new") if dialect == "native" else ("path", "old_string", "new_string")
    path = "file_path" if dialect == "cdd" else path
    if read:
        assert kit.call("read", {path: "a.txt"}).ok
    if changed:
        put({"a.txt": "alpha beta\n"})
    result = kit.call("edit", {path: "a.txt", old: "alpha", new: "omega"})
    assert result.ok is may, result.text
    if not may:
        assert result.error.code == "Conflict"
        assert result.error.suggest[0].name == "read"
        assert kit.call("read", dict(result.error.suggest[0].arguments)).ok
        assert kit.call("edit", {path: "a.txt", old: "alpha", new: "omega"}).ok


def test_a_touched_file_with_the_same_content_is_not_modified(kit, put, ws):
    put({"a.txt": "alpha\n"})
    kit.call("read", {"path": "a.txt"})
    put({"a.txt": "alpha\n"})
    os.utime(ws / "a.txt", (1, 1))
    assert kit.call("edit", {"path": "a.txt", "old": "alpha", "new": "omega"}).ok


def test_a_change_that_sets_the_time_back_is_still_seen(kit, put, ws):
    put({"a.txt": "alpha\n"})
    before = (ws / "a.txt").stat()
    kit.call("read", {"path": "a.txt"})
    (ws / "a.txt").write_text("ALPHA\n")
    os.utime(ws / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    result = kit.call("write", {"path": "a.txt", "content": "mine\n"})
    assert (result.error.code, "modified" in result.text) == ("Conflict", True)
    assert (ws / "a.txt").read_text() == "ALPHA\n"


def test_a_change_between_draft_and_save_is_refused(ctx, put, ws):
    put({"a.txt": "alpha\n"})
    draft = ctx.files.draft("a.txt")
    put({"a.txt": "theirs\n"})
    with pytest.raises(ToolError, match="modified"):
        ctx.files.save(draft, "mine\n")
    assert (ws / "a.txt").read_text() == "theirs\n"


def test_the_version_that_was_read_or_written_last_is_known(ctx, put):
    put({"a.txt": "alpha\n"})
    records = ctx.files.records
    assert records.get("a.txt").version is None
    read = ctx.files.read("a.txt")
    assert records.get("a.txt")[:2] == (read.version, read.encoding)
    ctx.files.write("a.txt", "beta\n")
    assert records.get("a.txt").version == ctx.files.peek("a.txt").version != read.version
    records.clear()
    assert records.get("a.txt").version is None


@pytest.mark.parametrize("path", [".git/config", "sub/.git/hooks/x", ".GIT/config", "link/x", ".git", ".hg/hgrc"])
def test_protected_paths_refuse_writes(kit, ws, put, path):
    put({".git/config": "[core]\n", "sub/.git/HEAD": "x"})
    (ws / "link").symlink_to(".git")
    result = kit.call("write", {"path": path, "content": "evil"})
    assert result.error.code == "SecurityError"
    assert not kit.call("move", {"source": "link", "target": ".git/y"}).ok
    assert kit.call("read", {"path": ".git/config"}).text == "1\t[core]"


@pytest.mark.usefixtures("file_modes")
def test_a_read_only_file_is_not_written(kit, put, ws):
    put({"a.txt": "x\n"})
    (ws / "a.txt").chmod(0o444)
    assert kit.call("write", {"path": "a.txt", "content": "y"}).error.code == "PermissionDenied"


def test_near_names_are_suggested(kit, put):
    put({"src/main.py": "x = 1\n", "src/util.py": ""})
    result = kit.call("read", {"path": "src/mian.py"})
    assert (result.error.code, result.error.details) == ("NotFound", {"near": ["src/main.py"]})
    suggestion = result.error.suggest[0]
    assert kit.call(suggestion.name, suggestion.arguments).text == "1\tx = 1"


def test_notes_of_an_edit_are_in_the_receipt_and_none_without_them(kit, put):
    put({"a.txt": "alpha\n"})
    kit.call("write", {"path": "b.txt", "content": "1"})
    kit.call("edit", {"path": "a.txt", "old": "alpha", "new": "beta"})
    written, edited = kit.journal.entries()
    assert written.note == {}
    assert set(edited.note) == {"a.txt"}


def test_many_files_of_several_folders_are_saved_together(ctx, put, ws):
    names = [f"{folder}/{name}" for folder in ("a", "b", "a/c") for name in ("x", "y")]
    put(dict.fromkeys(names, "old\n"))
    drafts = [ctx.files.draft(name) for name in names]
    ctx.files.save_all([(draft, f"{draft.path}\n", {}) for draft in drafts])
    assert {name: (ws / name).read_text() for name in names} == {name: f"{name}\n" for name in names}
    assert [ctx.files.records.get(name).version for name in names] == [ctx.files.peek(name).version for name in names]


def test_of_many_files_those_are_told_that_no_longer_parse(ctx, put):
    put({"a.py": "f(1)\n", "b.py": "f(2)\n"})
    drafts = [(ctx.files.draft("a.py"), "f(1\n", {}), (ctx.files.draft("b.py"), "f(3)\n", {})]
    assert ctx.files.save_all(drafts) == ("a.py does not parse any more, line 1: '(' was never closed.",)
    assert (ctx.files.recorder, ctx.files.rewritten()) == (None, [])


def test_many_files_that_are_saved_together_are_taken_back_together(kit, put, ws):
    put({"a.txt": "old\n", "d/b.txt": "old\n"})
    assert kit.call("multiedit", {"pattern": "**/*.txt", "find": "old", "replace": "new"}).ok
    (entry,) = kit.journal.entries()
    assert (sorted(entry.paths()), sorted(entry.note)) == (["a.txt", "d/b.txt"], ["a.txt", "d/b.txt"])
    assert [(ws / name).read_text() for name in entry.paths()] == ["new\n", "new\n"]
    assert kit.call("undo").ok
    assert [(ws / name).read_text() for name in entry.paths()] == ["old\n", "old\n"]


def test_a_file_that_was_touched_or_removed_between_draft_and_save(ctx, put, ws):
    put({"a.txt": "old\n", "b.txt": "old\n", "d/c.txt": "old\n"})
    touched, removed = ctx.files.draft("a.txt"), ctx.files.draft("b.txt")
    os.utime(ws / "a.txt", (1, 1))
    assert ctx.files.save(touched, "new\n").changed
    (ws / "b.txt").unlink()
    with pytest.raises(ToolError, match=r"'b\.txt' was modified"):
        ctx.files.save(removed, "new\n")
    assert ((ws / "a.txt").read_text(), (ws / "b.txt").exists()) == ("new\n", False)
    assert ctx.files.at("d").draft("c.txt").path == "d/c.txt"


def test_only_a_change_that_breaks_a_file_is_refused(ctx, put):
    put({"good.py": "f(1)\n", "bad.py": "f(\n"})
    good, bad = ctx.files.draft("good.py"), ctx.files.draft("bad.py")
    ctx.files.check_syntax(good, "f(2)\n")
    ctx.files.check_syntax(bad, "g(\n")
    with pytest.raises(ToolError, match=r"Syntax error in 'good.py' after this change, .*left as it was"):
        ctx.files.check_syntax(good, "f(\n")


def test_a_text_is_written_over_what_is_none(ctx, put, ws):
    put({"a.txt": b"\0\1\2"})
    assert ctx.files.write("a.txt", "caf\u00e9").encoding == UTF8
    assert (ws / "a.txt").read_bytes() == b"caf\xc3\xa9"


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (None, b"a\n", "read."),
        (b"a\nb\nc\n", b"A\nb\nc\n", "read, in line 1 as"),
        (b"a\nb\nc\n", b"a\nB\nc\n", "read, in line 2 as"),
        (b"a\nb\nc\n", b"a\nX\nY\nc\n", "read, in lines 2-3 as"),
        (b"a\nb\nc\n", b"a\nb\nc\nd\n", "read, in line 4 as"),
        (b"a\nb\nc\n", b"a\nc\n", "read, in line 2 as"),
        (b"a\nb\nc\n", b"", "read, in line 1 as"),
    ],
)
def test_which_lines_were_changed_since_they_were_read(before, now, said):
    assert f"It was changed since it was {said}" in _changed_lines(before, now)


def test_of_many_files_none_is_overwritten_that_was_changed_meanwhile(ctx, put, ws):
    put({"a": "old\n", "b": "old\n"})
    drafts = [ctx.files.draft(name) for name in ("a", "b")]
    put({"b": "theirs\n"})
    with pytest.raises(ToolError, match="'b' was modified"):
        ctx.files.save_all([(draft, "mine\n", {}) for draft in drafts])
    assert (ws / "b").read_text() == "theirs\n"


def test_a_write_that_is_too_large_or_not_wanted_changes_nothing(open_kit, put, ws):
    files = open_kit(limits={"write_bytes": 4}).context().files
    put({"a.txt": "1\n"})
    assert files.write("a.txt", "1234").changed
    with pytest.raises(ToolError, match=r"5 bytes, the limit is 4\. Make several smaller files"):
        files.write("a.txt", "12345")
    with pytest.raises(ToolError, match="the limit is 4"):
        files.save(files.draft("a.txt"), "12345")
    with pytest.raises(ToolError, match=r"'a\.txt' exists\. Set `overwrite`"):
        files.write("a.txt", "2", overwrite=False)
    with pytest.raises(ToolError, match="is a kept output"):
        files.write("spill:x", "2")
    assert (ws / "a.txt").read_text() == "1234"
    same = files.write("a.txt", "1234")
    assert (same.changed, same.created) == (False, False)
    made = files.write("new/b.txt", b"\xff", mode=0o600)
    assert (made.created, (ws / "new/b.txt").read_bytes()) == (True, b"\xff")
    assert stat.S_IMODE((ws / "new/b.txt").stat().st_mode) == 0o600
    with pytest.raises(IsADirectoryError):
        files.write("new", "x")


def test_a_backup_is_beside_the_file_and_says_when(ctx, put, ws):
    put({"sub/a.txt": "alpha\n"})
    name = ctx.files.back_up(ctx.files.draft("sub/a.txt"))
    assert name.startswith("sub/a.txt.backup.")
    assert (ws / name).read_text() == "alpha\n"
    assert (ws / "sub/a.txt").read_text() == "alpha\n"


def test_a_backup_may_be_made_where_the_file_may_be_written(open_kit, put, ws):
    put({"sub/a.txt": "alpha\n", "kept/b.txt": "beta\n"})
    rules = (Rule("deny", path="kept/**", effect="write"),)
    policy = replace(preset("standard"), extensions=frozenset({".txt"}), rules=rules)
    files = open_kit(policy=policy).context().files
    assert (ws / files.back_up(files.draft("sub/a.txt"))).read_text() == "alpha\n"
    with pytest.raises(ToolError, match="not allowed by a rule"):
        files.back_up(files.draft("kept/b.txt"))


def test_a_new_content_that_does_not_parse_is_refused(ctx):
    ctx.files.check_new_syntax("a.py", "f(1)\n")
    ctx.files.check_new_syntax("a.txt", "f(\n")
    with pytest.raises(ToolError, match=r"Syntax error in the new 'a\.py', .*Nothing was written"):
        ctx.files.check_new_syntax("a.py", "f(\n")


def test_without_a_place_of_our_own_a_file_is_made_beside_the_old_one(ctx, put, ws, monkeypatch):
    put({"a.txt": "old\n"})

    def refuse(_name):
        raise PermissionError

    assert ctx.files._stage() is not None
    monkeypatch.setattr(ctx.files.state, "folder", refuse)
    assert ctx.files._stage() is None


def test_a_draft_that_stays_the_same_is_not_written(ctx, put, ws):
    put({"a.txt": "old\n"})
    draft, before = ctx.files.draft("a.txt"), (ws / "a.txt").stat()
    assert ctx.files.save(draft, "old\n").changed is False
    assert (ws / "a.txt").stat() == before
