from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from toolroll.host.files.copies import Copies, _insist
from toolroll.host.files.trust import WorkspaceError
from toolroll.text.patch.write import FileVersions


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def tree(folder: str | Path) -> dict[str, str]:
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file() and not name.startswith(".git/"):
            found[name] = path.read_text()
    return found


def test_a_copy_and_what_was_changed_in_it(ws: Path, put, temporary: Path) -> None:
    put(
        {
            "a.txt": "a\n",
            "sub/b.sh": "b\n",
            ".hidden": "h\n",
            ".gitignore": "out/\n*.log\n",
            "out/x": "x",
            "y.log": "y",
            "gone.txt": "g\n",
        }
    )
    (ws / "sub/b.sh").chmod(0o755)
    (ws / "link").symlink_to("a.txt")
    os.mkfifo(ws / "pipe")
    before = tree(ws)
    with Copies(str(ws)) as copies:
        first, second = copies.make("one"), copies.make("two")
        kept = {name: text for name, text in before.items() if name not in ("out/x", "y.log")}
        assert tree(first) == kept
        assert os.access(f"{first}/sub/b.sh", os.X_OK)
        work = Path(first)
        (work / "a.txt").write_text("A\n")
        (work / "gone.txt").unlink()
        (work / "new.txt").write_text("n\n")
        (work / "sub/b.sh").chmod(0o644)
        (work / "z.log").write_text("ignored")
        (ws / "a.txt").write_text("meanwhile\n")
        assert copies.changes("one") == [
            FileVersions("a.txt", b"a\n", b"A\n"),
            FileVersions("gone.txt", b"g\n", None),
            FileVersions("new.txt", None, b"n\n"),
            FileVersions("sub/b.sh", b"b\n", b"b\n", 0o755, 0o644),
        ]
        assert copies.changes("two") == []
        assert tree(second) == kept
        assert os.path.dirname(copies.state("one")) == os.path.dirname(first)
        assert len({first, second, copies.state("one"), copies.state("two")}) == 4
        (work / "locked").mkdir()
        (work / "locked/x").write_text("x")
        (work / "locked").chmod(0)
    assert list(temporary.iterdir()) == []
    assert tree(ws) == {**before, "a.txt": "meanwhile\n"}


def test_the_repository_comes_along_and_is_its_own(ws: Path, put) -> None:
    put({"a.txt": "a\n"})
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *words], cwd=ws, check=True)
    (ws / ".git/link").symlink_to("nowhere")
    with Copies(str(ws)) as copies:
        folder = copies.make("one")
        assert os.readlink(f"{folder}/.git/link") == "nowhere"
        subprocess.run(["git", "checkout", "-qb", "other"], cwd=folder, check=True)
        found = subprocess.run(
            ["git", "log", "--oneline"], cwd=folder, check=True, capture_output=True, text=True
        ).stdout
        assert found.endswith(" first\n")
        assert copies.changes("one") == []
    branches = subprocess.run(["git", "branch"], cwd=ws, check=True, capture_output=True, text=True).stdout
    assert "other" not in branches


def test_a_linked_worktree_is_not_shared(ws: Path, put) -> None:
    put({"a.txt": "a\n", ".git": "gitdir: /somewhere/else\n"})
    with Copies(str(ws)) as copies:
        assert tree(copies.make("one")) == {"a.txt": "a\n"}
        assert copies.notes == ["The workspace is a linked worktree, so the copies have no repository."]


def test_some_files_only(ws: Path, put) -> None:
    put({"a.txt": "a\n", "sub/b.txt": "b\n", "sub/c.txt": "c\n", "d.txt": "d\n"})
    with Copies(str(ws), only=["sub/b.txt", "new/none.txt", "sub/c.txt"]) as copies:
        assert tree(copies.make("one")) == {"sub/b.txt": "b\n", "sub/c.txt": "c\n"}


def test_of_a_home_folder_only_files_that_are_named_are_copied(ws: Path, put, monkeypatch: pytest.MonkeyPatch) -> None:
    put({"a.txt": "a\n", "b.txt": "b\n"})
    monkeypatch.setenv("HOME", str(ws))
    with pytest.raises(WorkspaceError, match="is a home folder"):
        Copies(str(ws))
    with Copies(str(ws), only=["a.txt"]) as copies:
        assert tree(copies.make("one")) == {"a.txt": "a\n"}


def test_what_could_not_be_removed_is_removed_with_force(tmp_path: Path) -> None:
    for name in ("folder/sub/file", "kept/file", "file"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "folder").chmod(0)
    (tmp_path / "link").symlink_to("kept")
    for name in ("folder", "link", "file", "missing"):
        _insist(None, str(tmp_path / name), None)
    assert tree(tmp_path) == {"kept/file": ""}
    assert not (tmp_path / "folder").exists()


def test_nothing_is_left_when_the_copy_fails(ws: Path, temporary: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Copies(str(ws / "none"))
    assert list(temporary.iterdir()) == []


def test_changes_of_hidden_files_are_found(ws: Path, put) -> None:
    put({".env": "a\n", "b.txt": "b\n"})
    with Copies(str(ws)) as copies:
        Path(copies.make("one"), ".env").write_text("c\n")
        assert copies.changes("one") == [FileVersions(".env", b"a\n", b"c\n")]


@pytest.mark.parametrize(
    ("before", "after", "binary"),
    [
        (b"a", b"b", False),
        (None, b"b", False),
        (b"a", None, False),
        (None, b"\0", True),
        (b"\0", None, True),
        (b"x" * 5_000_000, b"y", False),
        (b"x", b"y" * 5_000_001, True),
    ],
)
def test_what_no_diff_can_show(before: bytes | None, after: bytes | None, binary: bool) -> None:
    assert FileVersions("a", before, after).binary is binary
    assert FileVersions.text(None) == ""
