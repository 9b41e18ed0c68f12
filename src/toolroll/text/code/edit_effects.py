"""What a change of one source means for others, seen by its text alone: changed signatures, unused imports."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

_HEADER = re.compile(
    r"^[ \t]*(?:\w+(?:\(\w+\))?[ \t]+){0,3}?(?:def|func|function|fn|fun)\b[ \t]*\*?[ \t]*"
    r"(?:\([^()\n]*\)[ \t]*)?([\w$]+)[ \t]*(?:<[^>\n]*>|\[[^\]\n]*\])?\(",
    re.MULTILINE,
)
_IMPORT = re.compile(
    r"^(?:import[ \t][^\n(]+|from[ \t]+\S+[ \t]+import[ \t]*(?:\([^)]*\)|[^\n(]+))[^\n]*$", re.MULTILINE
)
_WORD = re.compile(r"\w+")
_KEYWORDS = re.compile(r"\b(?:def|func|function|fn|fun|class|import|from)\b")
_COMMENTS = ("#", "//", "*", "/*")
_MAX_SIGNATURE_CHARS = 2_000
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


class ChangedFunctions(NamedTuple):
    """Functions of one source whose parameters are others than before, and those that are gone."""

    changed: list[str]
    removed: list[str]


def find_changed_functions(before: str, after: str) -> ChangedFunctions:
    """Compare the functions of two texts of a source, where a keyword such as `def` or `func` begins them."""
    old, new = map(_signatures, _changed_parts(before, after))
    changed = [name for name, said in old.items() if name in new and not said <= new[name]]
    return ChangedFunctions(changed, [name for name in old if name not in new])


def is_call(line: str, name: str) -> bool:
    """Whether a line that holds `name(` calls it: it is no definition, import or comment."""
    before = line.partition(f"{name}(")[0]
    return not line.lstrip().startswith(_COMMENTS) and not _KEYWORDS.search(before)


def find_unused_imports(path: str, before: str, after: str) -> dict[str, int]:
    """Names that a Python source imports and has nowhere else, with their lines; not those unused before."""
    name = path.rpartition("/")[2]
    if not name.endswith(".py") or name == "__init__.py":  # there, an import is for others
        return {}
    old, new = (Counter(_WORD.findall(part)) for part in _changed_parts(before, after))
    touched = frozenset(word for word in old | new if old[word] != new[word])
    found = _unused(after, touched)
    known = _unused(before, touched) if found else {}
    return {name: line for name, line in found.items() if name not in known}


def _unused(source: str, names: frozenset[str]) -> Mapping[str, int]:
    """Which of these names are imported at the upper level and stand nowhere else, with the lines of the imports.

    An import in `try` or `if` has its reasons.
    """
    found: dict[str, int] = {}
    for statement in _IMPORT.finditer(source):
        if "noqa" in statement[0] or names.isdisjoint(_WORD.findall(statement[0])):
            continue
        try:
            node = ast.parse(statement[0]).body[0]
        except (SyntaxError, ValueError):
            continue
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or getattr(node, "module", "") == "__future__":
            continue
        # `import a.b` runs a module, and `import a as a` gives it to others.
        for bound in names.intersection(alias.asname or alias.name for alias in node.names):
            if len(re.findall(rf"\b{bound}\b", source)) == 1:
                found[bound] = source.count("\n", 0, statement.start()) + 1
    return found


def _changed_parts(before: str, after: str) -> tuple[str, str]:
    """The parts in which two texts differ, from the line in which a signature that reaches into them may begin."""
    least, most = 0, min(len(before), len(after))
    while least < most:  # how many characters both begin with
        middle = (least + most + 1) // 2
        least, most = (middle, most) if before[:middle] == after[:middle] else (least, middle - 1)
    start = before.rfind("\n", 0, max(0, least - _MAX_SIGNATURE_CHARS)) + 1
    least, most = 0, min(len(before), len(after)) - least
    while least < most:  # and end with
        middle = (least + most + 1) // 2
        same = before[len(before) - middle :] == after[len(after) - middle :]
        least, most = (middle, most) if same else (least, middle - 1)
    ends = (text.find("\n", len(text) - least) for text in (before, after))
    first, second = (len(text) if end < 0 else end for text, end in zip((before, after), ends, strict=True))
    return before[start:first], after[start:second]


def _signatures(source: str) -> dict[str, set[str]]:
    """The parameters of each function by its name; functions of one name are taken together."""
    found: dict[str, set[str]] = {}
    for header in _HEADER.finditer(source):
        depth, end = 1, header.end()
        for end in range(header.end(), min(len(source), header.end() + _MAX_SIGNATURE_CHARS)):
            depth += _BRACKETS.get(source[end], 0)
            if not depth:
                break
        inner = "".join(source[header.end() : end].split()).rstrip(",")
        found.setdefault(header[1], set()).add(inner)
    return found
