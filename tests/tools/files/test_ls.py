"""List a folder."""

import pytest

FILES = {"b.txt": "22", "a.txt": "1", ".h": "x", "d/e.txt": "1", "d/.i": "", ".d/f": ""}


@pytest.fixture(autouse=True)
def files(put, ws):
    put(FILES)
    (ws / "l").symlink_to("a.txt")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "a.txt\nb.txt\nd/\nl -> a.txt\n(2 hidden not shown)"),
        ({"path": "."}, "a.txt\nb.txt\nd/\nl -> a.txt\n(2 hidden not shown)"),
        ({"hidden": True}, ".d/\n.h\na.txt\nb.txt\nd/\nl -> a.txt"),
        ({"depth": 2}, "a.txt\nb.txt\nd/\nd/e.txt\nl -> a.txt\n(4 hidden not shown)"),
        ({"path": "d"}, "e.txt\n(1 hidden not shown)"),
        ({"path": ".d"}, "f"),
    ],
)
def test_entries(kit, arguments, text):
    assert kit.call("ls", arguments).text == text


@pytest.mark.usefixtures("file_modes")
def test_a_folder_that_cannot_be_read_does_not_hide_the_others(kit, ws):
    (ws / "d").chmod(0)
    text = kit.call("ls", {"depth": 2}).text
    (ws / "d").chmod(0o700)
    assert text == "a.txt\nb.txt\nd/\nl -> a.txt\n(3 hidden not shown; 1 folder could not be read)"


def test_a_limit_is_told(ctx):
    from toolroll.tools.files.ls import ls

    listed = ls(ctx, limit=2, hidden=True)
    assert (len(listed.entries), listed.total, listed.note) == (2, 6, "(2 of 6 entries shown)")


def test_by_size(ctx):
    from toolroll.tools.files.ls import ls

    assert [one.path for one in ls(ctx, path="d", hidden=True, sort="size").entries] == ["d/e.txt", "d/.i"]


@pytest.mark.parametrize(
    ("path", "code"), [("nope", "NotFound"), ("a.txt", "ValidationError"), ("..", "SecurityError")]
)
def test_what_cannot_be_listed(kit, path, code):
    assert kit.call("ls", {"path": path}).error.code == code


def test_an_empty_folder(kit, ws):
    (ws / "empty").mkdir()
    assert kit.call("ls", {"path": "empty"}).text == "(empty)"
