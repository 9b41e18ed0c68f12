"""`python -m bench.recorded_commands FILE`: runs recorded commands of agents in a scratch workspace, by category.

FILE has a JSON object with `command` in each line; `{TMP}` in it is the folder for temporary files. The projects of the
recordings are not there, so that many commands fail by themselves. The table says which worked, and of those that did
not whether the result says why. Exit status 1 if one fails without saying why.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from toolroll import Kit
from toolroll.result import Result

TIMEOUT_S = 20  # some wait for a server of theirs
CATEGORIES: dict[str, tuple[int, str]] = {
    "backgrounds": (10, r"[^&>|]&(?:\s*(?:$|\n)|\s+\w+=)|\bnohup\b"),
    "servers": (
        15,
        r"http\.server|\b(?:vite|next|pnpm|npm run) dev\b|runserver|uvicorn|flask run|(?:localhost|127\.0\.0\.1):\d",
    ),
    "installs": (
        15,
        r"\b(?:pip3? install|uv (?:pip|add|sync|run)|(?:npm|pnpm|yarn) (?:i|install|ci|add)\b|npx |apt(?:-get)? install"
        r"|cargo (?:build|add|test)|go (?:get|mod|build|install))",
    ),
    "heredocs": (15, r"<<-?\s*['\"]?\w+"),
    "/tmp": (10, r"\{TMP\}"),
    "git": (20, r"\bgit [a-z]"),
    "pipes": (15, r"[^|]\|[^|]"),
}
"""How many commands of each category are run, and how they are recognised; the first that fits counts."""
_LEADING_CD = re.compile(r"^\s*cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;|\n)\s*")
_QUIET = re.compile(
    r"2>\s*/dev/null|&>|>\s*/dev/null\s+2>&1|\b(?:grep|rg|test|diff|pgrep|cmp|jq -e)\b|\[ |--quiet\b| -q\b"
)
_SANDBOX = re.compile(r"sandbox|setting `?network|`network`|not allowed here|confined", re.IGNORECASE)
OUTCOMES = (
    "works",
    "runs on as a job",
    "fails by itself",
    "finds nothing",
    "sandbox, named",
    "refused, named",
    "timed out",
    "silent",
)


@dataclass(frozen=True, slots=True)
class RecordedOutcome:
    """What became of one command."""

    category: str
    command: str
    kind: str
    text: str


def pick(commands: Iterable[str]) -> list[tuple[str, str]]:
    """The commands to run with their categories: the same ones each time, in an order that has no meaning."""
    left = {name: count for name, (count, _) in CATEGORIES.items()}
    chosen = []
    for command in sorted(set(commands), key=lambda one: hashlib.sha256(one.encode()).digest()):
        fitting = (name for name, (_, pattern) in CATEGORIES.items() if re.search(pattern, command))
        name = next(fitting, None)
        if name is not None and left[name]:
            left[name] -= 1
            chosen.append((name, command))
    return sorted(chosen, key=lambda one: list(CATEGORIES).index(one[0]))


def classify(command: str, result: Result) -> str:
    """Which of `OUTCOMES` a result is."""
    data = result.data or {}
    code = str(result.error.code) if result.error is not None else ""
    if code in ("PermissionDenied", "SecurityError", "ValidationError", "Unsupported", "NotFound"):
        return "refused, named" if result.text.strip() else "silent"
    if code == "TimeoutError" and len(result.text.strip().splitlines()) == 1:
        return "silent" if re.search(CATEGORIES["installs"][1], command) else "timed out"
    if code == "TimeoutError":
        return "timed out"
    if data.get("job"):
        return "runs on as a job"
    if result.error is None and not data.get("exit_code"):
        return "works"
    if _SANDBOX.search(result.text):
        return "sandbox, named"
    said = str(data.get("output") or data.get("errors") or (result.text if result.error else ""))
    if said.strip():
        return "fails by itself"
    return "finds nothing" if _QUIET.search(command) else "silent"


def run(commands: Iterable[tuple[str, str]], root: Path) -> list[RecordedOutcome]:
    """Run the commands one after another in the default configuration."""
    prepare(root)
    found = []
    with Kit(root, state_dir=root.parent / "state") as kit:
        for category, recorded in commands:
            command = _LEADING_CD.sub("", recorded).replace("{TMP}", "/tmp")
            result = kit.call("bash", {"command": command, "timeout": TIMEOUT_S})
            found.append(RecordedOutcome(category, recorded, classify(command, result), result.text))
    return found


def prepare(root: Path) -> None:
    """A small project in a repository."""
    files = {
        "README.md": "# Project\n",
        "package.json": '{"name": "project", "version": "1.0.0", "scripts": {"test": "node --version"}}\n',
        "pyproject.toml": '[project]\nname = "project"\nversion = "1"\n',
        "go.mod": "module example.com/project\n",
        "src/main.py": "def main():\n    return 1\n",
        "tests/test_main.py": "def test_main():\n    assert True\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    author = ("-c", "user.name=Bench", "-c", "user.email=bench@example.com")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*author, "commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=root, check=True)


def draw_table(outcomes: Iterable[RecordedOutcome]) -> str:
    """Markdown: a row for each category, a column for each outcome."""
    counts = Counter((one.category, one.kind) for one in outcomes)
    shown = [kind for kind in OUTCOMES if any(counts[name, kind] for name in CATEGORIES)]
    rows = [["category", *shown, "all"], ["---"] * (len(shown) + 2)]
    for name in CATEGORIES:
        numbers = [counts[name, kind] for kind in shown]
        rows.append([name, *map(str, numbers), str(sum(numbers))])
    totals = [sum(counts[name, kind] for name in CATEGORIES) for kind in shown]
    rows.append(["all", *map(str, totals), str(sum(totals))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> int:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--show", nargs="*", default=["silent"], help="Outcomes whose commands are printed.")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as lines:
        commands = pick(json.loads(line)["command"] for line in lines)
    with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
        root = Path(folder, "project")
        root.mkdir()
        outcomes = run(commands, root)
    print(draw_table(outcomes))
    for one in outcomes:
        if one.kind in options.show:
            print(f"\n{one.category}: {one.command[:300]!r}\n  {one.text[:600]!r}")
    return 1 if any(one.kind == "silent" for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
