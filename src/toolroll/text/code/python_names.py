"""Find the names that a change of a Python source leaves undefined, by the symbol tables of the interpreter."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator
from functools import lru_cache

_PART = re.compile(r"\n\n(?=@|class |def |async def )")
_DYNAMIC = re.compile(r"import[ \t]*\*|\bglobals\(\)")  # names come from elsewhere
_AUGMENTED = re.compile(r"\w[ \t]*(?:[-+*/%&|^@]|//|\*\*|<<|>>)=")
_INJECTED = frozenset({"_", "WindowsError", "reveal_type"})
_MAX_PARTS = 4_000
_MAX_REWRITTEN_CHARS = 40_000  # of a part whose augmented assignments are looked at: 50 ms


def find_undefined(before: str, after: str, builtin: Iterable[str]) -> dict[str, int]:
    """Names that `after` uses and defines nowhere, each with its first line; not those that `before` had too.

    SyntaxError if a text does not parse. Names in quotes are not looked at, nor those whose NameError is caught.
    """
    if _DYNAMIC.search(after):
        return {}
    names = _undefined(after, before).difference(_INJECTED, builtin)
    names = names - _undefined(before, after) if names else names
    return _first_lines(after, names) if names else {}


def _undefined(source: str, other: str) -> frozenset[str]:
    """What no part defines; in a part that the other text has not, `x += 1` alone does not define `x`."""
    parts, known = _PART.split(source), frozenset(_PART.split(other))
    try:
        names = [_names(part) for part in parts]
    except SyntaxError:  # a part is none by itself
        parts, names = [source], [_names(source)]
    used, defined = (frozenset[str]().union(*found) for found in zip(*names, strict=True))
    for part in parts:
        if part not in known and len(part) <= _MAX_REWRITTEN_CHARS and _AUGMENTED.search(part):
            used |= _names(_read_augmented(part))[0]
    return frozenset(name for name in used - defined if not (name.startswith("__") and name.endswith("__")))


@lru_cache(_MAX_PARTS)
def _names(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a source looks up in the module, and those that it binds there."""
    module = symtable.symtable(source, "<source>", "exec")
    used, defined, tables = set[str](), set[str](), [module]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if table is module or symbol.is_global():
                if symbol.is_referenced():
                    used.add(symbol.get_name())
                if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
                    defined.add(symbol.get_name())
    return frozenset(used), frozenset(defined)


def _read_augmented(source: str) -> str:
    """The source with each `x += y` as `(x, y)`: a name that is bound by nothing else is then looked up."""

    class Reads(ast.NodeTransformer):
        def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
            if not isinstance(node.target, ast.Name):
                return node
            return ast.Expr(ast.Tuple([ast.Name(node.target.id, ast.Load()), node.value], ast.Load()))

    return ast.unparse(ast.fix_missing_locations(Reads().visit(ast.parse(source))))


def _first_lines(source: str, names: frozenset[str]) -> dict[str, int]:
    lines: dict[str, int] = {}
    marked = {number for number, line in enumerate(source.split("\n"), 1) if "noqa" in line}
    for node in _names_outside_guards(ast.parse(source)):
        if node.id in names and node.lineno not in marked:
            lines[node.id] = min(node.lineno, lines.get(node.id, node.lineno))
    return dict(sorted(lines.items(), key=lambda item: item[1]))


def _names_outside_guards(node: ast.AST) -> Iterator[ast.Name]:
    """The names that are looked up below a node, but in a `try` that catches a NameError."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target
    guarded = isinstance(node, ast.Try) and any("NameError" in ast.dump(one.type) for one in node.handlers if one.type)
    for child in ast.iter_child_nodes(node):
        if not (guarded and child in node.body):  # type: ignore[attr-defined]  # a Try
            yield from _names_outside_guards(child)
