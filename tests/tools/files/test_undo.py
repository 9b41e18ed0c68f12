"""Take back what tools changed, byte for byte."""

import os
import stat

import pytest

from toolroll.tools.files.undo import undo


def tree(ws):
    """Everything in the workspace: name to kind, permissions and content."""
    found = {}
    for path in sorted(ws.rglob("*")):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        mode = None if path.is_symlink() else stat.S_IMODE(status.st_mode)
        found[str(path.relative_to(ws))] = (stat.S_IFMT(status.st_mode), mode, content)
    return found


@pytest.fixture(autouse=True)
def files(put, ws):
    put({"a.txt": "eins\r\nzwei\n", "d/x": "X", "d/e/y": b"\0\xff", "run.sh": "#!"})
    (ws / "run.sh").chmod(0o751)
    (ws / "d/link").symlink_to("x")
    (ws / "d/empty").mkdir(mode=0o700)


CALLS = [
    ("edit", {"path": "a.txt", "old": "zwei", "new": "drei"}),
    ("write", {"path": "run.sh", "content": "new"}),
    ("write", {"path": "new/deep/file.txt", "content": "new"}),
    ("insert", {"path": "a.txt", "line": 1, "content": "null"}),
    ("replace_lines", {"path": "a.txt", "start": 1, "end": 1, "content": ""}),
    ("delete", {"path": "a.txt"}),
    ("delete", {"path": "run.sh"}),
    ("delete", {"path": "d/link"}),
    ("delete", {"path": "d", "recursive": True}),
    ("move", {"source": "a.txt", "target": "b/c.txt"}),
    ("move", {"source": "a.txt", "target": "run.sh", "overwrite": True}),
    ("move", {"source": "d", "target": "q"}),
    ("copy", {"source": "d", "target": "copy/of/d"}),
    ("copy", {"source": "a.txt", "target": "run.sh", "overwrite": True}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_each_change_is_undone_to_the_byte(kit, ws, name, arguments):
    before = tree(ws)
    result = kit.call(name, arguments)
    assert result.ok, result.text
    assert tree(ws) != before
    assert kit.call("undo").text.startswith(f"Undone: {name} (entry 1).")
    assert tree(ws) == before


def test_all_of_them_one_after_the_other(kit, ws):
    before, done = tree(ws), 0
    for name, arguments in CALLS:
        done += kit.call(name, arguments).ok
    assert done >= 6
    assert kit.call("undo", {"steps": done}).ok
    assert tree(ws) == before
    assert kit.call("undo").error.code == "NotFound"


def test_an_undo_can_be_undone(kit, ws):
    kit.call("write", {"path": "a.txt", "content": "new"})
    after = tree(ws)
    kit.call("undo")
    numbers = [entry.number for entry in kit.journal.entries()]
    assert numbers == [1, 2]
    assert kit.call("undo").error.code == "NotFound"
    with kit.journal.entry("undo", "", "") as recorder:
        ctx = kit.context()
        ctx.files = ctx.files.recording(recorder)
        undo(ctx, entry=2)
    assert tree(ws) == after


def test_what_is_put_back_is_shown(kit, put):
    put({"a.py": "x = (1\n", "b.txt": "one\ntwo\n".encode("utf-16")})
    for path, old, new in (("a.py", "(1", "(1)"), ("a.py", "(1)", "(2)"), ("b.txt", "two", "zwei")):
        assert kit.call("edit", {"path": path, "old": old, "new": new}).ok
    assert kit.call("undo", {"steps": 3}).text == (
        "Undone: edit (entry 3), edit (entry 2), edit (entry 1). Put back: b.txt, a.py.\n"
        "b.txt\n@@ -1,2 +1,2 @@\n one\n-zwei\n+two\n"
        "a.py\n@@ -1,1 +1,1 @@\n-x = (2)\n+x = (1\n"
        "a.py does not parse any more, line 1: '(' was never closed."
    )


def test_no_diff_of_what_is_gone_or_no_text(kit):
    kit.call("edit", {"path": "a.txt", "old": "zwei", "new": "drei"})
    kit.call("move", {"source": "a.txt", "target": "b.txt"})
    kit.call("write", {"path": "new.txt", "content": "new"})
    kit.call("write", {"path": "d/e/y", "content": "text"})
    result = kit.call("undo", {"steps": 4})
    assert (result.data["paths"], result.data["files"]) == (["d/e/y", "new.txt", "a.txt", "b.txt"], [])


def test_by_path(kit, ws):
    kit.call("write", {"path": "a.txt", "content": "1"})
    kit.call("write", {"path": "d/x", "content": "2"})
    assert kit.call("undo", {"path": "a.txt"}).data["paths"] == ["a.txt"]
    assert ((ws / "a.txt").read_bytes(), (ws / "d/x").read_text()) == (b"eins\r\nzwei\n", "2")
    assert kit.call("undo", {"path": "d"}).ok
    assert (ws / "d/x").read_text() == "X"


def test_a_file_that_others_changed_is_kept_and_the_difference_shown(kit, ws):
    kit.call("write", {"path": "a.txt", "content": "ours\n"})
    (ws / "a.txt").write_text("theirs\n")
    result = kit.call("undo")
    assert result.error.code == "Conflict"
    assert "-ours\n+theirs" in result.text
    assert (ws / "a.txt").read_text() == "theirs\n"


def test_a_file_that_others_removed_is_not_brought_back_silently(kit, ws):
    kit.call("write", {"path": "a.txt", "content": "ours\n"})
    (ws / "a.txt").unlink()
    assert kit.call("undo").error.code == "Conflict"
    assert not (ws / "a.txt").exists()


def test_a_folder_that_others_use_stays(kit, ws, put):
    kit.call("write", {"path": "new/ours.txt", "content": "x"})
    put({"new/theirs.txt": "y"})
    assert kit.call("undo").ok
    assert sorted(os.listdir(ws / "new")) == ["theirs.txt"]


def test_the_journal_outlives_the_kit(open_kit, ws):
    before = tree(ws)
    open_kit().call("delete", {"path": "d", "recursive": True})
    assert open_kit().call("undo").ok
    assert tree(ws) == before


def test_reading_leaves_no_entry(kit):
    for name, arguments in (
        ("read", {"path": "a.txt"}),
        ("ls", {}),
        ("write", {"path": "a.txt", "content": "eins\r\nzwei\n"}),
    ):
        assert kit.call(name, arguments).ok
    assert kit.journal.entries() == []


def test_edits_of_a_large_file_are_taken_back_one_by_one(kit, ws, tmp_path):
    data = b"".join(b"line %d\n" % number for number in range(40_000))
    (ws / "large.txt").write_bytes(data)
    states = [data]
    for number in (39_000, 17, 20_000):
        assert kit.call("edit", {"path": "large.txt", "old": f"line {number}\n", "new": f"{number}\u00e9\n\n"}).ok
        states.append((ws / "large.txt").read_bytes())
    assert len(set(states)) == 4
    for state in reversed(states[:-1]):
        assert kit.call("undo").ok
        assert (ws / "large.txt").read_bytes() == state


def test_a_large_file_that_others_changed_is_shown_as_a_difference(kit, ws):
    (ws / "large.txt").write_bytes(b"same line\n" * 20_000 + b"old\n")
    assert kit.call("edit", {"path": "large.txt", "old": "old\n", "new": "new\n"}).ok
    (ws / "large.txt").write_bytes(b"same line\n" * 20_000 + b"newer\n")
    result = kit.call("undo")
    assert result.error.code == "Conflict"
    assert "-new\n+newer" in result.text


def test_a_move_and_what_was_written_in_its_place_are_put_back(kit, put, ws):
    """The journal keeps no content of what moves: there is nothing to show a diff of."""
    put({"a.txt": "first\n"})
    assert kit.call("move", {"source": "a.txt", "target": "b.txt"}).ok
    assert kit.call("write", {"path": "a.txt", "content": "second\n"}).ok
    result = kit.call("undo", {"steps": 2})
    assert result.ok, result.text
    assert ((ws / "a.txt").read_text(), (ws / "b.txt").exists()) == ("first\n", False)


def test_redo_takes_the_last_undo_back_once(kit, ws):
    kit.call("write", {"path": "a.txt", "content": "1\n"})
    kit.call("write", {"path": "a.txt", "content": "2\n"})
    kit.call("undo", {"entry": 2})
    assert kit.call("redo", {}).text.startswith("Redone: undo (entry 3). Put back: a.txt.")
    assert (ws / "a.txt").read_text() == "2\n"
    assert "There is no undo to take back" in kit.call("redo", {}).text
