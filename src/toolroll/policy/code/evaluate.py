"""Expressions of a program, worked out as far as reading standard input is concerned."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from toolroll.policy.code import calls, known
from toolroll.policy.code.calls import Reads
from toolroll.policy.code.values import (
    READER,
    STDIN,
    UNKNOWN,
    Above,
    Class,
    Const,
    Function,
    Instance,
    Later,
    Many,
    Named,
    Scope,
    Value,
    best,
    compared,
    truth,
)

_STEPS = 50_000  # of work; a program that takes more is not followed to its end


class TooMuch(Exception):  # noqa: N818 - it is an outcome, not an error
    """There is more to follow than is worth it."""


class Evaluate(ABC):
    """What expressions stand for. Raises Reads where the program would read."""

    def __init__(self) -> None:
        self.replaced: dict[str, Value] = {}
        """Things of modules that the program has put others in place of."""
        self.made: list[Class] = []
        self.scope = Scope({"__name__": Const("__main__"), "__builtins__": Named("builtins")})
        self._left = _STEPS
        self._active: set[int] = set()

    def value(self, node: ast.expr | None) -> Value:
        """What an expression stands for."""
        self.step()
        if node is None:
            return UNKNOWN
        found = getattr(self, f"_{type(node).__name__.lower()}", None)
        return found(node) if found is not None else self._parts(node)

    def step(self) -> None:
        """Count a step."""
        self._left -= 1
        if self._left < 0:
            raise TooMuch

    def _parts(self, node: ast.AST) -> Value:
        """An expression that only its parts matter of."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.iterated(self.value(child)) if isinstance(node, ast.Starred | ast.YieldFrom) else self.value(child)
            else:
                self._parts(child)
        return UNKNOWN

    def _constant(self, node: ast.Constant) -> Value:
        return Const(node.value)

    def _name(self, node: ast.Name) -> Value:
        found = self.scope.find(node.id)
        return found if found is not None else self.named(f"builtins.{node.id}")

    def named(self, path: str) -> Value:
        """What a module has under a dotted name, unless the program has replaced it."""
        if path in self.replaced:
            return self.replaced[path]
        if path in known.STDINS:
            return STDIN
        return Const(False) if path in known.FALSE else Named(path)

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.value(node.value), node.attr)

    def attribute(self, value: Value, name: str) -> Value:
        """What an object has under this name."""
        if value is STDIN:
            return _of_stdin(name)
        if isinstance(value, Named):
            return value if name == "__dict__" else self.named(f"{value.path}.{name}")
        if isinstance(value, Instance):
            return self._of_instance(value, name)
        if isinstance(value, Class):
            return value.find(name) or self._of_base(value, name)
        if isinstance(value, Above):
            return value.find(name) or self._of_base(value.owner.kind, name)
        if isinstance(value, Later) and name in known.STARTS:
            return value.run()
        if value is UNKNOWN:  # perhaps an object of a class that the program has made objects of
            found = next((kind.members[name] for kind in self.made if name in kind.members), None)
            return found.of(UNKNOWN) if isinstance(found, Function) else UNKNOWN
        return UNKNOWN

    def _of_instance(self, value: Instance, name: str) -> Value:
        found = value.attributes.get(name) or value.kind.find(name)
        if isinstance(found, Function) and name not in value.attributes:
            bound = found.of(value)
            return self.run_function(bound, ()) if bound.is_property else bound
        if found is None and name == "start":  # a thread or process runs its `run`
            found = value.kind.find("run")
            return found.of(value) if isinstance(found, Function) else UNKNOWN
        if found is None and isinstance(value.kind.find("__getattr__"), Function):
            return self.special(value, "__getattr__")
        return found or self._of_base(value.kind, name)

    def _of_base(self, kind: Class, name: str) -> Value:
        for base in kind.bases:
            if isinstance(base, Named):
                return self.named(f"{base.path}().{name}")
            if isinstance(base, Class) and (found := self._of_base(base, name)) is not UNKNOWN:
                return found
        return UNKNOWN

    def store(self, value: Value, name: str, new: Value) -> None:
        """Give an object something under this name."""
        if isinstance(value, Named):
            self.replaced[f"{value.path}.{name}"] = new
        elif isinstance(value, Instance):
            value.attributes[name] = new
        elif isinstance(value, Class):
            value.members[name] = new

    def _subscript(self, node: ast.Subscript) -> Value:
        value, key = self.value(node.value), self.value(node.slice)
        if value == Named("sys.argv") and isinstance(node.slice, ast.Slice):
            return Many(())  # there are no arguments
        if isinstance(value, Named) and isinstance(key, Const) and isinstance(key.value, str):
            return self.attribute(value, key.value)
        return value.at(key) if isinstance(value, Many) else self.special(value, "__getitem__")

    def special(self, value: Value, name: str) -> Value:
        """What an object of the program gives through one of its special methods."""
        found = value.kind.find(name) if isinstance(value, Instance) else None
        return self.run_function(found.of(value), ()) if isinstance(found, Function) else UNKNOWN

    def owner(self) -> Value | None:
        """The object whose method is running."""
        return self.scope.owner

    def _formattedvalue(self, node: ast.FormattedValue) -> Value:
        return self.special(self.value(node.value), "__str__")

    def _tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        return Many(tuple(self.value(one) for one in node.elts))

    _list = _set = _tuple  # lists grow only once they have a name

    def _dict(self, node: ast.Dict) -> Value:
        keys = tuple(self.value(key) for key in node.keys)
        return Many(tuple(self.value(one) for one in node.values), keys=keys)

    def _starred(self, node: ast.Starred) -> Value:
        self.iterated(self.value(node.value))
        return UNKNOWN

    def _await(self, node: ast.Await) -> Value:
        value = self.value(node.value)
        return value.run() if isinstance(value, Later) else value

    def _namedexpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def _lambda(self, node: ast.Lambda) -> Value:
        return Function(node, self.scope, self.defaults(node.args))

    def defaults(self, args: ast.arguments) -> dict[str, Value]:
        """The values that parameters have when they are not given."""
        positional = [*args.posonlyargs, *args.args]
        pairs = [*zip(reversed(positional), reversed(args.defaults), strict=False)]
        pairs += [
            (one, given) for one, given in zip(args.kwonlyargs, args.kw_defaults, strict=True) if given is not None
        ]
        return {one.arg: self.value(given) for one, given in pairs}

    def _ifexp(self, node: ast.IfExp) -> Value:
        known_truth = truth(self.value(node.test))
        if known_truth is None:
            return best([self.value(node.body), self.value(node.orelse)])
        return self.value(node.body if known_truth else node.orelse)

    def _boolop(self, node: ast.BoolOp) -> Value:
        values: list[Value] = []
        for one in node.values:
            values.append(self.value(one))
            known_truth = truth(values[-1])
            if known_truth is not None and known_truth is isinstance(node.op, ast.Or):
                return values[-1] if len(values) == 1 else best(values)
        decided = [value for value in values if truth(value) is None]
        return best(decided) if decided else values[-1]

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        known_truth = truth(self.value(node.operand))
        if isinstance(node.op, ast.Not) and known_truth is not None:
            return Const(not known_truth)
        return UNKNOWN

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, Const) and isinstance(right, Const) and isinstance(node.op, ast.Add):
            both = (left.value, right.value)
            if isinstance(both[0], str) and isinstance(both[1], str) and len(both[0]) + len(both[1]) < 10_000:
                return Const(both[0] + both[1])
        return UNKNOWN

    def _compare(self, node: ast.Compare) -> Value:
        left, rights = self.value(node.left), [self.value(one) for one in node.comparators]
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            self.iterated(rights[0])
            self.special(rights[0], "__contains__")
        return compared(node.ops[0], left, rights[0]) if len(rights) == 1 else UNKNOWN

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        outer, self.scope = self.scope, Scope(around=self.scope)
        try:
            for one in node.generators:
                value = self.value(one.iter)
                if truth(value) is False:
                    return Many(())
                self.iterated(value)
                self.bind(one.target, best(value.values) if isinstance(value, Many) else UNKNOWN)
                for test in one.ifs:
                    if truth(self.value(test)) is False:
                        return UNKNOWN
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            return Many(tuple(self.value(part) for part in parts))
        finally:
            self.scope = outer

    _setcomp = _dictcomp = _listcomp

    def _generatorexp(self, node: ast.GeneratorExp) -> Value:
        self.value(node.generators[0].iter)  # only this is worked out at once
        scope = self.scope

        def run() -> Value:
            outer, self.scope = self.scope, scope
            try:
                return self._listcomp(node)
            finally:
                self.scope = outer

        return Later(run)

    def iterated(self, value: Value) -> None:
        """Go through a value."""
        if value is STDIN:
            raise Reads
        if isinstance(value, Later):
            value.run()
        for name in ("__iter__", "__next__"):
            if isinstance(given := self.special(value, name), Later):
                given.run()

    def bind(self, target: ast.expr, value: Value) -> None:
        """Let what stands left of an assignment stand for a value."""
        if isinstance(target, ast.Name):
            self.scope.put(target.id, replace(value, fixed=False) if isinstance(value, Many) else value)
        elif isinstance(target, ast.Attribute):
            self.store(self.value(target.value), target.attr, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self.iterated(value)
            same = isinstance(value, Many) and len(value.values) == len(target.elts)
            values = value.values if same and isinstance(value, Many) else [UNKNOWN] * len(target.elts)
            for one, part in zip(target.elts, values, strict=True):
                self.bind(one, part)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, UNKNOWN)
        else:
            self._parts(target)

    def _call(self, node: ast.Call) -> Value:
        function = self.value(node.func)
        args = [self.value(one) for one in node.args]
        keywords = {one.arg or "**": self.value(one.value) for one in node.keywords}
        return self.call(function, args, keywords)

    def call(self, function: Value, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
        """What calling a value gives."""
        if function is READER:
            raise Reads
        if isinstance(function, Named):
            return calls.call(self, function.path, args, keywords)
        if isinstance(function, Function):
            return self.run_function(function, args, keywords)
        if isinstance(function, Class):
            return self._make(function, args, keywords)
        if isinstance(function, Instance) and isinstance(called := function.kind.find("__call__"), Function):
            return self.run_function(called.of(function), args, keywords)
        if isinstance(function, Const):  # methods of the stream that do not read tell what they give
            return function
        self.escape([*args, *keywords.values()])
        return STDIN if function is STDIN else UNKNOWN

    def _make(self, kind: Class, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
        made = Instance(kind)
        if kind not in self.made:
            self.made.append(kind)
        if isinstance(found := kind.find("__init__"), Function):
            self.run_function(found.of(made), args, keywords)
        else:
            self.escape([*args, *keywords.values()])
        return made

    def escape(self, values: Sequence[Value]) -> None:
        """Hand values to code that is not known: a stream may be read there, a function called."""
        for value in values:
            if value is STDIN or calls.reads_when_called(self, value):
                raise Reads
            if isinstance(value, Function | Later):
                self.iterated(self.run_function(value, ()) if isinstance(value, Function) else value)
            elif isinstance(value, Many):
                self.escape(value.values)

    @abstractmethod
    def run_function(
        self, function: Function, args: Sequence[Value], keywords: dict[str, Value] | None = None
    ) -> Value:
        """What a function of the program gives."""

    @abstractmethod
    def run_text(self, text: str) -> Value:
        """What a text gives that is run as code."""


def _of_stdin(name: str) -> Value:
    if name in known.READING:
        return READER
    if name in ("buffer", "raw", "detach", "open", "__iter__", "__enter__"):
        return STDIN  # called, it gives itself
    return {"fileno": Const(0), "isatty": Const(False)}.get(name, Named(f"stdin.{name}"))
