"""Find what names a file or folder in the texts of others: imports, includes and paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

_PYTHON_IMPORT = re.compile(
    # Text that only looks like an import costs a needless test, and this is many times faster than parsing.
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n;]*)"
    r"|import[ \t]+(?P<plain>[\w., \t]+))",
    re.M,
)
_PYTHON = (".py", ".pyi")
_SCRIPT = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte")
_PACKAGED = (".java", ".kt", ".scala", ".cs", ".swift", ".go")
"""Files that name each other's definitions, not each other: what uses one is not known by its path."""
_TEST = re.compile(r"(^|/)(tests?|__tests__|specs?)/|(^|/)test_[^/]*$|[._](test|spec)s?\.\w+$|_test\.\w+$|Tests?\.\w+$")


class Mention(NamedTuple):
    """A line that names a path, and whether it can be no other."""

    line: int
    sure: bool


def is_test(path: str) -> bool:
    """Whether a file holds tests, by its name or folder."""
    return _TEST.search(path) is not None


def stem_of(path: str) -> str:
    """What every text contains that names a path; empty where its users do not name it."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    if stem in ("__init__", "index", "mod") and folder:
        return folder.rpartition("/")[2]
    return stem or name.lstrip(".")


def find_mentions(target: str, path: str, text: str) -> list[Mention]:
    """The lines of a text, at `path`, that name a path of the workspace."""
    found: dict[int, bool] = {}
    for start, sure in (*_python_mentions(target, path, text), *_word_mentions(target, path, text)):
        line = text.count("\n", 0, start) + 1
        found[line] = sure or found.get(line, False)
    return [Mention(line, found[line]) for line in sorted(found)]


def _word_mentions(target: str, path: str, text: str) -> Iterator[tuple[int, bool]]:
    stem, last, folder = re.escape(stem_of(target)), target.rpartition("/")[2], posixpath.dirname(path)
    for match in re.finditer(rf"[\w@.~/-]*(?<![\w-]){stem}(?![\w-])[\w./-]*", text):
        start, word = match.start(), match[0].rstrip(".")
        places = {posixpath.normpath(posixpath.join(at, word)) for at in (folder, "")}
        is_path = "/" in word
        leads = any(_is_place(one, target, path) for one in places)
        if (leads and (is_path or word == last)) or (is_path and f"/{target}".endswith(f"/{word.lstrip('./')}")):
            yield start, True
        elif word == last and "." in word:
            yield start, False
        elif path.endswith(".rs") and re.search(r"\bmod\s+$", text[:start][-20:]):
            yield start, posixpath.dirname(target) == folder
        elif target.endswith(_PACKAGED) and posixpath.splitext(target)[1] == posixpath.splitext(path)[1]:
            yield start, False


def _is_place(place: str, target: str, path: str) -> bool:
    """Whether a path as it is written leads to the target or into it."""
    if place == target or place.startswith(f"{target}/"):
        return True
    base, ending = posixpath.splitext(target)
    if not path.endswith(_SCRIPT) or ending not in _SCRIPT:
        return False
    return (posixpath.splitext(place)[0] if place.endswith(_SCRIPT) else place) in (base, base.removesuffix("/index"))


def _python_mentions(target: str, path: str, text: str) -> Iterator[tuple[int, bool]]:
    module = posixpath.splitext(target)[0].removesuffix("/__init__").replace("/", ".")
    for start, name in find_imports(path, text) if path.endswith(_PYTHON) else ():
        parts = name.split(".")
        heads = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        if module in heads or any("." in one and module.endswith(f".{one}") for one in heads):
            yield start, True
        elif any(module.endswith(f".{one}") for one in heads):
            yield start, posixpath.dirname(target) == posixpath.dirname(path)


def find_imports(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Where a Python text imports something, and the dotted names that this may be."""
    for found in _PYTHON_IMPORT.finditer(text):
        start = found.end() - len(found[0].lstrip("\n;: \t"))
        if plain := found["plain"]:
            yield from ((start, part.split()[0]) for part in plain.split(",") if part.split())
            continue
        base = found["module"]
        if dots := len(found["dots"]):
            above = path.split("/")[:-dots]
            base = ".".join((*above, base) if base else above)
        yield start, base
        for name in re.findall(r"\w+", re.sub(r"#[^\n]*|\bas\s+\w+", "", found["names"])):
            yield start, f"{base}.{name}".lstrip(".")
