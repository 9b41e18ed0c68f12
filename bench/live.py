"""`python -m bench.live`: 50 small tasks for a model, by `toolroll agent` in each dialect: what it solves at what cost.

The model is that of the environment: TOOLROLL_MODEL and a key, or OPENAI_BASE_URL or ANTHROPIC_BASE_URL. With
`--scripted` a server on the loopback plays a model that knows the answers: that tests the whole way, not a model. Each
task of `live_tasks.jsonl` has files, a sentence, and Python that ends without an error where the task is solved.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from toolroll import Kit, dialects
from toolroll.result import Suggestion

_CREATING = ("fosscode", "openhands")  # whose tool that writes is for new files
TASKS = Path(__file__).with_name("live_tasks.jsonl")


class Task(NamedTuple):
    """What is asked of a model, in which files, and how it is checked; `solution` are files as they may be then."""

    name: str
    task: str
    files: Mapping[str, str]
    solution: Mapping[str, str]
    check: str


@dataclass
class Row:
    """How a model did in one dialect."""

    dialect: str
    solved: int = 0
    tasks: int = 0
    turns: int = 0
    calls: int = 0
    tokens: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    """Calls that failed, by the code of the error."""
    failed: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.refusals.most_common()) or "none"
        each = max(1, self.tasks)
        return (
            f"| {self.dialect} | {self.solved} of {self.tasks} | {self.turns / each:.1f} | {self.calls / each:.1f} "
            f"| {self.tokens // each:,} | {kinds} |"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--dialects", default=",".join(dialects.names()), help="of the tools, with commas (default: all)"
    )
    parser.add_argument("--tasks", default="", help="names of tasks, with commas, or how many (default: all)")
    parser.add_argument("--steps", default="20", help="turns that a task may take (default 20)")
    parser.add_argument("--seconds", type=float, default=600.0, help="that a task may take (default 600)")
    parser.add_argument("--transcripts", type=Path, help="a folder to keep the transcripts in")
    parser.add_argument("--scripted", choices=("openai", "anthropic"), help="play a model that speaks this protocol")
    given = parser.parse_args(arguments)
    print("| dialect | solved | turns | calls | tokens | refused calls, by kind |\n|---|---|---|---|---|---|")
    rows = []
    for dialect in given.dialects.split(","):
        rows.append(row := Row(dialect))
        for task in choose_tasks(given.tasks):
            run_task(task, row, given)
        print(row, flush=True)
    for row in rows:
        if row.failed:
            print(f"\n{row.dialect}, not solved: {', '.join(row.failed)}")
    return 0 if all(row.solved for row in rows) else 1


def choose_tasks(chosen: str = "") -> list[Task]:
    """The tasks of these names, or so many of the first."""
    tasks = [Task(**json.loads(line)) for line in TASKS.read_text(encoding="utf-8").splitlines()]
    if not chosen or chosen.isdecimal():
        return tasks[: int(chosen or len(tasks))]
    return [one for one in tasks if one.name in chosen.split(",")]


def run_task(task: Task, row: Row, given: argparse.Namespace) -> None:
    """Let the model work on a copy of the files, and count what it did."""
    with tempfile.TemporaryDirectory(prefix="live-") as scratch:
        folder, log = Path(scratch, "work"), Path(scratch, "log.jsonl")
        put_files(folder, task.files)
        words = ["agent", task.task, "--yes", "-d", row.dialect, "-C", str(folder), "--steps", given.steps]
        own = {"XDG_STATE_HOME": f"{scratch}/state", "TOOLROLL_DAEMON": "off", "PYTHONDONTWRITEBYTECODE": "1"}
        with play_model(task, row.dialect, folder, given.scripted) as model:
            command = [sys.executable, "-m", "toolroll", *words, "--transcript", str(log)]
            try:
                run = subprocess.run(
                    command, env=os.environ | own | model, capture_output=True, timeout=given.seconds, check=False
                )
                if not log.exists():
                    raise SystemExit(run.stderr.decode())
            except subprocess.TimeoutExpired:
                row.refusals["out of time"] += 1
        count(log, row)
        row.tasks += 1
        if is_solved(task, folder):
            row.solved += 1
        else:
            row.failed.append(task.name)
        if given.transcripts and log.exists():
            given.transcripts.mkdir(parents=True, exist_ok=True)
            (given.transcripts / f"{row.dialect}-{task.name}.jsonl").write_bytes(log.read_bytes())


def put_files(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")


def is_solved(task: Task, folder: Path) -> bool:
    """Run the check, confined: it imports what the model wrote."""
    with tempfile.TemporaryDirectory(prefix="live-") as state, Kit(folder, state_dir=state) as kit:
        return kit.exec([sys.executable, "-B", "-c", task.check], timeout=60).code == 0


def count(log: Path, row: Row) -> None:
    """Add what a transcript says to a row."""
    for record in map(json.loads, log.read_text(encoding="utf-8").splitlines() if log.exists() else ()):
        if record["type"] == "assistant":
            row.turns += 1
            row.calls += len(record.get("calls", ()))
            row.tokens += record.get("input_tokens", 0) + record.get("output_tokens", 0)
        if record["type"] == "tool" and record["status"] == "error":
            row.refusals[record.get("code") or "error"] += 1
        if record["type"] == "end" and not record["finished"]:
            row.refusals[f"run ended: {record['reason']}"] += 1


@contextmanager
def play_model(task: Task, dialect: str, folder: Path, provider: str | None) -> Iterator[dict[str, str]]:
    """The environment of a model that solves this task in this dialect; an empty one where the model is real."""
    if provider is None:
        yield {}
        return
    from tests.host.models.chat.served import Say, Served

    steps = [Say(calls=((one.name, dict(one.arguments)),)) for one in solve(task, dialect, folder)]
    with Served(provider, *steps, Say("It is done.")) as server:
        yield server.environment


def solve(task: Task, dialect: str, folder: Path) -> Iterator[Suggestion]:
    """The calls that write the files of a solution, as a model makes them in this dialect."""
    with tempfile.TemporaryDirectory(prefix="live-") as state, Kit(folder, dialect, state_dir=state) as kit:
        wording = kit._make_wording("")
        for path, text in task.solution.items():
            before = task.files.get(path)
            if before is not None and (read := wording.suggestion(Suggestion("read", {"path": path}))):
                yield read  # as some dialects ask before a change
            write = Suggestion("write", {"path": path, "content": text})
            if before is not None and dialect in _CREATING:
                write = Suggestion("edit", {"path": path, "old": before, "new": text})
            patch = Suggestion("patch", {"patch": write_patch(path, before, text)})
            yield wording.suggestion(write) or wording.suggestion(patch) or write
        if end := wording.suggestion(Suggestion("finish", {"result": "It is done."})):
            yield end


def write_patch(path: str, before: str | None, after: str) -> str:
    """A change of a whole file in the form of Codex."""
    old, new = (text.removesuffix("\n").split("\n") for text in (before or "", after))
    head = f"*** Add File: {path}" if before is None else f"*** Update File: {path}\n@@"
    lines = [*(f"-{line}" for line in old if before is not None), *(f"+{line}" for line in new)]
    return "\n".join(["*** Begin Patch", head, *lines, "*** End Patch"])


if __name__ == "__main__":
    sys.exit(main())
