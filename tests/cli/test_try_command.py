"""Run a command in a copy, look, keep or drop."""

import subprocess

import pytest

from tests.terminals import at_terminal
from toolroll.cli import main


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_command_is_tried_and_kept_or_dropped(quick, ws):
    (ws / "a.txt").write_text("x\n")
    shown = (
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\nChanged 1 file: a.txt (+1 -1).\n"
    )
    dropped = quick("try", "--drop", "--", "sed", "-i", "s/x/y/", "a.txt")
    assert dropped == (0, f"{shown}Dropped. The workspace is as it was.\n", "")
    assert (ws / "a.txt").read_text() == "x\n"
    kept = quick("try", "--keep", "echo y > a.txt; echo oh >&2; exit 3")
    assert kept == (3, f"{shown}Kept. `toolroll undo` takes it back.\n", "oh\n")
    assert (ws / "a.txt").read_text() == "y\n"
    assert quick("undo")[0] == 0
    assert (ws / "a.txt").read_text() == "x\n"
    assert quick("try", "--keep", "true") == (0, "It changed no file.\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Which command?"),
        (["--keep", "--drop", "true"], "--keep and --drop exclude each other."),
        (["true"], "Say --keep or --drop."),
    ],
)
def test_what_is_missing_is_said(quick, words, said):
    status, _, errors = quick("try", *words)
    assert (status, said in errors) == (2, True)


@pytest.mark.parametrize(("key", "status"), [("\x04", 0), ("n", 0), ("no\n", 0)])
def test_no_answer_drops_and_keys_typed_early_are_none(quick, ws, key, status):
    with at_terminal([("Keep these changes? [y/n] ", key)], early="y\ny\n") as person:
        ended = main(["try", "touch new"])
    assert (ended, "Dropped. The workspace is as it was." in person.seen) == (status, True)
    assert not (ws / "new").exists()


def test_the_answer_of_a_person_keeps(quick, ws):
    with at_terminal([("Keep these changes? [y/n] ", "what"), ("Keep these changes? [y/n] ", "y")]):
        assert main(["try", "touch new"]) == 0
    assert (ws / "new").exists()


def test_commits_are_shown_and_kept(quick, ws):
    subprocess.run(["git", "init", "-q"], cwd=ws, check=True)
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one"
    assert quick("try", "--keep", commit)[1].startswith("Repository: moved ")
    assert subprocess.run(["git", "log", "--format=%s"], cwd=ws, capture_output=True, check=True).stdout == b"one\n"
