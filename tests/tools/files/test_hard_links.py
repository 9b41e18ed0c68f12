"""A file in the workspace that has another name outside: no tool changes what is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolroll import Kit

CODE = "import os\n\n\ndef name():\n    return 1\n"
PATCH = "--- a/a.py\n+++ b/a.py\n@@ -4,2 +4,2 @@\n def name():\n-    return 1\n+    return 2\n"
MODE = "diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("write", {"path": "a.py", "content": "changed\n"}),
    ("edit", {"path": "a.py", "old": "return 1", "new": "return 2"}),
    ("insert", {"path": "a.py", "line": 1, "text": "# one"}),
    ("replace_lines", {"path": "a.py", "start": 1, "end": 1, "text": "# one"}),
    ("multiedit", {"pattern": "*.py", "find": "return 1", "replace": "return 2"}),
    ("patch", {"patch": PATCH}),
    ("patch", {"patch": MODE}),
    ("copy", {"source": "other.py", "target": "a.py", "overwrite": True}),
    ("move", {"source": "other.py", "target": "a.py", "overwrite": True}),
    ("delete", {"path": "a.py"}),
    ("lint", {"action": "fix"}),
    ("lint", {"action": "format"}),
    ("rename", {"path": "a.py", "line": 4, "character": 5, "new_name": "named"}),
    ("note", {"action": "update", "id": "n", "content": "changed"}),
]


@pytest.fixture
def outside(ws: Path, tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.write_text(CODE)
    outside.chmod(0o644)
    os.link(outside, ws / "a.py")
    (ws / "other.py").write_text("x = 'other'\n")
    (ws / ".toolroll/notes").mkdir(parents=True)
    note = tmp_path / "note"
    note.write_text("---\ntitle: n\n---\nold\n")
    os.link(note, ws / ".toolroll/notes/n.md")
    return outside


def state(*paths: Path) -> list[tuple[bytes, int, int]]:
    return [(path.read_bytes(), path.stat().st_mode, path.stat().st_ino) for path in paths]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
@pytest.mark.parametrize("undone", [False, True])
def test_what_is_outside_stays_as_it_is(
    open_kit: Callable[..., Kit], ws: Path, outside: Path, name: str, arguments: dict[str, Any], undone: bool
) -> None:
    files = outside, outside.with_name("note")
    before = state(*files)
    kit = open_kit()
    kit.call("read", {"path": "a.py"})
    kit.call(name, arguments)
    if undone:
        kit.call("undo", {})
    assert state(*files) == before
