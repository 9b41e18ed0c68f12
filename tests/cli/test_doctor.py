"""`toolroll doctor`: facts, hints, and an exit status that a script can use."""

import json
from collections.abc import Callable
from pathlib import Path

import toolroll as package

Run = Callable[..., tuple[int, str, str]]


def test_the_report_for_people(toolroll: Run, ws: Path) -> None:
    status, out, err = toolroll("doctor")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    sections = [line for line in lines if line and not line.startswith(" ")]
    assert sections == [
        "base",
        "files",
        "search",
        "sandbox",
        "language servers",
        "extras",
        "models",
        "terminal",
        "All requirements are met.",
    ]
    assert any(line.split() == ["yes", "toolroll", package.__version__] for line in lines)
    assert any(line.endswith(f"{ws} (writable)") for line in lines)
    assert [line.split()[2:5] for line in lines if line.split()[1:2] == ["daemon"]] == [["none", "runs", "here;"]]


def test_the_report_for_programs(quick: Run) -> None:
    status, out, _ = quick("doctor", "--json")
    report = json.loads(out)
    assert (status, report["healthy"]) == (0, True)
    names = {fact["name"] for fact in report["facts"]}
    assert names >= {
        "Python",
        "workspace",
        "state",
        "openat2",
        "O_TMPFILE",
        "ripgrep",
        "google-re2",
        "bubblewrap",
        "Landlock",
    }
    assert names >= {"ty", "clangd", "gopls", "rust-analyzer", "tsc", "colours"}


def test_a_workspace_that_is_missing_is_not_healthy(quick: Run) -> None:
    status, out, _ = quick("doctor", "-C", "nowhere")
    assert status == 1
    assert "  NO   workspace " in out
    assert "'nowhere': No such file or directory; to add it: name a folder with -C DIR" in out
    assert out.endswith("A requirement is missing.\n")
