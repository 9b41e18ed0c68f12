"""A program followed from its first statement on, to see whether it reads standard input."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Literal

from toolroll.policy.code.calls import Ended, Reads
from toolroll.policy.code.evaluate import Evaluate, TooMuch
from toolroll.policy.code.shapes import bound, breaks, cannot_fail, is_lazy, matches
from toolroll.policy.code.values import (
    UNKNOWN,
    Class,
    Const,
    Function,
    Instance,
    Later,
    Many,
    Named,
    Patch,
    Scope,
    Value,
    best,
    truth,
)

Left = Literal["left", "ended"] | None
"""How a block came to its end before its last statement, if it did."""

_DEEPEST = 30  # calls within calls
_STARS = {"sys": ("stdin", "exit"), "fileinput": ("input",), "getpass": ("getpass",), "os": ("read", "system", "popen")}


class Program(Evaluate):
    """The statements of a program, run as far as it can be told what they do."""

    def reads(self, source: str) -> bool:
        """Whether this program reads standard input. Never raises."""
        try:
            self._block(_parse(source))
        except Reads:
            return True
        except (SyntaxError, ValueError, RecursionError, MemoryError, TooMuch):
            return False
        return False

    def run_text(self, text: str) -> Value:
        """Run a text as code: what `eval` and `exec` are given."""
        self.step()
        try:
            tree = _parse(text)
        except (SyntaxError, ValueError):
            return UNKNOWN
        if len(tree) == 1 and isinstance(tree[0], ast.Expr):
            return self.value(tree[0].value)
        self._block(tree)
        return UNKNOWN

    def run_function(
        self, function: Function, args: Sequence[Value], keywords: dict[str, Value] | None = None
    ) -> Value:
        """Run a function's body with what it is given, at once or when its value is used."""
        if not is_lazy(function.node):
            return self._run(function, args, keywords)
        return Later(lambda: self._run(function, args, keywords))

    def _run(self, function: Function, args: Sequence[Value], keywords: dict[str, Value] | None) -> Value:
        node, mark = function.node, id(function.node)
        if mark in self._active:  # within itself it is run once more, with whatever it may be given there
            mark, args, keywords = -mark, [UNKNOWN] * len(args), None
        if mark in self._active or len(self._active) > _DEEPEST:
            return UNKNOWN
        given = [*([function.owner] if function.owner is not None else []), *args]
        inner = Scope(bound(node.args, given, {**function.defaults, **(keywords or {})}), function.scope)
        inner.owner = function.owner
        outer, self.scope = self.scope, inner
        before = dict(self.replaced)
        self.replaced.update(dict.fromkeys(function.patches, UNKNOWN))
        self._active.add(mark)
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body)
            if self._block(node.body) == "ended":
                raise Ended
            return best(inner.returned) if inner.returned else UNKNOWN
        finally:
            self._active.discard(mark)
            self.scope = outer
            for target in function.patches:
                self._restore(target, before)

    def _restore(self, target: str, before: dict[str, Value]) -> None:
        if target in before:
            self.replaced[target] = before[target]
        else:
            self.replaced.pop(target, None)

    def _block(self, body: Sequence[ast.stmt]) -> Left:
        for statement in body:
            self.step()
            try:
                left = self._statement(statement)
            except Ended:
                return "ended"
            if left is not None:
                return left
        return None

    def _statement(self, node: ast.stmt) -> Left:
        found: Callable[[ast.stmt], Left] | None = getattr(self, f"_do_{type(node).__name__.lower()}", None)
        if found is not None:
            return found(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return "left" if isinstance(node, ast.Raise | ast.Break | ast.Continue) else None

    def _do_assign(self, node: ast.Assign) -> Left:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)
        return None

    def _do_annassign(self, node: ast.AnnAssign) -> Left:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))
        return None

    def _do_augassign(self, node: ast.AugAssign) -> Left:
        self.value(node.value)
        if isinstance(node.target, ast.Name):
            self.scope.put(node.target.id, UNKNOWN)
        return None

    def _do_return(self, node: ast.Return) -> Left:
        self.scope.returned.append(self.value(node.value))
        return "left"

    def _do_delete(self, node: ast.Delete) -> Left:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.names.pop(target.id, None)
        return None

    def _do_global(self, node: ast.Global) -> Left:
        self.scope.elsewhere.update(dict.fromkeys(node.names, self.scope.top))
        return None

    def _do_nonlocal(self, node: ast.Nonlocal) -> Left:
        if self.scope.around is not None:
            self.scope.elsewhere.update(dict.fromkeys(node.names, self.scope.around))
        return None

    def _do_assert(self, node: ast.Assert) -> Left:
        return "left" if truth(self.value(node.test)) is False else None

    def _do_import(self, node: ast.Import) -> Left:
        for one in node.names:
            self.scope.put(
                one.asname or one.name.split(".")[0], Named(one.name if one.asname else one.name.split(".")[0])
            )
        return None

    def _do_importfrom(self, node: ast.ImportFrom) -> Left:
        module = node.module or ""
        for one in node.names:
            names = _STARS.get(module, ()) if one.name == "*" else (one.name,)
            for name in names:
                value = self.named(f"{module}.{name}") if node.level == 0 else UNKNOWN
                self.scope.put(one.asname or name, value)
        return None

    def _do_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Left:
        scope = self.scope.around if self.scope.is_class and self.scope.around is not None else self.scope
        made: Value = Function(node, scope, self.defaults(node.args))
        for one in reversed(node.decorator_list):
            made = self._decorated(made, self.value(one))
        self.scope.put(node.name, made)
        return None

    _do_asyncfunctiondef = _do_functiondef

    def _decorated(self, made: Value, by: Value) -> Value:
        if isinstance(made, Function) and isinstance(by, Patch):
            made.patches = (*made.patches, by.target)
        elif isinstance(made, Function) and isinstance(by, Named):
            made.is_property = made.is_property or by.path.endswith(("builtins.property", "cached_property"))
            made.is_static = made.is_static or by.path == "builtins.staticmethod"
            if by.path == "atexit.register":
                self.escape([made])
        elif isinstance(by, Function | Class):
            given = self.call(by, [made], {})
            return made if given is UNKNOWN else given
        return made

    def _do_classdef(self, node: ast.ClassDef) -> Left:
        bases = tuple(self.value(one) for one in node.bases)
        outer, self.scope = self.scope, Scope(around=self.scope, is_class=True)
        try:
            self._block(node.body)
            made = Class(self.scope.names, bases)
        finally:
            self.scope = outer
        self.scope.put(node.name, made)
        return None

    def _do_if(self, node: ast.If) -> Left:
        known = truth(self.value(node.test))
        if known is not None:
            return self._block(node.body if known else node.orelse)
        return self._branches([lambda: self._block(node.body), lambda: self._block(node.orelse)])

    def _branches(self, ways: Sequence[Callable[[], Left]]) -> Left:
        """One of several ways is taken; afterwards a name may stand for what any of them left it."""
        names = self.scope.names
        before, lefts, after = dict(names), [], []
        for way in ways:
            names.clear()
            names.update(before)
            lefts.append(way())
            if lefts[-1] is None:
                after.append(dict(names))
        names.clear()
        for name in dict.fromkeys(name for one in after for name in one):
            values = [one.get(name) for one in after]
            # Where one way leaves the name alone, it may still be the builtin.
            names[name] = best(self.named(f"builtins.{name}") if value is None else value for value in values)
        if after:
            return None
        names.update(before)
        return "ended" if all(left == "ended" for left in lefts) else "left"

    def _do_while(self, node: ast.While) -> Left:
        self._forget(node)
        known = truth(self.value(node.test))
        if known is False:
            return self._block(node.orelse)
        left = self._block(node.body)
        if known and not breaks(node.body):
            return left or "left"
        self._block(node.orelse)
        return None

    def _do_for(self, node: ast.For | ast.AsyncFor) -> Left:
        value = self.value(node.iter)
        self.iterated(value)
        self._forget(node)
        if not (isinstance(value, Many | Const) and truth(value) is False):
            for one in value.values[:8] if isinstance(value, Many) and value.values else [UNKNOWN]:
                self.bind(node.target, one)
                if self._block(node.body) is not None:
                    break
        return self._block([] if any(isinstance(one, ast.Break) for one in node.body) else node.orelse)

    _do_asyncfor = _do_for

    def _forget(self, loop: ast.AST) -> None:
        """What a loop assigns is something else each time round."""
        stored = (node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        for name in stored:
            if isinstance(self.scope.find(name), Const):
                self.scope.put(name, UNKNOWN)

    def _do_try(self, node: ast.Try) -> Left:
        def tried() -> Left:
            return self._block(node.body) or self._block(node.orelse)

        def handled(handler: ast.ExceptHandler) -> Left:
            return self._block(handler.body)

        handlers = [] if cannot_fail(node.body) else node.handlers
        left = self._branches([tried, *(lambda one=one: handled(one) for one in handlers)])
        return self._block(node.finalbody) or left

    _do_trystar = _do_try

    def _do_match(self, node: ast.Match) -> Left:
        subject, ways = self.value(node.subject), []
        for case in node.cases:
            taken = matches(case.pattern, subject)
            if taken is not False:
                ways.append(lambda case=case: self._block(case.body))
            if taken and case.guard is None:
                return self._branches(ways)
        return self._branches([*ways, lambda: None])

    def _do_with(self, node: ast.With | ast.AsyncWith) -> Left:
        before = dict(self.replaced)
        patched: list[str] = []
        entered_all: list[Value] = []
        for item in node.items:
            value = self.value(item.context_expr)
            entered_all.append(value)
            if isinstance(value, Patch):
                patched.append(value.target)
                self.replaced[value.target] = UNKNOWN
            if isinstance(value, Instance) and value.kind.find("__enter__"):
                value = self.special(value, "__enter__")
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        left = self._block(node.body)
        for value in entered_all:
            self.special(value, "__exit__")
        for target in patched:
            self._restore(target, before)
        return left

    _do_asyncwith = _do_with


def _parse(source: str) -> list[ast.stmt]:
    return ast.parse(source).body
