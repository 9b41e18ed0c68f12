"""Questions to the nodes of a program, answered by their shape alone."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from toolroll.policy.code.values import UNKNOWN, Const, Many, Value


def bound(args: ast.arguments, given: Sequence[Value], named: dict[str, Value]) -> dict[str, Value]:
    """The parameters of a function with their values."""
    positional = [one.arg for one in (*args.posonlyargs, *args.args)]
    names: dict[str, Value] = dict.fromkeys((*positional, *(one.arg for one in args.kwonlyargs)), UNKNOWN)
    for rest in (args.vararg, args.kwarg):
        if rest is not None:
            names[rest.arg] = Many(tuple(given[len(positional) :])) if rest is args.vararg else UNKNOWN
    return (
        names
        | {name: value for name, value in named.items() if name in names}
        | dict(zip(positional, given, strict=False))
    )


def is_lazy(node: ast.AST) -> bool:
    """Whether a function is a coroutine or generator."""
    if isinstance(node, ast.AsyncFunctionDef):
        return True
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(one)
    return False


def breaks(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop may be left by `break`."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Break):
            return True
        if not isinstance(
            node, ast.For | ast.While | ast.AsyncFor | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef
        ):
            waiting += ast.iter_child_nodes(node)
    return False


_SAFE = (ast.Pass, ast.Assign, ast.Expr, ast.Constant, ast.Name, ast.Store)


def cannot_fail(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing in these statements can raise: they only give names to literals."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    return all(isinstance(node, _SAFE) and not isinstance(getattr(node, "ctx", None), ast.Load) for node in nodes)


def matches(pattern: ast.pattern, subject: Value) -> bool | None:
    """Whether a case takes the subject, if that can be told."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return True
    if not isinstance(pattern, ast.MatchValue) or not isinstance(pattern.value, ast.Constant):
        return None
    return subject.value == pattern.value.value if isinstance(subject, Const) else None
