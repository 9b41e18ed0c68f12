"""The table of files that other programs run by themselves."""

import pytest

from tests.values import assert_values
from toolroll.policy import auto_run as module
from toolroll.policy.auto_run import TABLE, could_be_repository, runs_by_itself


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.path)
@pytest.mark.parametrize("above", [(), ("sub", "folder")])
def test_each_row_finds_its_path_and_all_beneath_it(row, above):
    path = row.path.replace("*", "name") + ("a/b.json" if row.path.endswith("/") else "")
    found = runs_by_itself((*above, *path.split("/")))
    assert found is not None
    assert found.by == row.by


@pytest.mark.parametrize(
    "path", [".github/CODEOWNERS", ".vscode/extensions.json", ".editorconfig", "src/tasks.json", "envrc", ".gitignore"]
)
def test_what_no_row_is_about(path):
    assert runs_by_itself(path.split("/")) is None


@pytest.mark.parametrize(
    ("path", "by"),
    [
        (".CLAUDE/Settings.json", "Claude Code"),
        (".VSCode/MCP.json", "VS Code"),
        ("a/b/.Envrc", "direnv"),
        (".envrc.", "direnv"),
        (".env\u200crc", "direnv"),
        (".envrc::$DATA", "direnv"),
        ("VSCODE~1/tasks.json", "VS Code"),
        ("a\\.husky/pre-commit", "git, by husky"),
        (".vscode", "VS Code"),  # a folder that is moved there brings its files
        (".github", "GitHub Actions"),
        (".claude", "Claude Code"),
        ("src/main.py", None),
        ("vscode/tasks.json", None),
    ],
)
def test_names_that_file_systems_take_for_the_same(path, by):
    found = runs_by_itself(path.split("/"))
    assert (found.by if found else None) == by


def test_where_a_write_could_make_a_repository():
    assert could_be_repository(("a", "HEAD")) == [1]
    assert could_be_repository(("a", "hooks", "post-merge")) == [1]
    assert could_be_repository(("config",)) == [0]
    assert could_be_repository(("src", "main.py")) == []


def test_values_stay_as_they_are():
    assert_values(module)
