"""Remove a file or folder."""

import os

import pytest


@pytest.fixture(autouse=True)
def files(put, ws, tmp_path):
    put({"a.txt": "1", "d/x": "1", "d/e/y": "2", "repo/.git/config": "[core]", "repo/src": "x"})
    (ws / "empty").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/keep").write_text("x")
    (ws / "link").symlink_to("../outside")
    (ws / "d/link").symlink_to("../../outside")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"path": "a.txt"}, "Deleted a.txt."),
        ({"path": "empty"}, "Deleted empty."),
        ({"path": "link"}, "Deleted link."),
        ({"path": "d", "recursive": True}, "Deleted d (5 entries)."),
    ],
)
def test_gone(kit, ws, tmp_path, arguments, text):
    assert kit.call("delete", arguments).text == text
    assert not os.path.lexists(ws / arguments["path"])
    assert (tmp_path / "outside/keep").read_text() == "x"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"path": "d"}, "Conflict"),
        ({"path": "none"}, "NotFound"),
        ({"path": "."}, "SecurityError"),
        ({"path": "d/.."}, "SecurityError"),
        ({"path": "link/keep"}, "SecurityError"),
        ({"path": "repo/.git", "recursive": True}, "SecurityError"),
        ({"path": "repo", "recursive": True}, "SecurityError"),
    ],
)
def test_kept(kit, ws, arguments, code):
    before = sorted(str(path) for path in ws.rglob("*"))
    assert kit.call("delete", arguments).error.code == code
    assert sorted(str(path) for path in ws.rglob("*")) == before
