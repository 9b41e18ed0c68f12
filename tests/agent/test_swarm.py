from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.test_loop import BROKEN, FIXED
from toolroll import Kit, Token
from toolroll.agent.loop import RunOutcome
from toolroll.agent.presets import PRESETS, Preset
from toolroll.agent.swarm import SwarmReport, WorkerReport, run_swarm
from toolroll.host.models.chat.messages import ChatMessage, ChatRequest, ToolCall, Turn, Usage

Put = Callable[[dict[str, str | bytes]], None]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


class Script:
    """One mind for all workers: what each says next follows from its part in the task."""

    name = "script"

    def __init__(self, **steps: list[tuple[str, dict[str, Any]] | str]) -> None:
        self._steps = steps

    def turn(self, request: ChatRequest, _token: Token, _on_text: Any = None) -> Turn:
        import json

        every = request.messages
        part = next(name for name in self._steps if f"Your part is {PARTS[name]}" in every[0].text)
        said = self._steps[part][sum(one.role == "assistant" for one in every)]
        if isinstance(said, str):
            return Turn(ChatMessage("assistant", said), "end", Usage(10, 1))
        call = ToolCall(f"c{len(every)}", said[0], json.dumps(said[1]))
        return Turn(ChatMessage("assistant", "", (call,)), "calls", Usage(10, 1))


PARTS = {"review": "review", "test": "tests", "optimize": "speed", "debug": "a bug"}


def opened(preset: Preset, folder: str, state: str) -> Kit:
    return Kit(folder, preset.dialect, tools=preset.tools, state_dir=state)


def test_workers_report_and_their_patches_apply(ws: Path, put: Put, temporary: Path) -> None:
    put(BROKEN)
    meet = "from shop import total\n"
    script = Script(
        review=[("code_search", {"action": "search", "pattern": "discount"}), "The discount has the wrong sign."],
        test=[("file", {"action": "write", "path": "test_more.py", "content": meet}), "One more test."],
        debug=[
            ("file", {"action": "edit", "path": "shop.py", "old_string": "+ discount", "new_string": "- discount"}),
            "Mended.",
        ],
    )
    told: list[tuple[str, Any]] = []
    workers = [PRESETS[name] for name in ("review", "test", "debug")]
    merged = run_swarm("Look after the shop.", str(ws), workers, script, opened, watch=lambda *one: told.append(one))
    assert merged.finished
    assert [(one.worker, one.outcome.text, one.paths) for one in merged.reports] == [
        ("review", "The discount has the wrong sign.", ()),
        ("test", "One more test.", ("test_more.py",)),
        ("debug", "Mended.", ("shop.py",)),
    ]
    assert {name for name, _ in told} == {"review", "test", "debug"}
    assert {path.name: path.read_text() for path in ws.iterdir()} == BROKEN
    assert list(temporary.iterdir()) == []
    for report in merged.reports[1:]:
        subprocess.run(["git", "apply", "-"], input=report.patch.encode(), cwd=ws, check=True)
    assert (ws / "shop.py").read_text() == FIXED
    assert (ws / "test_more.py").read_text() == meet


def test_interrupted_it_ends_all_and_leaves_nothing(ws: Path, put: Put, temporary: Path) -> None:
    put(BROKEN)
    mark = f"{3000 + time.time_ns() % 100000}.25"
    wait = ("code_exec", {"action": "shell", "code": f"sleep {mark}", "timeout": 60})
    token = Token()
    running = threading.Event()

    def stop() -> None:
        while sum(mark in line for line in processes()) < 2:
            time.sleep(0.05)
        running.set()
        token.cancel()

    threading.Thread(target=stop, daemon=True).start()
    started = time.monotonic()
    merged = run_swarm(
        "x",
        str(ws),
        [PRESETS["test"], PRESETS["debug"]],
        Script(test=[wait] * 9, debug=[wait] * 9),
        opened,
        token=token,
    )
    assert running.is_set()
    assert [(one.outcome.finished, one.outcome.reason) for one in merged.reports] == [(False, "cancelled")] * 2
    assert time.monotonic() - started < 45
    assert [line for line in processes() if mark in line] == []
    assert list(temporary.iterdir()) == []


def processes() -> list[str]:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep"):
            lines.append(b" ".join(words).decode(errors="replace"))
    return lines


def test_one_report_of_all() -> None:
    done, stopped = (
        RunOutcome(True, "answer", "All good.", 2, Usage(10, 5)),
        RunOutcome(False, "steps", "3 steps.", 3, Usage(1, 1)),
    )
    merged = SwarmReport(
        "Look.",
        (
            WorkerReport("review", done),
            WorkerReport("test", done, "diff\n", ("a.py", "b.py"), ("c.bin",)),
            WorkerReport("debug", stopped, "diff\n", ("a.py",)),
        ),
        ("no repository",),
    )
    assert not merged.finished
    assert merged.overlaps() == {"a.py": ["test", "debug"]}
    assert (
        merged.text({"test": "/x/test.patch"})
        == """\
# Look.

Note: no repository

## review (finished, 2 steps, 15 tokens)

All good.

## test (finished, 2 steps, 15 tokens)

All good.

Changed: `a.py`, `b.py`. To apply it: `git apply /x/test.patch`

```diff
diff
```

Also changed, but not in the patch: `c.bin`.

## debug (stopped: steps, 3 steps, 2 tokens)

3 steps.

Changed: `a.py`.

```diff
diff
```

## Changed by more than one worker

These patches may conflict:

- `a.py`: test, debug
"""
    )
