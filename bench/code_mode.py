"""`python -m bench.code_mode`: 30 tasks as programs in code mode, and call by call: same results, turns, tokens.

Each program runs once through `python`, and once in this process, where each of its calls is a single call on a copy of
the workspace. Tokens are what a model writes (arguments) and reads (results). All calls of one tool count as one turn,
as if the model had made them side by side: fewer are not possible.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from toolroll import Kit
from toolroll.host.shell.code_client import CallFailed, _Data
from toolroll.text.tokens import estimate

TASKS: dict[str, str] = {
    "lines of all modules": """
files = tools.find("shop/*.py")["entries"]
print(sum(tools.read(one["path"])["total_lines"] for one in files))""",
    "largest documents": """
for one in tools.find("docs/*.md", sort="size", limit=100)["entries"][:3]: print(one["path"], one["size"])""",
    "TODOs by owner": """
from collections import Counter
rows = tools.grep(r"TODO\\((\\w+)\\)", limit=1000)["rows"]
print(sorted(Counter(row["text"].split("TODO(")[1].split(")")[0] for row in rows).items()))""",
    "functions without a docstring": """
missing = []
for one in sorted(one["path"] for one in tools.find("shop/*.py")["entries"]):
    lines = tools.read(one)["content"].splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("def ")]
    missing += [f"{one}:{at + 1}" for at in starts if '"\""' not in lines[at + 1]]
print(len(missing), missing[:3])""",
    "broken links in documents": """
import re
for one in sorted(one["path"] for one in tools.find("docs/*.md")["entries"]):
    for target in re.findall(r"\\]\\((\\w+\\.md)\\)", tools.read(one)["content"]):
        try: tools.stat(f"docs/{target}")
        except ToolError as error: print(one, target, error.code)""",
    "settings that lack a key": """
import json
for one in sorted(one["path"] for one in tools.find("config/*.json")["entries"]):
    if "timeout" not in json.loads(tools.read(one)["content"]): print(one)""",
    "set a value in all settings": """
import json
for one in sorted(one["path"] for one in tools.find("config/*.json")["entries"]):
    data = json.loads(tools.read(one)["content"])
    if data["version"] < 3: tools.write(one, json.dumps({**data, "version": 3}, indent=1) + "\\n")
print(tools.grep('"version": 3', path="config", output="count")["files"])""",
    "rename a constant": """
for path in sorted({row["path"] for row in tools.grep("MAX_ITEMS", output="files")["rows"]}):
    tools.edit(path, "MAX_ITEMS", "ITEM_LIMIT", replace_all=True)
print(tools.grep("MAX_ITEMS")["total"], tools.grep("ITEM_LIMIT", limit=1000)["total"])""",
    "a header for each module": """
done = 0
for one in tools.find("shop/*.py")["entries"]:
    text = tools.read(one["path"])["content"]
    if not text.startswith("# Copyright"):
        tools.write(one["path"], "# Copyright the shop\\n" + text + "\\n"); done += 1
print(done)""",
    "errors in logs by message": """
from collections import Counter
rows = tools.grep("ERROR", path="logs", limit=1000)["rows"]
print(Counter(row["text"].split("ERROR ")[1] for row in rows).most_common(2))""",
    "modules that import a module, and their users": """
import re
uses = {}
for row in tools.grep(r"^from shop\\.(\\w+) import", path="shop", limit=1000)["rows"]:
    uses.setdefault(row["path"][5:-3], set()).add(re.search(r"shop\\.(\\w+)", row["text"])[1])
found, grown = set(), {"mod_00"}
while grown - found:
    found |= grown
    grown = {one for one, needs in uses.items() if needs & found}
print(len(found))""",
    "modules that nobody imports": """
unused = []
for one in sorted(one["path"][5:-3] for one in tools.find("shop/mod_*.py")["entries"]):
    if not tools.grep(f"from shop.{one} import", literal=True)["total"]: unused.append(one)
print(unused)""",
    "files with the same content": """
seen = {}
for one in sorted(one["path"] for one in tools.find("data/*.csv")["entries"]):
    seen.setdefault(tools.read(one)["content"], []).append(one)
print([names for names in seen.values() if len(names) > 1])""",
    "sum of a column in all tables": """
total = 0
for one in tools.find("data/*.csv")["entries"]:
    total += sum(int(line.split(",")[1]) for line in tools.read(one["path"])["content"].splitlines()[1:])
print(total)""",
    "no space at the ends of lines": """
paths = sorted({row["path"] for row in tools.grep(r"[ \\t]+$", include="*.md", output="files")["rows"]})
for path in paths:
    text = tools.read(path)["content"]
    tools.write(path, "\\n".join(line.rstrip() for line in text.splitlines()) + "\\n")
print(len(paths))""",
    "what differs between two settings": """
import json
a, b = (json.loads(tools.read(f"config/{name}.json")["content"]) for name in ("service_00", "service_07"))
print({key: (a.get(key), b.get(key)) for key in a.keys() | b.keys() if key == "timeout" or key == "port"} != {})""",
    "a test for each module that has none": """
have = {one["path"] for one in tools.find("tests/*.py")["entries"]}
made = 0
for one in tools.find("shop/mod_*.py")["entries"]:
    test = f"tests/test_{one['path'][5:]}"
    if test not in have:
        tools.write(test, f"import shop.{one['path'][5:-3]}\\n"); made += 1
print(made)""",
    "an index of the documents": """
lines = []
for one in sorted(one["path"] for one in tools.find("docs/page_*.md")["entries"]):
    title = tools.read(one, limit=1)["content"].lstrip("# ")
    lines.append(f"- [{title}]({one[5:]})")
print(tools.write("docs/index.md", "\\n".join(lines) + "\\n")["bytes"])""",
    "check the syntax of some modules": """
bad = [n for n in range(6) if tools.bash(f"python3 -m py_compile shop/mod_{n:02}.py")["exit_code"]]
print(bad)""",
    "files in each folder": """
for folder in ("config", "data", "docs", "logs"):
    print(folder, tools.bash("ls | wc -l", cwd=folder)["output"].strip())""",
    "functions with most parameters": """
rows = tools.grep(r"^def ", include="*.py", limit=1000)["rows"]
best = sorted(((row["text"].count(","), row["text"]) for row in rows), reverse=True)[:2]
print(best)""",
    "move leftovers away": """
for one in sorted(one["path"] for one in tools.find("**/*.tmp")["entries"]):
    tools.move(one, f"trash/{one.replace('/', '_')}")
print(len(tools.find("trash/*")["entries"]))""",
    "delete empty files": """
gone = [one["path"] for one in tools.find("**/*", limit=1000)["entries"] if one["size"] == 0]
for path in gone: tools.delete(path)
print(sorted(gone))""",
    "is the version the same everywhere": """
import re
places = {"setup.cfg": r"version = (\\S+)", "shop/__init__.py": r'"(\\S+)"', "CHANGES.md": r"## (\\S+)"}
print({path: re.search(pattern, tools.read(path)["content"])[1] for path, pattern in places.items()})""",
    "programs without a first line for the shell": """
bad = []
for one in sorted(one["path"] for one in tools.find("bin/*")["entries"]):
    if "7" in tools.stat(one)["mode"] and not tools.read(one, limit=1)["content"].startswith("#!"): bad.append(one)
print(bad)""",
    "documents with three words": """
found = [tools.grep(word, path="docs", output="files")["rows"] for word in ("alpha", "beta", "gamma")]
print(sorted(set.intersection(*({row["path"] for row in rows} for rows in found))))""",
    "what stands before each failure": """
for row in tools.grep("FATAL", path="logs")["rows"]:
    print(tools.read(row["path"], offset=max(1, row["line"] - 1), limit=1)["content"])""",
    "variables used and not documented": """
import re
rows = tools.grep(r"environ\\[", include="*.py", limit=1000)["rows"]
used = {re.search(r"environ\\[.(\\w+)", row["text"])[1] for row in rows}
told = set(re.findall(r"`(SHOP_\\w+)`", tools.read("docs/variables.md")["content"]))
print(sorted(used - told))""",
    "the same patch for several files": """
for n in range(4):
    path = f"shop/mod_{n:02}.py"
    tools.patch(f"--- a/{path}\\n+++ b/{path}\\n@@ -1,1 +1,2 @@\\n import os\\n+import sys\\n")
print(tools.grep("^import sys", output="count")["files"])""",
    "definitions of each module": """
found = {}
for n in range(8):
    found[n] = tools.outline(f"shop/mod_{n:02}.py")["definitions"]
print(found)""",
}


def make_project(root: Path) -> None:
    """A small project, the same each time."""
    for n in range(24):
        needs = f"from shop.mod_{n - 1:02} import first\n" if n % 4 else ""
        body = "".join(
            f"\ndef function_{k}(items, size{', more' * (k % 4)}):\n"
            + ('    """Count."""\n' if (n + k) % 3 else "")
            + f"    # TODO({('ann', 'bob', 'cem')[(n * k) % 3]}): name\n    return len(items) * size + MAX_ITEMS\n"
            for k in range(8)
        )
        variable = f'KEY = os.environ["SHOP_{n % 5}"]\n'
        _put(
            root,
            f"shop/mod_{n:02}.py",
            f"import os\n{needs}MAX_ITEMS = {n}\n{variable}\ndef first():\n    return 1\n{body}",
        )
    for n in range(12):
        words = " ".join(("alpha", "beta", "gamma", "delta")[: 1 + n % 4])
        text = f"# Page {n}\n\nSee [next](page_{n + 1:02}.md). {words}{'  ' * (n % 2)}\n" + f"Line of page {n}.\n" * (
            30 + n
        )
        _put(root, f"docs/page_{n:02}.md", text)
        settings = {"name": f"s{n}", "port": 8000 + n, "version": 1 + n % 3, **({"timeout": n} if n % 5 else {})}
        _put(root, f"config/service_{n:02}.json", json.dumps(settings, indent=1) + "\n")
        rows = "".join(f"row{k},{k * (n % 6)}\n" for k in range(40))
        _put(root, f"data/table_{n:02}.csv", f"name,value\n{rows}")
    for n in range(4):
        lines = [
            f"{k:04} {'ERROR no stock' if k % 17 == n else 'ERROR late' if k % 29 == n else 'INFO ok'}"
            for k in range(300)
        ]
        _put(root, f"logs/day_{n}.log", "\n".join([*lines, f"9999 INFO last step {n}", "FATAL out of memory", ""]))
        _put(root, f"tests/test_mod_{n:02}.py", f"import shop.mod_{n:02}\n")
        _put(root, f"data/left_{n}.tmp", "x\n")
        _put(root, f"bin/run_{n}", ("#!/bin/sh\n" if n % 2 else "") + "echo run\n").chmod(0o755)
        _put(root, f"docs/empty_{n}.txt", "")
    _put(root, "setup.cfg", "[metadata]\nversion = 1.2\n")
    _put(root, "shop/__init__.py", '__version__ = "1.2"\n')
    _put(root, "CHANGES.md", "# Changes\n\n## 1.1\n")
    _put(root, "docs/variables.md", "`SHOP_0` `SHOP_1`\n")


def _put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@dataclass
class Outcome:
    """What a task printed and left behind, and what it cost a model."""

    answer: str = ""
    files: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    written: int = 0
    read: int = 0

    @property
    def turns(self) -> int:
        return len(set(self.calls))

    @property
    def tokens(self) -> int:
        return self.written + self.read

    def count(self, name: str, arguments: dict[str, Any], text: str) -> None:
        self.calls.append(name)
        self.written += estimate(json.dumps({"name": name, "arguments": arguments}))
        self.read += estimate(text)


class SingleCalls:
    """The tools of a program that runs in this process: each call is one of a model."""

    def __init__(self, kit: Kit, outcome: Outcome) -> None:
        self._kit, self._outcome = kit, outcome

    def __getattr__(self, name: str) -> Any:
        return partial(self._call, name)

    def _call(self, name: str, /, *positional: Any, **named: Any) -> Any:
        entry = self._kit.entry(name)
        assert entry is not None, name
        arguments = {**dict(zip(entry.schema["properties"], positional, strict=False)), **named}
        result = self._kit.call(name, arguments)
        self._outcome.count(name, arguments, result.text)
        if result.error is not None:
            raise CallFailed(result.error.code, result.text)
        return _Data(result.data, result.text) if isinstance(result.data, dict) else result.data or result.text


@contextlib.contextmanager
def _workspace() -> Iterator[tuple[Path, Kit]]:
    with tempfile.TemporaryDirectory(prefix="toolroll-bench-") as folder:
        root = Path(folder) / "project"
        make_project(root)
        with Kit(root, state_dir=f"{folder}/state", code_mode=True) as kit:
            yield root, kit


def _files(root: Path) -> dict[str, str]:
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(root)): path.read_text() for path in found}


def run_program(code: str) -> Outcome:
    """Run a task as one call of `python`."""
    with _workspace() as (root, kit):
        outcome, arguments = Outcome(), {"code": code.strip()}
        result = kit.call("python", arguments)
        if result.error is not None or result.data["exit_code"]:
            raise RuntimeError(result.text)
        outcome.count("python", arguments, result.text)
        outcome.answer, outcome.files = result.data["output"].strip(), _files(root)
        return outcome


def run_singly(code: str) -> Outcome:
    """Run a task call by call."""
    with _workspace() as (root, kit):
        outcome, printed = Outcome(), io.StringIO()
        own = {"tools": SingleCalls(kit, outcome), "ToolError": CallFailed, "__builtins__": builtins}
        with contextlib.redirect_stdout(printed):
            exec(compile(code.strip(), "<task>", "exec"), own)
        outcome.answer, outcome.files = printed.getvalue().strip(), _files(root)
        return outcome


def main() -> int:
    """Print a row for each task; the exit status tells whether all results are the same."""
    rows: list[tuple[int, ...]] = []
    different = 0
    print("| task | calls | turns | tokens | as a program |\n| --- | ---: | ---: | ---: | ---: |")
    for name, code in TASKS.items():
        program, single = run_program(code), run_singly(code)
        same = (program.answer, program.files) == (single.answer, single.files)
        different += not same
        rows.append((len(single.calls), single.turns, single.tokens, program.tokens))
        cells = " | ".join(f"{one:,}" for one in rows[-1])
        print(f"| {name}{'' if same else ' (DIFFERENT)'} | {cells} |", flush=True)
    print(f"| **all {len(rows)}** | {' | '.join(f'{sum(column):,}' for column in zip(*rows, strict=True))} |")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
