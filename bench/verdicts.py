"""`python -m bench.verdicts REPOSITORY`: what the verdict after a change says of faults, and of commits that were fine.

Mutations put a fault of five kinds into the newest sources of a language, one at a time: the share that is caught.
Commits that change one source file are written as they are onto the state before them: each alarm is counted as a
false one.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import faults
from toolroll import Kit
from toolroll.host.code import verdicts
from toolroll.text.code.syntax import languages

ALARMS = ("Not defined in", "New problem", "does not parse any more", "Imported but not used")
LEAST_CHARS = 1_000  # of a source that is changed
_ENDINGS = {"python": "*.py", "typescript": "*.ts", "go": "*.go", "c": "*.c"}
_SIMPLE = ("str", "int", "bool", "bytes", "float")


class Fault(NamedTuple):
    """A source with a fault in it."""

    kind: str
    path: str
    text: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.verdicts", description=__doc__.partition("\n")[0])
    parser.add_argument("repository", type=Path, help="a git repository with history")
    parser.add_argument("--commits", type=int, default=100, metavar="N", help="how many, the newest (default 100)")
    parser.add_argument("--mutations", type=int, default=40, metavar="N", help="how many of each kind (default 40)")
    parser.add_argument("--language", choices=tuple(_ENDINGS), default="python", help="of the sources that are mutated")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop the commits after this time")
    parser.add_argument("--budget", type=float, help="seconds that a verdict may add to a call")
    parser.add_argument("--servers", type=str, default="", metavar="LANGUAGE=PROGRAM", help="a server other than ours")
    options = parser.parse_args(arguments)
    if options.budget:
        verdicts.BUDGET_S = verdicts._CHECK_S = options.budget
    servers = dict([options.servers.split("=")]) if options.servers else None
    with tempfile.TemporaryDirectory(prefix="verdicts-") as scratch:
        tree = Path(scratch, "tree")
        git(Path(scratch), "clone", "-q", "--shared", str(options.repository.absolute()), str(tree))
        for kind, (caught, late, made) in run_mutations(tree, options.mutations, servers, options.language).items():
            print(f"{kind:16} {caught} of {made} caught at once, {late} with the next change")
        alarms, written, slowest = run_commits(tree, options.commits, servers, options.seconds)
        print(f"{written} commits, {len(alarms)} false alarms, slowest call {slowest:.2f} s")
        print("\n".join(alarms))
    return 0


def run_mutations(
    tree: Path, most: int, servers: dict[str, str] | None = None, language: str = "python"
) -> dict[str, tuple[int, int, int]]:
    """How many faults of each kind are caught at once, how many with the next change, and of how many."""
    made, caught, late = Counter[str](), Counter[str](), Counter[str]()
    with Kit(tree, servers=servers, state_dir=tree.parent / "state") as kit:
        for fault in _faults(tree, most, language):
            if not made:
                warm_up(kit, fault.path)
            before = (tree / fault.path).read_text()
            said = kit.call("write", {"path": fault.path, "content": fault.text}).text
            warm_up(kit, fault.path)  # what comes late is told with the next change
            later = kit.call("write", {"path": fault.path, "content": before}).text
            warm_up(kit, fault.path)
            made[fault.kind] += 1
            caught[fault.kind] += is_alarm(said)
            late[fault.kind] += not is_alarm(said) and "Of an earlier change: " in later and is_alarm(later)
    return {kind: (caught[kind], late[kind], made[kind]) for kind in made}


def run_commits(
    tree: Path, most: int, servers: dict[str, str] | None = None, seconds: float = 3600.0
) -> tuple[list[str], int, float]:
    """The alarms, the number of commits, and the seconds of the longest call."""
    alarms, written, slowest, end = [], 0, 0.0, time.monotonic() + seconds
    chosen = list(_commits(tree, most))
    with Kit(tree, servers=servers, state_dir=tree.parent / "state", limits={"call_seconds": 600}) as kit:
        for commit, path in chosen:
            if time.monotonic() > end:
                break
            git(tree, "checkout", "-q", "--force", f"{commit}^")
            if not written:
                warm_up(kit, path)
            content = git(tree, "show", f"{commit}:{path}")
            kit.call("read", {"path": path, "limit": 1})
            began = time.perf_counter()
            said = kit.call("write", {"path": path, "content": content}).text
            assert said.startswith("Wrote"), said
            slowest = max(slowest, time.perf_counter() - began)
            written += 1
            alarms += [f"{commit[:10]} {path}: {line}" for line in said.split("\n") if is_alarm(line)]
    return alarms, written, slowest


def warm_up(kit: Kit, path: str) -> None:
    """Start the server, or wait until it is ready, which is not what is measured."""
    kit.call("diagnostics", {"files": [path]})


def is_alarm(text: str) -> bool:
    lines = (line for line in text.split("\n") if not line.startswith((" ", "+", "-", "@")))
    return any(alarm in line for line in lines for alarm in ALARMS)


def git(folder: Path, *words: str) -> str:
    run = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=folder, capture_output=True, check=True)
    return run.stdout.decode(errors="surrogateescape")


def _commits(tree: Path, most: int) -> Iterator[tuple[str, str]]:
    """The newest commits that change one source file that was there before, and that file."""
    commit, files, count = "", list[str](), 0
    log = git(tree, "log", "--no-merges", "--format=%x00%H", "--name-status", "--no-renames")
    for record in log.split("\0")[1:]:
        commit, *rows = [line for line in record.split("\n") if line]
        files = [row.partition("\t")[2] for row in rows if (known := languages.by_name(row)) and known.code]
        if len(files) == 1 and f"M\t{files[0]}" in rows:
            yield commit, files[0]
            count += 1
        if count == most:
            return


def _faults(tree: Path, most: int, language: str) -> Iterator[Fault]:
    """So many faults of each kind, the same each time."""
    chance = random.Random(1)
    makers = PYTHON if language == "python" else faults.kinds(language)
    named = sorted(tree.rglob(_ENDINGS[language]))
    paths = [one for one in named if "test" not in str(one.relative_to(tree)) and one.stat().st_size]
    left, seen = Counter(dict.fromkeys(makers, most)), set[str]()
    for _ in range(100 * most):
        kind = next((one for one in makers if left[one]), None)
        if kind is None:
            return
        path = chance.choice(paths)
        text = path.read_text()
        made = makers[kind](text, chance) if LEAST_CHARS < len(text) < 100_000 else None
        if made is not None and made != text and made not in seen:
            seen.add(made)
            left[kind] -= 1
            yield Fault(kind, str(path.relative_to(tree)), made)


def _replace(text: str, node: ast.expr, new: str) -> str:
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
    data = text.encode()
    return (data[:start] + new.encode() + data[end:]).decode()


def _break_syntax(text: str, tree: ast.Module, chance: random.Random) -> str | None:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if not calls:
        return None
    call = chance.choice(calls)
    whole = ast.get_source_segment(text, call) or ""
    return _replace(text, call, whole[:-1])


def _misspell(text: str, tree: ast.Module, chance: random.Random) -> str | None:
    names = [node for node in _inner(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    chosen = chance.choice(names) if names else None
    return _replace(text, chosen, f"{chosen.id}_misspelled") if chosen else None


def _add_argument(text: str, tree: ast.Module, chance: random.Random) -> str | None:
    """A call of a function of the same module, with one argument too many."""
    plain = {
        one.name
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and not (one.args.vararg or one.decorator_list or one.args.defaults)
    }
    calls = [one for one in _inner(tree) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    calls = [one for one in calls if one.func.id in plain and not one.keywords]  # type: ignore[attr-defined]  # a Name
    if not calls:
        return None
    call = chance.choice(calls)
    whole = ast.get_source_segment(text, call) or ""
    return _replace(text, call, f"{whole[:-1].rstrip().rstrip(',')}{', ' if call.args else ''}None)")


def _return_wrong(text: str, tree: ast.Module, chance: random.Random) -> str | None:
    """A function that says it returns a simple type returns another."""
    found = [
        node
        for one in ast.walk(tree)
        if isinstance(one, ast.FunctionDef) and isinstance(one.returns, ast.Name) and one.returns.id in _SIMPLE
        for node in ast.walk(one)
        if isinstance(node, ast.Return) and node.value is not None
    ]
    chosen = chance.choice(found) if found else None
    return _replace(text, chosen.value, "object()") if chosen is not None and chosen.value is not None else None


def _import_more(text: str, tree: ast.Module, chance: random.Random) -> str | None:
    imports = [one for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    imports = [one for one in imports if getattr(one, "module", "") != "__future__"]
    if not imports or "colorsys" in text:
        return None
    lines = text.splitlines(keepends=True)
    lines.insert(chance.choice(imports).lineno - 1, "import colorsys\n")
    return "".join(lines)


def _inner(tree: ast.Module) -> Iterator[ast.AST]:
    """What is inside functions."""
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef):
            for statement in one.body:
                yield from ast.walk(statement)


def _parsed(make: Callable[[str, ast.Module, random.Random], str | None]) -> faults.Make:
    return lambda text, chance: make(text, ast.parse(text), chance)


PYTHON: dict[str, faults.Make] = {
    "syntax": _parsed(_break_syntax),
    "undefined name": _parsed(_misspell),
    "argument count": _parsed(_add_argument),
    "wrong type": _parsed(_return_wrong),
    "unused import": _parsed(_import_more),
}


if __name__ == "__main__":
    sys.exit(main())
