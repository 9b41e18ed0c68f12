"""Precision and recall of `references`, and renames that still build, on a real project.

    python -m bench.symbols references PROJECT --language python --truth basedpyright-langserver [--server ty]
    python -m bench.symbols references PROJECT --language go --truth "go run bench/truth/uses.go PROJECT"
    python -m bench.symbols renames PROJECT --language python --check "ty check --quiet" [--count 40]

The truth is what another language server resolves, or a command that answers each line [path, line, column] with all
places of the symbol there, as those in `bench/truth` do with compilers. The place that is asked about does not count.
`--server none` measures the answers by name. Symbols are chosen by a hash of their names among those that are used at
least twice. A rename is made in a copy of the project, checked with a command that must end as before, and undone.
Where its new lines name files that the result of the rename does not name (as unknown, as text, or as a test) it is
"broken", else "named". `--functions` chooses functions and methods alone, half of each.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from toolroll import Kit
from toolroll.host.code import place_resolver, symbol_lookup
from toolroll.host.code.place_resolver import list_places
from toolroll.text.code.syntax.symbols import Symbol

Spot = tuple[str, int, int]
_LISTS = ("resolved", "ruled_out", "unknown", "missing")
_PATH = re.compile(r"[\w./-]+\.(?:py|tsx?|go|[ch])\b")
_KINDS = frozenset({"function", "method", "class", "interface", "struct", "type"})


class Asked(NamedTuple):
    """A symbol by the place of its definition."""

    path: str
    line: int
    column: int
    name: str
    kind: str

    @property
    def spot(self) -> Spot:
        return self.path, self.line, self.column


Judge = Callable[[Asked], "set[Spot] | None"]
"""From a symbol to all its places; None where nothing is known of it."""


def choose_symbols(kit: Kit, count: int, language: str) -> list[Asked]:
    """Definitions in an order that depends on nothing but their names."""
    found = []
    for path, tags in kit.context().structure.scan(".", wanted=lambda one: one.name in _languages(language)).found:
        for tag in tags.definitions:
            if tag.kind in _KINDS and not tag.name.startswith("__") and "test" not in path:
                found.append(Asked(path, tag.name_line, tag.column, tag.name, tag.kind))
    order = sorted(found, key=lambda one: hashlib.sha256(f"{one.path}:{one.name}".encode()).digest())
    return order[: 4 * count]


def choose_functions(kit: Kit, count: int, language: str) -> list[Asked]:
    """Methods and functions by turns that are used somewhere, in the same order."""
    order = [one for one in choose_symbols(kit, 1000, language) if one.kind in ("method", "function")]
    used = list(
        islice(
            (one for one in {one.name: one for one in reversed(order)}.values() if len(list_spots(kit, one.name)) > 1),
            4 * count,
        )
    )
    by_kind = [[one for one in used if one.kind == kind] for kind in ("method", "function")]
    return [one for pair in zip_longest(*by_kind) for one in pair if one is not None][:count]


def list_spots(kit: Kit, name: str) -> set[str]:
    """All places of a name in code, as the results of renames have them."""
    named, _ = kit.context().lookup.named_files(Symbol(name), ".")
    return {f"{row.path}:{row.place.line}:{row.place.column}" for row in list_places(named)}


def _languages(language: str) -> tuple[str, ...]:
    return {"typescript": ("typescript", "tsx", "javascript"), "c": ("c", "cpp")}.get(language, (language,))


def resolve(kit: Kit, symbol: Asked) -> tuple[set[Spot], bool]:
    """The places of a symbol, and whether a server resolved them."""
    result = kit.call("references", {"path": symbol.path, "line": symbol.line, "symbol": symbol.name})
    if not result.ok or not isinstance(result.data, dict):
        return set(), False
    groups = result.data["groups"]
    rows = [*result.data["definitions"], *(use for group in groups for use in group["uses"])]
    return {(row["path"], row["line"], row["column"]) for row in rows}, all(group["server"] for group in groups)


def judge_by_server(stack: ExitStack, project: Path, language: str, program: str) -> Judge:
    kit = stack.enter_context(Kit(project, servers={language: program}))

    def judge(symbol: Asked) -> set[Spot] | None:
        places, known = resolve(kit, symbol)
        return places if known else None

    return judge


def judge_by_command(stack: ExitStack, command: str) -> Judge:
    pipe = subprocess.PIPE
    running = stack.enter_context(subprocess.Popen(shlex.split(command), stdin=pipe, stdout=pipe, text=True))
    assert running.stdin is not None
    assert running.stdout is not None
    asks, answers = running.stdin, running.stdout
    stack.callback(asks.close)

    def judge(symbol: Asked) -> set[Spot] | None:
        print(json.dumps(symbol.spot), file=asks, flush=True)
        places = json.loads(answers.readline())
        return None if places is None else {(path, line, column) for path, line, column in places}

    return judge


def measure_references(arguments: argparse.Namespace) -> None:
    """Print precision and recall over all places of the chosen symbols, for each kind and for all."""
    symbol_lookup.SERVER_SECONDS = place_resolver.SERVER_SECONDS = 60.0  # what is right is asked here, not how soon
    counts, seconds = Counter[tuple[str, str]](), list[float]()
    with ExitStack() as stack:
        chosen = {arguments.language: arguments.server} if arguments.server else None
        ours = stack.enter_context(Kit(arguments.project, servers=chosen))
        judge = (
            judge_by_command(stack, arguments.truth)
            if " " in arguments.truth
            else judge_by_server(stack, arguments.project, arguments.language, arguments.truth)
        )
        for symbol in choose_symbols(ours, arguments.count, arguments.language):
            expected = judge(symbol)
            if expected is None or symbol.spot not in expected or len(expected) < 3:
                continue
            since = time.monotonic()
            given, by_server = resolve(ours, symbol)
            seconds.append(time.monotonic() - since)
            if arguments.verbose and (given != expected or not by_server):
                print(
                    "resolved" if by_server else "by name",
                    symbol,
                    "more:",
                    sorted(given - expected)[:5],
                    "missing:",
                    sorted(expected - given)[:5],
                )
            expected, given = expected - {symbol.spot}, given - {symbol.spot}
            for kind in ("all", symbol.kind):
                counts[kind, "right"] += len(given & expected)
                counts[kind, "found"] += len(given)
                counts[kind, "wanted"] += len(expected)
                counts[kind, "resolved"] += by_server
                counts[kind, "symbols"] += 1
            if len(seconds) == arguments.count or time.monotonic() > arguments.end:
                break
    for kind in dict.fromkeys(kind for kind, _ in counts):
        print(f"{arguments.project.name}, {kind}: {describe(kind, counts)}")
    print(f"median {sorted(seconds)[len(seconds) // 2]:.2f} s, worst {max(seconds):.2f} s" if seconds else "nothing")


def describe(kind: str, counts: Counter[tuple[str, str]]) -> str:
    symbols, resolved, right, found, wanted = (
        counts[kind, what] for what in ("symbols", "resolved", "right", "found", "wanted")
    )
    shares = f"precision {right / max(1, found):.3f}, recall {right / max(1, wanted):.3f}"
    return f"{symbols} symbols, {wanted} places, {resolved} resolved, {shares}"


def measure_renames(arguments: argparse.Namespace) -> None:
    """Print how many renames were made, still check, and were refused with the project unchanged."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(shutil.copytree(arguments.project, Path(scratch) / arguments.project.name, symlinks=True))
        before = check(project, arguments.check)
        original = contents(project)
        outcomes = {"made": 0, "named": 0, "broken": 0, "refused": 0, "half done": 0}
        places = Counter[str]()
        with Kit(project, servers={arguments.language: arguments.server} if arguments.server else None) as kit:
            choose = choose_functions if arguments.functions else choose_symbols
            for one in choose(kit, arguments.count, arguments.language)[: arguments.count]:
                call = {"path": one.path, "line": one.line, "symbol": one.name, "new_name": f"{one.name}Renamed"}
                spots = list_spots(kit, one.name)
                result = kit.call("rename", call)
                outcome = "refused"
                if result.ok:
                    outcome = judge_rename(result.data, before, check(project, arguments.check))
                    count_places(places, result.data, spots)
                    kit.call("undo", {})
                    if contents(project) != original:
                        raise RuntimeError(f"undo did not restore {call}")
                elif contents(project) != original:
                    outcome = "half done"
                outcomes[outcome] += 1
                if arguments.verbose or outcome in ("broken", "half done"):
                    print(outcome, call, result.text.splitlines()[:3])
                if time.monotonic() > arguments.end:
                    break
    print(f"{arguments.project.name}: {', '.join(f'{count} {name}' for name, count in outcomes.items())}")
    print(f"{arguments.project.name}: {', '.join(f'{places[name]} {name}' for name in _LISTS)}")


def judge_rename(renamed: dict[str, Any], before: CheckEnd, after: CheckEnd) -> str:
    """How a rename ended: "named" if all that broke is named by its result."""
    new = after.lines - before.lines
    if after.status == before.status and not new:
        return "made"
    told = [*renamed["left"], *(one["place"] for one in renamed["unknown"]), *renamed["tests"]]
    named = {one.partition(":")[0] for one in told}
    broken = {path for line in new for path in _PATH.findall(line)}
    return (
        "named"
        if broken and all(any(one.endswith(path.lstrip("./")) for one in named) for path in broken)
        else "broken"
    )


def count_places(places: Counter[str], renamed: dict[str, Any], spots: set[str]) -> None:
    """Add the places of a name in code by the list of the result that has them."""
    resolved, ruled_out, unknown = (
        spots.intersection(one if isinstance(one, str) else one["place"] for one in renamed[name])
        for name in _LISTS[:3]
    )
    for name, found in zip(_LISTS, (resolved, ruled_out, unknown, spots - resolved - ruled_out - unknown), strict=True):
        places[name] += len(found)


class CheckEnd(NamedTuple):
    """How a command ends, and the lines with names of files that it writes, without numbers."""

    status: int
    lines: frozenset[str]


def check(project: Path, command: str) -> CheckEnd:
    done = subprocess.run(shlex.split(command), cwd=project, capture_output=True, text=True, check=False)
    lines = (re.sub(r"[\d.]+m?s|:\d+|\bin [\d.]+", "", line) for line in (done.stdout + done.stderr).splitlines())
    return CheckEnd(done.returncode, frozenset(line for line in lines if _PATH.search(line)))


def contents(project: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in _sources(project.rglob("*"))}


def _sources(paths: Iterable[Path]) -> Iterator[Path]:
    skipped = {".git", "node_modules", "__pycache__", ".ruff_cache"}
    return (path for path in paths if path.is_file() and not path.is_symlink() and not skipped & set(path.parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("references", "renames"))
    parser.add_argument("project", type=Path)
    parser.add_argument("--language", default="python")
    parser.add_argument("--server", help="the server that is measured; none for answers by name")
    parser.add_argument("--truth", default="", help="the server, or the command with its arguments, that is right")
    parser.add_argument("--check", default="", help="the command that a rename must not change the end of")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after this time")
    parser.add_argument("--functions", action="store_true", help="rename functions and methods alone")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    arguments.project = arguments.project.resolve()
    arguments.end = time.monotonic() + arguments.seconds
    (measure_references if arguments.what == "references" else measure_renames)(arguments)


if __name__ == "__main__":
    sys.exit(main())
