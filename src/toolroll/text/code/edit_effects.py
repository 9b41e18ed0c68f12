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
_WORDS = r"(?:[\w$<>\[\],.:?@]+[ \t*&]+)"  # types and modifiers before a name
_BLOCK_HEADER = re.compile(rf"^([ \t]*)({_WORDS}{{0,8}})(?:[\w$]+::)*([\w$~]+)[ \t]*(?:<[^>\n(]*>)?\(", re.MULTILINE)
_BLOCK = re.compile(r"[ \t]*(?:(?:const|noexcept|override|final)[ \t]*)*(?:throws[ \t][\w., \t]+)?(?::[^;{}\n]*)?\s*\{")
_STATEMENTS = re.compile(
    r"\b(?:and|assert|await|case|catch|defer|delete|do|elif|else|except|for|go|if|in|lambda|new|not|or|print|puts|raise|return"
    r"|switch|throw|typeof|unless|until|when|while|with|yield)\b"
)
_SCRIPTS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
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


def find_changed_functions(path: str, before: str, after: str) -> ChangedFunctions:
    """Compare the functions of two texts of a source, begun by a keyword (`def`, `func`) or as in C and Java."""
    old, new = (_signatures(text, path.endswith(_SCRIPTS)) for text in _changed_parts(before, after))
    changed = [name for name, said in old.items() if name in new and not said <= new[name]]
    return ChangedFunctions(changed, [name for name in old if name not in new])


def is_call(line: str, name: str) -> bool:
    """Whether a line that holds `name(` calls it: it is no definition, declaration, import or comment."""
    before, _, behind = line.partition(f"{name}(")
    declared = before.split() and behind[_close(behind, 0) + 1 :].strip() == ";" and _is_typed(before)
    return not (line.lstrip().startswith(_COMMENTS) or _KEYWORDS.search(before) or declared or _begins(before, behind))


def is_definition(line: str, name: str) -> bool:
    """Whether a line that holds `name(` defines something of this name."""
    before, _, behind = line.partition(f"{name}(")
    defined = _KEYWORDS.search(before) is not None or _begins(before, behind)
    return defined and not line.lstrip().startswith(_COMMENTS)


def _begins(before: str, behind: str) -> bool:
    """Whether a function without a keyword begins around `name(`; its block may stand in the next line."""
    rest = behind[_close(behind, 0) + 1 :]
    return _is_typed(before) and (_BLOCK.match(rest) is not None or bool(before.split() and not rest.strip()))


def _is_typed(before: str) -> bool:
    """Whether only types and modifiers stand before a name."""
    typed = re.fullmatch(rf"\s*{_WORDS}*", before) is not None and not before.rstrip().endswith((":", ",", "."))
    return typed and not _STATEMENTS.search(before)


def find_unused_imports(path: str, before: str, after: str) -> dict[str, int]:
    """Names that a Python source imports and has nowhere else, with their lines; not those unused before."""
    name = path.rpartition("/")[2]
    if not name.endswith(".py") or name == "__init__.py":  # there, an import is for others
        return {}
    old, new = (Counter(_WORD.findall(part)) for part in _changed_parts(before, after))
    touched = frozenset(word for word in old | new if old[word] != new[word])
    found = _unused(after, touched)
    known = _unused(before, touched) if found else {}
    return {name: line for name, line in found.items() if name not in known and line not in known.values()}


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


def _signatures(source: str, script: bool) -> dict[str, set[str]]:
    """The parameters of each function by its name; functions of one name are taken together."""
    found: dict[str, set[str]] = {}
    for header in _HEADER.finditer(source):
        found.setdefault(header[1], set()).add(_parameters(source, header.end()))
    for header in _BLOCK_HEADER.finditer(source):
        indent, before, name = header.groups()
        if indent and not before and not script:
            continue  # a macro such as `for_each(x) {`
        typed = not _STATEMENTS.fullmatch(name) and _is_typed(before) and not _KEYWORDS.search(before)
        if typed and _BLOCK.match(source, _close(source, header.end()) + 1):
            found.setdefault(name, set()).add(_parameters(source, header.end()))
    return found


def _parameters(source: str, start: int) -> str:
    return "".join(source[start : _close(source, start)].split()).rstrip(",")


def _close(source: str, start: int) -> int:
    """Where the bracket closes that is open at a place, or the end of what is looked at."""
    depth, last = 1, min(len(source), start + _MAX_SIGNATURE_CHARS)
    for at in range(start, last):
        depth += _BRACKETS.get(source[at], 0)
        if not depth:
            return at
    return last
