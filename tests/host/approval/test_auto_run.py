"""Files that other programs run by themselves: file tools ask, and what commands change is named."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolroll import Kit
from toolroll.host.approval.auto_run import AutoRunFiles, note
from toolroll.host.approval.guard import ApprovalRequest
from toolroll.result import ErrorCode

OpenKit = Callable[..., Kit]

TASKS = ".vscode/tasks.json"
NOTE = f"note: '{TASKS}' is run by other programs by itself; look at it before you open the project"
PATCH = f"--- /dev/null\n+++ b/{TASKS}\n@@ -0,0 +1 @@\n+evil\n"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "write": ("write", {"path": TASKS, "content": "evil\n"}),
    "another case": ("write", {"path": ".VSCode/Tasks.JSON", "content": "evil\n"}),
    "deeper": ("write", {"path": "a/b/.husky/pre-commit", "content": "evil\n"}),
    "edit": ("edit", {"path": ".envrc", "old": "old", "new": "evil"}),
    "insert": ("insert", {"path": ".envrc", "line": 1, "content": "evil"}),
    "multiedit": ("multiedit", {"pattern": "*", "find": "old", "replace": "evil", "include": ".envrc"}),
    "move": ("move", {"source": "plain", "target": TASKS}),
    "move a folder": ("move", {"source": "folder", "target": ".vscode"}),
    "move away": ("move", {"source": ".envrc", "target": "x"}),
    "copy": ("copy", {"source": "plain", "target": TASKS}),
    "copy a folder": ("copy", {"source": "folder", "target": ".claude"}),
    "delete": ("delete", {"path": ".envrc"}),
    "patch": ("patch", {"patch": PATCH}),
    "a bare repository": ("write", {"path": "bare/config", "content": "[core]\nfsmonitor = evil\n"}),
    "a hook of a bare repository": ("write", {"path": "bare/hooks/post-merge", "content": "evil\n"}),
    "what makes a bare repository": ("write", {"path": "nearly/HEAD", "content": "ref: refs/heads/main\n"}),
}


@pytest.fixture
def tree(ws: Path) -> dict[str, bytes]:
    for name, text in {
        "plain": "evil\n",
        ".envrc": "old\n",
        "folder/tasks.json": "evil\n",
        "bare/HEAD": "ref: refs/heads/main\n",
        "bare/objects/x": "",
        "bare/refs/x": "",
        "nearly/objects/x": "",
        "nearly/refs/x": "",
    }.items():
        (ws / name).parent.mkdir(parents=True, exist_ok=True)
        (ws / name).write_text(text)
    return files(ws)


def files(ws: Path) -> dict[str, bytes]:
    return {str(path.relative_to(ws)): path.read_bytes() for path in sorted(ws.rglob("*")) if path.is_file()}


def changed(kit: Kit, name: str) -> Any:
    tool, arguments = CALLS[name]
    if tool in ("edit", "insert"):
        kit.call("read", {"path": arguments["path"]})
    return kit.call(tool, arguments)


@pytest.mark.parametrize("name", CALLS)
def test_what_the_user_declines_is_not_changed(open_kit: OpenKit, ws: Path, tree: dict[str, bytes], name: str) -> None:
    asked: list[ApprovalRequest] = []
    result = changed(open_kit(approve=lambda request: bool(asked.append(request))), name)
    assert result.error is not None
    assert (result.error.code, files(ws)) == (ErrorCode.PERMISSION, tree)
    assert len(asked) == 1
    assert "is run by other programs by itself" in asked[0].reason
    assert "The user declined it" in result.text


@pytest.mark.parametrize("name", CALLS)
def test_what_the_user_agrees_to_is_changed(open_kit: OpenKit, ws: Path, tree: dict[str, bytes], name: str) -> None:
    result = changed(open_kit(approve=lambda _: True), name)
    assert result.ok, result.text
    assert files(ws) != tree
    assert "note:" not in result.text


@pytest.mark.parametrize("name", CALLS)
def test_without_an_approver_it_is_named(open_kit: OpenKit, ws: Path, tree: dict[str, bytes], name: str) -> None:
    result = changed(open_kit(), name)
    assert result.ok, result.text
    assert files(ws) != tree
    assert "by other programs by " in result.text.splitlines()[-1]
    assert result.meta["auto_run"]


def test_the_line_that_names_it(open_kit: OpenKit) -> None:
    result = open_kit().call("write", {"path": TASKS, "content": "x\n"})
    assert result.text.splitlines()[-1] == NOTE
    assert result.meta["auto_run"] == [TASKS]


def test_what_is_asked_under_ask(open_kit: OpenKit, ws: Path) -> None:
    call = ("write", {"path": ".envrc", "content": "x\n"})
    assert open_kit(policy="ask").call(*call).error.code is ErrorCode.PERMISSION
    only_the_tool = open_kit(policy="ask", approve=lambda request: "by itself" not in request.reason)
    assert only_the_tool.call("write", {"path": "plain", "content": "x\n"}).ok
    assert only_the_tool.call(*call).error.code is ErrorCode.PERMISSION
    assert not (ws / ".envrc").exists()


def test_an_answer_for_the_session_is_for_that_path(open_kit: OpenKit) -> None:
    asked: list[str] = []

    def approve(request: ApprovalRequest) -> str:
        asked.append(request.reason)
        return "session"

    kit = open_kit(approve=approve)
    for path in (".envrc", ".envrc", "sub/.envrc"):
        assert kit.call("write", {"path": path, "content": f"{len(asked)}\n"}).ok
    assert [reason.split("'")[1] for reason in asked] == [".envrc", "sub/.envrc"]


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("true", []),
        ("cat .envrc .claude/settings.json; echo x > plain; mkdir .vscode; echo > .vscode/extensions.json", []),
        ("echo x >> .envrc", [".envrc"]),
        ("rm .envrc; echo x > .mcp.json", [".envrc", ".mcp.json"]),
        ("mkdir .vscode; echo x > .vscode/tasks.json", [".vscode/tasks.json"]),
        ("echo x > .claude/settings.json", [".claude/settings.json"]),
        ("mkdir -p .github/workflows; echo x > .github/workflows/ci.yml", [".github/workflows/ci.yml"]),
        (
            "echo x > sub/.git/hooks/pre-commit; git -C sub config x.y z",
            ["sub/.git/config", "sub/.git/hooks/pre-commit"],
        ),
        ("git init -q; git -C sub config --get core.bare", []),
        ("git init -q; echo x > .git/hooks/pre-commit", [".git/hooks/pre-commit"]),
    ],
)
def test_what_a_command_changes_is_named(kit: Kit, ws: Path, command: str, named: list[str]) -> None:
    subprocess.run(["git", "init", "-q", "sub"], cwd=ws, check=True)
    (ws / ".envrc").write_text("old\n")
    (ws / ".claude").mkdir()
    (ws / ".claude" / "settings.json").write_text("{}\n")
    result = kit.call("bash", {"command": command})
    assert result.meta.get("auto_run", []) == named
    assert ("note: " in result.text) == bool(named)
    assert all(repr(path) in result.text for path in named)


@pytest.fixture
def scanner(ws: Path) -> Iterator[AutoRunFiles]:
    root = os.open(ws, os.O_RDONLY)
    yield AutoRunFiles(root)
    os.close(root)


def test_a_scan_is_bounded(scanner: AutoRunFiles, ws: Path) -> None:
    (ws / ".husky").mkdir()
    for number in range(510):
        (ws / ".husky" / f"hook-{number}").touch()
    assert len(scanner.scan()) == 500


def test_a_scan_is_six_folders_deep(scanner: AutoRunFiles, ws: Path) -> None:
    deep = ws / ".claude/2/3/4/5"
    (deep / "6").mkdir(parents=True)
    for folder in (deep, deep / "6"):
        (folder / "file").touch()
    assert list(scanner.scan()) == [".claude/2/3/4/5/file"]


def test_nested_repositories_are_found(scanner: AutoRunFiles, ws: Path) -> None:
    for name in ("one", "one/inner", "two/deeper", "two/deeper/three", ".hidden", "node_modules"):
        (ws / name / ".git/hooks").mkdir(parents=True)
        for file in ("config", "hooks/pre-commit", "hooks/pre-push.sample"):
            (ws / name / ".git" / file).touch()
    for name in ("bare/objects", "bare/refs", "nearly/objects", "nearly/refs"):
        (ws / "two" / name).mkdir(parents=True)
    for name in ("bare/HEAD", "bare/config", "nearly/config"):
        (ws / "two" / name).touch()
    assert sorted(scanner.scan()) == [
        "one/.git/config",
        "one/.git/hooks/pre-commit",
        "two/bare/config",
        "two/deeper/.git/config",
        "two/deeper/.git/hooks/pre-commit",
    ]


def test_only_the_first_folders_are_searched_for_repositories(scanner: AutoRunFiles, ws: Path) -> None:
    for number in range(502):
        (ws / f"d{number:03}").mkdir()
    for name in ("d499", "d500"):
        (ws / name / ".git").mkdir()
        (ws / name / ".git/config").touch()
    assert list(scanner.scan()) == ["d499/.git/config"]


def test_changes_are_named_and_the_settings_of_a_new_repository_are_not(scanner: AutoRunFiles, ws: Path) -> None:
    for name, text in ((".envrc", "old"), (".mcp.json", "old"), ("lefthook.yml", "old")):
        (ws / name).write_text(text)
    before = scanner.scan()
    assert sorted(before) == [".envrc", ".mcp.json", "lefthook.yml"]
    (ws / ".envrc").write_text("new text")
    (ws / ".mcp.json").unlink()
    (ws / "opencode.json").write_text("new")
    (ws / ".git/hooks").mkdir(parents=True)
    (ws / ".git/config").touch()
    (ws / ".git/hooks/pre-commit").touch()
    assert scanner.changes(before) == [".envrc", ".git/hooks/pre-commit", ".mcp.json", "opencode.json"]


@pytest.mark.parametrize(
    ("paths", "line"),
    [
        (["a"], "note: 'a' is run by other programs by itself; look at it before you open the project"),
        (
            ["a", "b"],
            "note: 'a', 'b' are run by other programs by themselves; look at them before you open the project",
        ),
    ],
)
def test_the_line_about_changes(paths: list[str], line: str) -> None:
    assert note(paths) == line


def test_the_line_about_changes_is_short() -> None:
    names = [f"f{number}" for number in range(12)]
    assert "'f9' and 2 more are run" in note(names)
    assert "'f9' are run" in note(names[:10])
