"""Create or replace a file."""

import pytest


def test_a_new_file_with_its_folders(kit, ws):
    result = kit.call("write", {"path": "a/b/c.txt", "content": "hi\n"})
    assert result.text == "Created a/b/c.txt (3 bytes)."
    assert result.data == {"path": "a/b/c.txt", "bytes": 3, "created": True, "changed": True, "diff": ""}
    assert (ws / "a/b/c.txt").read_text() == "hi\n"


def test_a_replaced_file_shows_what_changed(kit, put):
    put({"a.txt": "1\n2\n"})
    assert kit.call("write", {"path": "a.txt", "content": "1\nzwei\n"}).text == (
        "Wrote a.txt (7 bytes).\n@@ -1,2 +1,2 @@\n 1\n-2\n+zwei"
    )


def test_the_same_content_is_no_change(kit, put, ws):
    put({"a.txt": "same\n"})
    before = (ws / "a.txt").stat().st_mtime_ns
    result = kit.call("write", {"path": "a.txt", "content": "same\n"})
    assert (result.ok, result.data["changed"]) == (True, False)
    assert (ws / "a.txt").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"path": "a.txt", "content": "x", "overwrite": False}, "Conflict", "`overwrite`"),
        ({"path": "d", "content": "x"}, "ValidationError", "directory"),
        ({"path": "d/", "content": "x"}, "ValidationError", "directory"),
        ({"path": "new/", "content": "x"}, "ValidationError", "directory"),
        ({"path": ".", "content": "x"}, "SecurityError", "workspace itself"),
        ({"path": "a.txt"}, "ValidationError", "`content` is required"),
    ],
)
def test_what_cannot_be_written_is_told(kit, put, ws, arguments, code, words):
    put({"d/x": "1", "a.txt": "old"})
    result = kit.call("write", arguments)
    assert (result.error.code, words in result.text) == (code, True), result.text
    assert (ws / "a.txt").read_text() == "old"
    assert sorted(p.name for p in ws.iterdir()) == ["a.txt", "d"]


def test_permissions_of_a_new_file_and_of_one_that_is_there(ctx, ws):
    from toolroll.tools.files.write import write

    for content, asked, mode in (("x", "750", 0o750), ("y", None, 0o750), ("y", "640", 0o640)):
        write(ctx, "run.sh", content, mode=asked)
        assert ((ws / "run.sh").read_text(), (ws / "run.sh").stat().st_mode & 0o777) == (content, mode)


def test_what_a_command_has_made_of_a_file_is_read_before_all_of_it_is_replaced(kit, ws):
    kit.call("write", {"path": "a.txt", "content": "1\n"})
    kit.call("bash", {"command": "echo 2 >> a.txt"})
    refused = kit.call("write", {"path": "a.txt", "content": "3\n"})
    assert (refused.error.code, refused.error.suggest[0].name) == ("Conflict", "read")
    assert kit.call("read", {"path": "a.txt"}).ok
    assert kit.call("write", {"path": "a.txt", "content": "3\n"}).ok
    assert (ws / "a.txt").read_text() == "3\n"
