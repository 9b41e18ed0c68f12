"""Rename or move a file or folder."""

import os

import pytest


@pytest.fixture(autouse=True)
def files(put, ws, tmp_path):
    put({"a.txt": "A", "b.txt": "B", "d/x": "X", "repo/.git/config": "[core]"})
    (tmp_path / "outside").mkdir()
    (ws / "out").symlink_to("../outside")
    (ws / "also_a").hardlink_to(ws / "a.txt")


@pytest.mark.parametrize(
    ("arguments", "there", "gone"),
    [
        ({"source": "a.txt", "target": "c.txt"}, "c.txt", "a.txt"),
        ({"source": "a.txt", "target": "new/deep/c.txt"}, "new/deep/c.txt", "a.txt"),
        ({"source": "a.txt", "target": "d"}, "d/a.txt", "a.txt"),
        ({"source": "a.txt", "target": "new/"}, "new/a.txt", "a.txt"),
        ({"source": "a.txt", "target": "b.txt", "overwrite": True}, "b.txt", "a.txt"),
        ({"source": "a.txt", "target": "also_a", "overwrite": True}, "also_a", "a.txt"),
        ({"source": "d", "target": "e"}, "e/x", "d"),
        ({"source": "out", "target": "in"}, "in", "out"),
    ],
)
def test_moved(kit, ws, arguments, there, gone):
    result = kit.call("move", arguments)
    assert result.ok, result.text
    assert os.path.lexists(ws / there)
    assert not os.path.lexists(ws / gone)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"source": "a.txt", "target": "b.txt"}, "Conflict"),
        ({"source": "none", "target": "c"}, "NotFound"),
        ({"source": "a.txt", "target": "../c"}, "SecurityError"),
        ({"source": "a.txt", "target": "out/c"}, "SecurityError"),
        ({"source": "a.txt", "target": ".git/hooks/x"}, "SecurityError"),
        ({"source": "repo", "target": "other"}, "SecurityError"),
        ({"source": "d", "target": "d/below"}, "ValidationError"),
        ({"source": ".", "target": "x"}, "SecurityError"),
    ],
)
def test_not_moved(kit, ws, arguments, code):
    before = sorted(str(path) for path in ws.rglob("*"))
    result = kit.call("move", arguments)
    assert (result.ok, result.error and result.error.code) == (False, code)
    assert sorted(str(path) for path in ws.rglob("*")) == before
