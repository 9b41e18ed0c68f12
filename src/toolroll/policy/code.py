"""Whether Python code reads standard input, seen from its text.

Only a message depends on the answer: at run time standard input is empty. So the check follows no values. It looks at
calls in code that is certain to run: at module level, and in functions that such code calls by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_MAX_CHARACTERS = 200_000  # parsing takes hundreds of bytes of memory for each
_HINTS = ("input", "stdin", "getpass", "open", "read", "interact", "pdb", "breakpoint", "prompt", "confirm")

_READERS = frozenset({
    "input", "raw_input", "breakpoint", "builtins.input", "builtins.breakpoint", "getpass.getpass", "code.interact",
    "pdb.set_trace", "ipdb.set_trace", "click.prompt", "click.confirm", "typer.prompt", "typer.confirm",
    "rich.prompt.Prompt.ask", "rich.prompt.Confirm.ask", "prompt_toolkit.prompt",
})  # fmt: skip
_FILE_INPUTS = frozenset({"fileinput.input", "fileinput.FileInput"})
_STDINS = frozenset({"sys.stdin", "sys.__stdin__", "sys.stdin.buffer", "sys.__stdin__.buffer"})
_METHODS = frozenset({"read", "readline", "readlines", "readinto", "read1", "peek", "__next__"})
_OPENERS = frozenset({"open", "io.open", "os.fdopen", "os.read", "io.FileIO", "codecs.open", "pathlib.Path"})
_PLACES = (0, "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_CONSUMERS = frozenset({
    "list", "tuple", "set", "sorted", "next", "sum", "max", "min", "any", "all", "dict", "json.load", "pickle.load",
    "yaml.safe_load", "tomllib.load",
})  # fmt: skip
_LAZY = frozenset({"map", "filter", "zip", "enumerate", "iter", "itertools.islice", "csv.reader", "csv.DictReader"})
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})
_REPLACERS = frozenset({"patch", "object", "setattr"})  # unittest.mock, pytest's monkeypatch, the builtin
_REPLACED = frozenset({"input", "stdin", "builtins.input", "sys.stdin"})
_TRUE_TESTS = ("__name__ == '__main__'", "not sys.stdin.isatty()")
_UNCERTAIN: dict[type[ast.AST], tuple[str, ...]] = {
    ast.IfExp: ("body", "orelse"),
    ast.Try: ("handlers",),
    ast.For: ("orelse",),
    ast.Match: ("cases",),
}
"""Parts that may not run although the whole does."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def reads_stdin(source: str) -> bool:
    """Whether a Python program reads standard input when it runs, as far as its calls show.

    A program that replaces `input` or `sys.stdin`, is too large or does not parse gets False.
    """
    if len(source) > _MAX_CHARACTERS or not any(hint in source for hint in _HINTS):
        return False
    try:
        return _Program(ast.parse(source)).reads()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


class _Program:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._imports: dict[str, str] = {}
        self._bound: set[str] = set()
        self._functions: dict[str, _Function | None] = {}
        self._replaces = False
        methods = {id(one) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for one in node.body}
        for node in ast.walk(tree):
            self._collect(node, id(node) in methods)

    def reads(self) -> bool:
        """Walk the code that runs; True at the first call that reads."""
        waiting: list[ast.AST] = list(self._until_exit(self._tree.body))
        called: set[str] = set()
        while waiting and not self._replaces:
            node = waiting.pop()
            if self._is_read(node):
                return True
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in called:
                called.add(node.func.id)
                function = self._functions.get(node.func.id)
                waiting += self._until_exit(function.body) if function else ()
            waiting += self._running_parts(node)
        return False

    def _collect(self, node: ast.AST, is_method: bool) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._imports.update(_bound_names(node))
        elif isinstance(node, _Function) and not is_method:
            self._functions[node.name] = None if node.name in self._functions or _yields(node) else node
            self._bound.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self._bound.add(node.id)
        elif isinstance(node, ast.arg):
            self._bound.add(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            self._replaces |= node.attr in _REPLACED
        elif isinstance(node, ast.Call) and _last_name(node.func) in _REPLACERS:
            self._replaces |= any(isinstance(one, ast.Constant) and one.value in _REPLACED for one in node.args)

    def _name(self, node: ast.AST) -> str:
        """The dotted name that an expression stands for by the imports; empty where the program binds it itself."""
        if isinstance(node, ast.Attribute):
            return f"{self._name(node.value) or '?'}.{node.attr}"
        if not isinstance(node, ast.Name) or node.id in self._bound:
            return ""
        return self._imports.get(node.id, node.id)

    def _is_read(self, node: ast.AST) -> bool:
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            return self._streams(node.iter)
        if isinstance(node, ast.Starred | ast.YieldFrom):
            return self._streams(node.value)
        if not isinstance(node, ast.Call):
            return False
        name, first = self._name(node.func), node.args[0] if node.args else None
        if name in _FILE_INPUTS:
            return not node.keywords and (first is None or _is_place(first))
        if name in _OPENERS:
            return _is_place(first) or self._is_stdin_number(first)
        if name in _CONSUMERS:
            return any(map(self._streams, node.args))
        stream, _, method = name.rpartition(".")
        return name in _READERS or (stream in _STDINS and method in _METHODS)

    def _streams(self, node: ast.AST) -> bool:
        """Whether going through the value of this expression reads standard input."""
        if isinstance(node, ast.Call):
            return self._name(node.func) in _LAZY and any(map(self._streams, node.args))
        return self._name(node) in _STDINS

    def _is_stdin_number(self, node: ast.AST | None) -> bool:
        return isinstance(node, ast.Call) and self._name(node.func) in {f"{one}.fileno" for one in _STDINS}

    def _running_parts(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parts of a node that run together with it: of a function, only its decorators and defaults."""
        if isinstance(node, ast.Lambda | _Function | ast.GeneratorExp):
            decorators = node.decorator_list if isinstance(node, _Function) else []
            given = [] if isinstance(node, ast.GeneratorExp) else [*node.args.defaults, *node.args.kw_defaults]
            yield from (one for one in (*decorators, *given) if one is not None)
            return
        if isinstance(node, ast.BoolOp):
            yield node.values[0]
            return
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                yield from self._until_exit(value) if self._is_certain(node, name) else ()
            elif isinstance(value, ast.AST) and self._is_certain(node, name):
                yield value

    def _is_certain(self, node: ast.AST, part: str) -> bool:
        """Whether this part of a node runs whenever the node does. A branch counts where its test is certain."""
        if isinstance(node, ast.If):
            return part == "test" or (part == "body" and _is_true(node.test))
        if isinstance(node, ast.While):
            never = isinstance(node.test, ast.Constant) and not node.test.value
            return part == "test" or (part == "body" and not never)
        return part not in _UNCERTAIN.get(type(node), ())

    def _until_exit(self, body: Iterable[object]) -> Iterable[ast.AST]:
        for one in body:
            if not isinstance(one, ast.AST):
                continue
            yield one
            if isinstance(one, ast.Return | ast.Raise | ast.Break | ast.Continue):
                return
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and self._name(one.value.func) in _EXITS:
                return


def _bound_names(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, with the dotted names that they stand for."""
    for one in node.names:
        if isinstance(node, ast.Import):
            top = one.name.partition(".")[0]
            yield one.asname or top, one.name if one.asname else top
        else:
            names = ("stdin", "getpass", "input", "exit") if one.name == "*" else (one.name,)
            yield from ((one.asname or name, f"{node.module}.{name}") for name in names)


def _is_true(test: ast.expr) -> bool:
    return (isinstance(test, ast.Constant) and bool(test.value)) or ast.unparse(test) in _TRUE_TESTS


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_place(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, bool) and node.value in _PLACES


def _yields(function: _Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
