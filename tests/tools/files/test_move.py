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


def test_what_still_names_it_is_said(kit, put):
    put({
        "shop/query.py": "def find(): ...\n",
        "use.py": "from shop.query import find\n",
        "tests/test_q.py": "import shop.query\n",
        "other.py": "import query\n",
    })  # fmt: skip
    moved = kit.call("move", {"source": "shop/query.py", "target": "shop/search.py"})
    assert moved.data["named"] == ["tests/test_q.py:1", "use.py:1"]
    assert (moved.data["unknown"], moved.data["tests"]) == (["other.py:1"], ["tests/test_q.py"])
    assert moved.text.split("\n")[1:3] == [
        "(shop/query.py is still named in tests/test_q.py:1, use.py:1. other.py:1 may mean it.)",
        "(Tests that name it: tests/test_q.py. Run them with `tests`.)",
    ]
    kit.call("undo", {})
    assert "still named in tests/test_q.py:1, use.py:1." in kit.call("delete", {"path": "shop/query.py"}).text
