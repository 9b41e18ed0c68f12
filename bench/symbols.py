"""Precision and recall of `references`, and renames that still build, on a real project.

    python -m bench.symbols references PROJECT --language python --truth basedpyright-langserver [--server ty]
    python -m bench.symbols renames PROJECT --language python --check "ty check --quiet" [--count 40]

The truth is what another language server resolves, or the same one where there is no other. `--server none` measures
the answers by name. Symbols are chosen by a hash of their names among those that are used at least twice. A rename is
made in a copy of the project, checked with a command that must end as before, and undone.
"""

from __future__ import annotations

import argparse
import hashlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from toolroll import Kit
from toolroll.host.code import symbol_lookup, symbol_uses

Spot = tuple[str, int, int]
_KINDS = frozenset({"function", "method", "class", "interface", "struct", "type"})


def choose_symbols(kit: Kit, count: int, language: str) -> list[tuple[str, int, str]]:
    """Definitions by path, line and name: in an order that depends on nothing but their names."""
    found = []
    for path, tags in kit.context().structure.scan(".", wanted=lambda one: one.name in _languages(language)).found:
        for tag in tags.definitions:
            if tag.kind in _KINDS and not tag.name.startswith("__") and "test" not in path:
                found.append((path, tag.name_line, tag.name))
    order = sorted(found, key=lambda one: hashlib.sha256(f"{one[0]}:{one[2]}".encode()).digest())
    return order[: 4 * count]


def _languages(language: str) -> tuple[str, ...]:
    return {"typescript": ("typescript", "tsx", "javascript"), "c": ("c", "cpp")}.get(language, (language,))


def resolve(kit: Kit, symbol: tuple[str, int, str]) -> tuple[set[Spot], bool]:
    """The uses of a symbol, and whether a server resolved them."""
    path, line, name = symbol
    result = kit.call("references", {"path": path, "line": line, "symbol": name})
    if not result.ok or not isinstance(result.data, dict):
        return set(), False
    groups = result.data["groups"]
    uses = {(use["path"], use["line"], use["column"]) for group in groups for use in group["uses"]}
    return uses, all(group["server"] for group in groups)


def measure_references(arguments: argparse.Namespace) -> None:
    """Print precision and recall over all uses of the chosen symbols."""
    symbol_lookup.SERVER_SECONDS = symbol_uses.SERVER_SECONDS = 60.0  # what is right is asked here, not how soon
    truth, server = arguments.truth, arguments.server
    right = found = wanted = done = resolved = 0
    seconds: list[float] = []
    with (
        Kit(arguments.project, servers={arguments.language: truth}) as judge,
        Kit(arguments.project, servers={arguments.language: server} if server else None) as ours,
    ):
        for symbol in choose_symbols(ours, arguments.count, arguments.language):
            expected, known = resolve(judge, symbol)
            if not known or len(expected) < 2:
                continue
            since = time.monotonic()
            given, by_server = resolve(ours, symbol)
            seconds.append(time.monotonic() - since)
            if arguments.verbose and given != expected:
                print(symbol, "more:", sorted(given - expected)[:5], "missing:", sorted(expected - given)[:5])
            right, found, wanted = right + len(given & expected), found + len(given), wanted + len(expected)
            resolved += by_server
            done += 1
            if done == arguments.count or time.monotonic() > arguments.end:
                break
    seconds.sort()
    median, worst = (seconds[len(seconds) // 2], seconds[-1]) if seconds else (0.0, 0.0)
    print(
        f"{arguments.project.name}: {done} symbols, {wanted} uses, {resolved} resolved, "
        f"precision {right / max(1, found):.3f}, recall {right / max(1, wanted):.3f}, "
        f"median {median:.2f} s, worst {worst:.2f} s"
    )


def measure_renames(arguments: argparse.Namespace) -> None:
    """Print how many renames were made, still check, and were refused with the project unchanged."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(shutil.copytree(arguments.project, Path(scratch) / arguments.project.name, symlinks=True))
        before = check(project, arguments.check)
        original = contents(project)
        outcomes = {"made": 0, "broken": 0, "refused": 0, "half done": 0}
        with Kit(project, servers={arguments.language: arguments.server} if arguments.server else None) as kit:
            for path, line, name in choose_symbols(kit, arguments.count, arguments.language)[: arguments.count]:
                call = {"path": path, "line": line, "symbol": name, "new_name": f"{name}Renamed"}
                result = kit.call("rename", call)
                outcome = "refused"
                if result.ok:
                    outcome = "made" if check(project, arguments.check) == before else "broken"
                    kit.call("undo", {})
                    if contents(project) != original:
                        raise RuntimeError(f"undo did not restore {call}")
                elif contents(project) != original:
                    outcome = "half done"
                outcomes[outcome] += 1
                if time.monotonic() > arguments.end:
                    break
                if arguments.verbose or outcome in ("broken", "half done"):
                    print(outcome, call, result.text.splitlines()[:3])
    print(f"{arguments.project.name}: {', '.join(f'{count} {name}' for name, count in outcomes.items())}")


def check(project: Path, command: str) -> Any:
    """How a command ends, and how many lines it writes."""
    done = subprocess.run(shlex.split(command), cwd=project, capture_output=True, text=True, check=False)
    return done.returncode, len(done.stdout.splitlines())


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
    parser.add_argument("--truth", default="", help="the server that tells the truth")
    parser.add_argument("--check", default="", help="the command that a rename must not change the end of")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after this time")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    arguments.project = arguments.project.resolve()
    arguments.end = time.monotonic() + arguments.seconds
    (measure_references if arguments.what == "references" else measure_renames)(arguments)


if __name__ == "__main__":
    sys.exit(main())
