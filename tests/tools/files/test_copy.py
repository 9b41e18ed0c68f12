"""Copy a file or folder."""

import os

import pytest


@pytest.fixture(autouse=True)
def files(put, ws, tmp_path):
    put({"a.sh": "A", "b.txt": "B", "d/x": "X", "d/e/y": "Y"})
    (ws / "a.sh").chmod(0o755)
    (ws / "d/link").symlink_to("x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("S")
    (ws / "out").symlink_to("../outside")


def test_a_file_with_its_mode(kit, ws):
    assert kit.call("copy", {"source": "a.sh", "target": "new/c.sh"}).text == "Copied a.sh to new/c.sh."
    assert ((ws / "new/c.sh").read_text(), (ws / "new/c.sh").stat().st_mode & 0o777) == ("A", 0o755)
    assert (ws / "a.sh").exists()


def test_a_folder_with_all_that_is_in_it(kit, ws):
    (ws / "d").chmod(0o700)
    assert kit.call("copy", {"source": "d", "target": "f"}).data == {"source": "d", "target": "f", "files": 3}
    assert ((ws / "f/x").read_text(), (ws / "f/e/y").read_text(), os.readlink(ws / "f/link")) == (
        "X",
        "Y",
        "x",
    )
    assert (ws / "f").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"source": "a.sh", "target": "b.txt"}, "Conflict"),
        ({"source": "none", "target": "c"}, "NotFound"),
        ({"source": "out/secret", "target": "c"}, "SecurityError"),
        ({"source": "out", "target": "c"}, "SecurityError"),
        ({"source": "a.sh", "target": "out/c"}, "SecurityError"),
        ({"source": "d", "target": "d/inside"}, "ValidationError"),
        ({"source": "a.sh", "target": ".git/hooks/pre-commit"}, "SecurityError"),
    ],
)
def test_not_copied(kit, ws, arguments, code):
    before = sorted(str(path) for path in ws.rglob("*"))
    result = kit.call("copy", arguments)
    assert (result.ok, result.error and result.error.code) == (False, code), result.text
    assert sorted(str(path) for path in ws.rglob("*")) == before


def test_overwrite(kit, ws):
    assert kit.call("copy", {"source": "a.sh", "target": "b.txt", "overwrite": True}).ok
    assert (ws / "b.txt").read_text() == "A"
