"""A kit on a fork: opened with its first use, with every tool at work."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolroll import Kit, ToolError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("bash", {"command": "cd sub && export WHO=fork"}, ""),
    ("bash", {"command": "basename $PWD; echo $WHO > who.txt; cat who.txt"}, "sub\nfork"),
    ("ls", {"path": "sub"}, "who.txt"),
    ("edit", {"path": "app.py", "old": "a + b", "new": "b + a"}, "app.py"),
    ("grep", {"pattern": "b [+] a"}, "2:    return b + a"),
    ("find", {"pattern": "**/who.*"}, "sub/who.txt"),
    ("definition", {"path": "test_app.py", "line": 5, "character": 12}, "app.py:1:5: def add(a, b):"),
    ("references", {"symbol": "add"}, "test_app.py"),
    ("outline", {"path": "app.py"}, "add"),
    ("tests", {"action": "run"}, "1 passed"),
    ("lint", {"action": "check"}, ""),
    ("git", {"action": "diff"}, "+    return b + a"),
    ("git", {"action": "add", "files": ["app.py"]}, ""),
    ("git", {"action": "commit", "message": "Swap"}, "Swap"),
    ("git", {"action": "log"}, "Swap"),
    ("python", {"code": "from app import add; print(add(1, 2))"}, "3"),
    ("bash", {"command": "echo more >> app.py", "cwd": "."}, "Changed 1 file: app.py (+1 -0)."),
    ("undo", {}, "app.py"),
]


def test_all_tools_work_in_a_fork(ws: Path, put: Callable[..., None], open_kit: Callable[..., Kit]) -> None:
    put({
        "app.py": "def add(a, b):\n    return a + b\n",
        "test_app.py": "from app import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
        "sub/x.txt": "x\n",
    })  # fmt: skip
    for words in ("init -q -b main", "config user.name a", "config user.email a@b", "add -A", "commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=ws, check=True)
    kit = open_kit(tools="all")
    with kit.fork() as trial:
        for name, arguments, said in CALLS:
            result = trial.call(name, arguments)
            assert result.ok, (name, result.text)
            assert said in result.text, (name, result.text)
        assert (ws / "app.py").read_text().endswith("a + b\n")
        assert not (ws / "sub" / "who.txt").exists()
        assert "Repository: moved main" in trial.merge().text
    assert (ws / "app.py").read_text().endswith("b + a\n")
    log = subprocess.run(["git", "log", "--format=%s"], cwd=ws, check=True, capture_output=True, text=True)
    assert log.stdout.split() == ["Swap", "first"]


def test_a_fork_has_the_hooks_of_its_base_and_its_own(kit: Kit) -> None:
    """Those that the base gets later too; its own end with it."""
    seen: list[str] = []

    def add(to: Kit, name: str) -> None:
        to.before(lambda _: seen.append(f"{name} before"))
        to.after(lambda *_: seen.append(f"{name} after"))
        to.watch_calls(lambda *_: seen.append(f"{name} begin") or (lambda *_: None))  # type: ignore[func-returns-value]

    def heard(one: Kit) -> list[str]:
        seen.clear()
        assert one.call("ls").ok
        return seen[:]

    def said(*names: str) -> list[str]:
        return [f"{name} {event}" for event in ("begin", "before", "after") for name in names]

    with kit.fork() as first, kit.fork() as second:
        add(first, "first")
        add(second, "second")
        add(kit, "base")
        assert heard(first) == said("base", "first")
        assert heard(second) == said("base", "second")
        with first.fork() as inner:
            add(inner, "inner")
            assert heard(inner) == said("base", "first", "inner")
        assert heard(kit) == said("base")
    assert heard(kit) == said("base")


def test_a_fork_is_opened_with_its_first_use(kit: Kit) -> None:
    forks = [kit.fork() for _ in range(3)]
    assert [one.is_open for one in forks] == [False] * 3
    assert forks[1].changes() == []
    assert forks[1].call("ls").ok
    assert [one.is_open for one in forks] == [False, True, False]
    for one in forks:
        one.drop()
    with pytest.raises(ToolError, match="Fork 1 was dropped"):
        forks[0].call("ls")
