"""Faults for sources of TypeScript, Go and C: one is put into the text of a file, at a place that chance chooses.

Places are found by patterns over lines that begin as formatted code does; a fault that the language does not know as
one, such as an unused import of C, is left out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

Make = Callable[[str, random.Random], "str | None"]
"""From a text and chance to the text with a fault; None where there is no place for it."""


class Syntax(NamedTuple):
    """How a language writes functions, with groups `name`, `parameters` and `result`, and values of a wrong type."""

    function: str
    simple: tuple[str, ...]
    """Results whose functions can return something else by mistake."""
    wrong: str
    argument: str
    unused: str = ""
    """An import that nothing uses, after the first line that matches the pattern of `imported`."""
    imported: str = ""


SYNTAX = {
    "typescript": Syntax(
        r"(?:export )?(?:async )?function (?P<name>\w+)\((?P<parameters>[^()]*)\)(?:: (?P<result>\w+))? \{",
        ("string", "number", "boolean"), "Symbol()", "null as never",
    ),
    "go": Syntax(
        r"func (?:\(\w+ [*\w]+\) )?(?P<name>\w+)\((?P<parameters>[^()]*)\) ?(?P<result>[\w*.\[\]]*) ?\{",
        ("string", "int", "bool", "error"), "struct{}{}", "nil", 'import "container/ring"\n', r"package \w+\n",
    ),
    "c": Syntax(
        r"(?:static )?(?:inline )?(?P<result>[\w ]+?[ *]+)(?P<name>\w+)\((?P<parameters>[^()]*)\)\s*\{",
        ("int", "size_t", "long"), "(struct { int wrong; }){0}", "0",
    ),
}  # fmt: skip
_CALL = re.compile(
    r"^[ \t]+(?:[\w.:*>\[\]-]+ :?= |return |if \(?!?)*(?P<name>\w+)\((?P<arguments>[^()\n]*)\)", re.MULTILINE
)
_WORDS = frozenset(
    {"if", "for", "while", "switch", "return", "sizeof", "catch", "func", "function", "super", "defined"}
)


def kinds(language: str) -> dict[str, Make]:
    """The faults of a language by their kind."""
    syntax = SYNTAX[language]
    made: dict[str, Make] = {
        "syntax": _break_syntax,
        "undefined name": _misspell,
        "argument count": partial(_add_argument, syntax),
        "wrong type": partial(_return_wrong, syntax),
    }
    return made | ({"unused import": partial(_import_more, syntax)} if syntax.unused else {})


def _calls(text: str) -> list[re.Match[str]]:
    return [one for one in _CALL.finditer(text) if one["name"] not in _WORDS]


def _break_syntax(text: str, chance: random.Random) -> str | None:
    calls = _calls(text)
    end = chance.choice(calls).end() if calls else 0
    return f"{text[: end - 1]}{text[end:]}" if calls else None


def _misspell(text: str, chance: random.Random) -> str | None:
    calls = _calls(text)
    end = chance.choice(calls).end("name") if calls else 0
    return f"{text[:end]}_misspelled{text[end:]}" if calls else None


def _add_argument(syntax: Syntax, text: str, chance: random.Random) -> str | None:
    """A call of a function of the same file, with one argument too many."""
    functions = re.finditer(rf"^{syntax.function}", text, re.MULTILINE)
    plain = {one["name"] for one in functions if not re.search(r"\.\.\.|[?=]", one["parameters"])}
    calls = [one for one in _calls(text) if one["name"] in plain]
    if not calls:
        return None
    call = chance.choice(calls)
    end = call.end("arguments")
    return f"{text[:end]}{', ' if call['arguments'].strip() else ''}{syntax.argument}{text[end:]}"


def _return_wrong(syntax: Syntax, text: str, chance: random.Random) -> str | None:
    """A function that returns a simple type returns something else."""
    found = [
        (one.start() + back.start(1), one.start() + back.end(1))
        for one in re.finditer(rf"^{syntax.function}.*?^\}}", text, re.MULTILINE | re.DOTALL)
        if (one["result"] or "").strip() in syntax.simple
        for back in re.finditer(r"^[ \t]+return ([^;\n{]+);?$", one[0], re.MULTILINE)
    ]
    if not found:
        return None
    start, end = chance.choice(found)
    return f"{text[:start]}{syntax.wrong}{text[end:]}"


def _import_more(syntax: Syntax, text: str, _: random.Random) -> str | None:
    first = re.search(rf"^{syntax.imported}", text, re.MULTILINE)
    return f"{text[: first.end()]}\n{syntax.unused}{text[first.end() :]}" if first else None
