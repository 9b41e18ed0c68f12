"""What the names of a program stand for, as far as reading standard input is concerned."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Value:
    """Anything that nothing is known of."""


UNKNOWN = Value()
STDIN = Value()
"""The stream itself, or something that reads from it when it is read."""
READER = Value()
"""Reads when it is called."""


@dataclass(frozen=True)
class Const(Value):
    """A literal."""

    value: object


@dataclass(frozen=True)
class Named(Value):
    """Something of a module, by its dotted name; "()" stands for what a call gave."""

    path: str


@dataclass(frozen=True)
class Many(Value):
    """The values in a container."""

    values: tuple[Value, ...]
    fixed: bool = True
    """Nobody else can have put more into it."""
    keys: tuple[Value, ...] = ()
    """For a dictionary."""

    def at(self, key: Value) -> Value:
        """What stands at this index or key, as far as can be told."""
        if key in self.keys:
            return self.values[self.keys.index(key)]
        index = key.value if isinstance(key, Const) and not self.keys else None
        known = type(index) is int and -len(self.values) <= index < len(self.values)
        return self.values[index] if known and isinstance(index, int) else best(self.values)


@dataclass(frozen=True)
class Patch(Value):
    """Something of a module is replaced while it lasts."""

    target: str


@dataclass
class Scope:
    """Names of a module, class or function, and the scope around it."""

    names: dict[str, Value] = field(default_factory=dict)
    around: Scope | None = None
    elsewhere: dict[str, Scope] = field(default_factory=dict)
    """Names that were declared to belong to another scope."""
    returned: list[Value] = field(default_factory=list)
    is_class: bool = False
    owner: Value | None = None
    """The object whose method this is the inside of."""

    def find(self, name: str) -> Value | None:
        """What the name stands for here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope.names[name]
            scope = scope.around
        return None

    def put(self, name: str, value: Value) -> None:
        """Let the name stand for something else."""
        self.elsewhere.get(name, self).names[name] = value

    @property
    def top(self) -> Scope:
        scope = self
        while scope.around is not None:
            scope = scope.around
        return scope


@dataclass(eq=False)
class Function(Value):
    """A function or lambda of the program, with what it was found on."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    defaults: Mapping[str, Value] = field(default_factory=dict)
    patches: tuple[str, ...] = ()
    is_property: bool = False
    is_static: bool = False
    owner: Value | None = None

    def of(self, owner: Value) -> Function:
        """The function as a method."""
        owned = None if self.is_static else owner
        return Function(self.node, self.scope, self.defaults, self.patches, self.is_property, self.is_static, owned)


@dataclass(eq=False)
class Class(Value):
    """A class of the program."""

    members: dict[str, Value]
    bases: tuple[Value, ...]

    def find(self, name: str) -> Value | None:
        """A member of the class or of those it derives from."""
        if name in self.members:
            return self.members[name]
        for base in self.bases:
            found = base.find(name) if isinstance(base, Class) else None
            if found is not None:
                return found
        return None


@dataclass(eq=False)
class Later(Value):
    """What calling a generator or coroutine gives: its body runs when somebody goes through it or waits for it."""

    run: Callable[[], Value]


@dataclass(eq=False)
class Above(Value):
    """What `super()` gives: the object, seen as one of the classes that its own derives from."""

    owner: Instance

    def find(self, name: str) -> Value | None:
        """A member of those classes, as the object's."""
        found = Class({}, self.owner.kind.bases).find(name)
        return found.of(self.owner) if isinstance(found, Function) else found


@dataclass(eq=False)
class Instance(Value):
    """An object of a class of the program."""

    kind: Class
    attributes: dict[str, Value] = field(default_factory=dict)


def best(values: Iterable[Value]) -> Value:
    """Of several things that a name may stand for, the one that is most likely to read."""
    chosen = list(values)
    for kinds in ((STDIN, READER), (Named, Function, Class, Instance, Later, Many)):
        for one in chosen:
            if any(one is kind if isinstance(kind, Value) else isinstance(one, kind) for kind in kinds):
                return one
    same = bool(chosen) and all(one == chosen[0] for one in chosen)
    return chosen[0] if same else UNKNOWN


_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def compared(by: ast.cmpop, left: Value, right: Value) -> Value:
    """What comparing two values gives."""
    compare = _COMPARE.get(type(by))
    if compare is None or not isinstance(left, Const) or not isinstance(right, Const):
        return UNKNOWN
    try:
        return Const(bool(compare(left.value, right.value)))
    except TypeError:
        return UNKNOWN


def truth(value: Value) -> bool | None:
    """Whether the value counts as true, if that is known."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Many) and value.fixed:
        return bool(value.values)
    return None
