"""Runs inside the sandbox, in the program of `python`: `tools.read("a.py")` is a call of the kit's tool.

An archive holds this file as `sitecustomize`. Any Python from 3.9 on reads it, so it imports nothing of ours. It gives
the program `tools` and `ToolError`, as built-in names and as `from toolroll import tools`. Processes that the program
starts get neither the descriptor nor this file.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
import threading
from contextlib import suppress
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast
    from collections.abc import Generator, Iterable
    from types import CodeType

VARIABLE = "TOOLROLL_CALLS"
SIZE_BYTES = 4  # of the length before each message, the highest byte first
_CODE = "<code>"  # the file of the program, in tracebacks
_LAST = "__last_value__"
_AT_ONCE = 16  # calls that `await` makes
_MAX_KEPT_BYTES = 8 << 20  # of the values that a program leaves
_COROUTINE = 0x80  # the flag of code that awaits
_WAITERS = ("gather", "create_task", "ensure_future", "wait_for", "as_completed", "wait", "shield")


class CallFailed(Exception):  # noqa: N818 - the program knows it as ToolError
    """A call that failed: `code` is its kind, `message` says what to do next."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


CallFailed.__name__ = CallFailed.__qualname__ = "ToolError"
CallFailed.__module__ = "toolroll"


class _Data(dict[str, Any]):
    """The data of a result; printed, it is the text that a single call shows, with its pictures."""

    def __init__(self, data: dict[str, Any], text: str, show: Any = None) -> None:
        super().__init__(data)
        self.text, self._show = text, show

    def __str__(self) -> str:
        if self._show is not None:
            self._show()
        return self.text

    def __await__(self) -> Generator[Any, None, _Data]:
        yield from ()
        return self

    def __reduce__(self) -> Any:
        return _Data, (dict(self), self.text)


class _Tools:
    """The tools of the kit as functions, by attribute or, for other names, by key: `tools["a-b"](...)`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._pid = os.getpid()
        self._number, self._answers = 0, dict[int, Any]()
        self._writing, self._changed = threading.Lock(), threading.Condition()
        self._is_read = False
        self._closed: CallFailed | None = None
        self._pool: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        return partial(self._call, name)

    def _call(self, tool: str, /, *positional: Any, **named: Any) -> Any:
        reply = self._request("call", {"name": tool, "positional": positional, "named": named})
        data, text = reply["data"], reply["text"]
        if not isinstance(data, dict):
            return text if data is None else data
        number = reply.get("pictures")
        return _Data(data, text, None if number is None else partial(self._send, "show", {"call": number}))

    def _later(self, function: Any) -> Any:
        """The function for `await`: calls that wait side by side are made side by side."""

        async def call(*positional: Any, **named: Any) -> Any:
            import asyncio
            from concurrent.futures import ThreadPoolExecutor

            if self._pool is None:
                self._pool = ThreadPoolExecutor(_AT_ONCE)
            return await asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *positional, **named))

        return call

    def _request(self, method: str, params: Any) -> Any:
        if os.getpid() != self._pid:
            raise CallFailed("Unsupported", "Only the program itself can call tools, not a process that it started.")
        with self._changed:
            self._number += 1
            number = self._number
        self._send(method, params, {"id": number})
        reply = self._wait(number)
        if "error" in reply:
            raise _failure(reply)
        return reply["result"]

    def _send(self, method: str, params: Any, more: Any = ()) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **dict(more)}
        data = json.dumps(message, default=os.fspath).encode("utf-8", "replace")
        data = len(data).to_bytes(SIZE_BYTES, "big") + data
        try:
            with self._writing:
                while data:
                    data = data[os.write(self._fd, data) :]
        except OSError:
            if self._closed is None:  # else its last message says more
                self._closed = _closed()

    def _wait(self, number: int) -> Any:
        """The answer to a call. One of the threads that wait reads, for all of them."""
        while True:
            with self._changed:
                while number not in self._answers and self._closed is None and self._is_read:
                    self._changed.wait()
                if number in self._answers:
                    return self._answers.pop(number)
                if self._closed is not None:
                    raise self._closed
                self._is_read = True
            try:
                reply = json.loads(self._read(int.from_bytes(self._read(SIZE_BYTES), "big")))
                if reply["id"] is None:
                    self._closed = _failure(reply)
                self._answers[reply["id"]] = reply
            except OSError:
                self._closed = _closed()
            finally:
                with self._changed:
                    self._is_read = False
                    self._changed.notify_all()

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(self._fd, size)
            if not part:
                raise BrokenPipeError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _failure(reply: Any) -> CallFailed:
    error = reply["error"]
    return CallFailed(error.get("data", {}).get("code", "Execution"), error["message"])


def _closed() -> CallFailed:
    return CallFailed("Cancelled", "The tools are closed for this program.")


class _Finder:
    """Makes `toolroll.tools` those of this program, beside what a package of that name has, if one is installed."""

    def __init__(self, tools: _Tools) -> None:
        self._tools = tools
        self._loader: Any = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        if name != "toolroll":
            return None
        spec = PathFinder.find_spec(name) or ModuleSpec(name, None)
        self._loader, spec.loader = spec.loader, self  # type: ignore[assignment]  # it has what a loader needs
        return spec

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec) if self._loader is not None else None

    def exec_module(self, module: Any) -> None:
        if self._loader is not None:
            self._loader.exec_module(module)
        module.tools, module.ToolError = self._tools, CallFailed


class _Names:
    """The names that earlier programs of the session have left, restored where this program uses them."""

    def __init__(self, tools: _Tools, kept: Iterable[str]) -> None:
        self._tools, self._main, self._kept = tools, sys.modules["__main__"].__dict__, set(kept)
        self._began, self._restored = set(self._main), set[str]()
        self.sources: dict[str, str] = {}
        """Of functions and classes of the program, by name."""
        self.lost: dict[str, str] = {}
        """The types of values that were not kept, by name."""

    def restore(self, code: CodeType) -> None:
        """Restore what the code uses, and what that uses."""
        wanted = self._kept & _used(code)
        self._kept -= wanted
        self._restored |= wanted
        for name, (kind, value) in (self._tools._request("names", sorted(wanted)) if wanted else {}).items():
            try:
                self._restore(name, kind, value)
            except Exception as error:
                self.lost[name] = value if kind == "lost" else f"{type(error).__name__}: {error}"

    def _restore(self, name: str, kind: str, value: str) -> None:
        if kind == "lost":
            self.lost[name] = value
        elif kind == "module":
            import importlib

            self._main[name] = importlib.import_module(value)
        elif kind == "source":
            self.sources.setdefault(name, value)
            inner = compile(value, _CODE, "exec", dont_inherit=True)
            self.restore(inner)
            exec(inner, self._main)
        else:
            self._main[name] = self._load(value)

    def _load(self, value: str) -> Any:
        import base64
        import io
        import pickle

        names = self

        class Loader(pickle.Unpickler):
            def find_class(self, module: str, name: str) -> Any:
                if module == "__main__" and name not in names._main:
                    names.restore(compile(name, _CODE, "eval"))
                return super().find_class(module, name)

        return Loader(io.BytesIO(base64.b64decode(value))).load()

    def keep(self) -> None:
        """Have the kit keep values by pickle, functions and classes by their source, modules by their name."""
        there = {name for name in self._main if not name.startswith("__")} - self._began
        kept: dict[str, Any] = dict.fromkeys(self._restored - there - set(self.lost))
        room = _MAX_KEPT_BYTES
        for name in sorted(there):
            kept[name] = kind, text = _pack(name, self._main[name], self.sources, room)
            room -= len(text) if kind == "value" else 0
        if kept:
            self._tools._request("keep", kept)


def _used(code: CodeType) -> set[str]:
    inner = (_used(one) for one in code.co_consts if isinstance(one, type(code)))
    return set(code.co_names).union(*inner)


class _Room(list[bytes]):
    """Takes the bytes of a value as long as there is room."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def write(self, data: bytes) -> int:
        self._room -= len(data)
        if self._room < 0:
            raise OverflowError
        self.append(bytes(data))
        return len(data)


def _pack(name: str, value: Any, sources: dict[str, str], room: int) -> tuple[str, str]:
    """How the kit keeps a value, and as what; "lost" with its type where it cannot be kept."""
    if isinstance(value, type(sys)):
        return "module", value.__name__
    if getattr(value, "__module__", "") == "__main__" and isinstance(value, (type, type(_pack))) and name in sources:
        return "source", sources[name]
    import base64
    import pickle

    data = _Room(room * 3 // 4)
    try:
        pickle.Pickler(data).dump(value)
    except Exception:
        return "lost", type(value).__name__
    return "value", base64.b64encode(b"".join(data)).decode()


def run_program(code: str, kept: Iterable[str] = ()) -> None:
    """Run the program as `__main__`: it may await at its top level, and the value of its last line is printed.

    `kept`: the names that earlier programs of the session have left.
    """
    import linecache

    sys.modules["__main__"].__dict__.pop("run_program", None)
    linecache.cache[_CODE] = len(code), None, code.splitlines(keepends=True), _CODE
    names = _Names(vars(builtins)["tools"], kept)
    try:
        _run(code, names)
    except Exception as error:
        _report(error, names)
        sys.exit(1)
    finally:
        with suppress(CallFailed):  # the tools are closed: nothing can be kept
            names.keep()


def _run(code: str, names: _Names) -> None:
    import ast

    tree = ast.parse(code, _CODE)
    _find_sources(code, tree, names.sources)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.copy_location(ast.Assign([ast.Name(_LAST, ast.Store())], last.value), last)
    if "await" in code:
        _Awaited().change(tree)
    program = compile(ast.fix_missing_locations(tree), _CODE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    names.restore(program)
    main = sys.modules["__main__"].__dict__
    if program.co_flags & _COROUTINE:
        import asyncio

        asyncio.run(eval(program, main))
    else:
        exec(program, main)
    value = main.pop(_LAST, None)
    if value is not None:
        print(value if isinstance(value, (str, _Data)) else repr(value))


def _find_sources(code: str, tree: ast.Module, sources: dict[str, str]) -> None:
    """Add the source of each function and class of the program."""
    lines = code.splitlines(keepends=True)
    for one in tree.body:
        name, end = getattr(one, "name", None), getattr(one, "end_lineno", None)
        if name is not None and end is not None:
            first = min([one.lineno, *(decorator.lineno for decorator in getattr(one, "decorator_list", ()))])
            sources[name] = "".join(lines[first - 1 : end])


def _report(error: Exception, names: _Names) -> None:
    """Print the traceback of the program, without what runs it."""
    import traceback

    sys.stdout.flush()
    shown = [traceback.TracebackException(type(error), error, error.__traceback__)]
    for one in shown:
        theirs = [frame for frame in one.stack if frame.filename != __file__]
        first = next((at for at, frame in enumerate(theirs) if frame.filename == _CODE), 0)
        one.stack[:] = theirs[first:]
        shown += filter(None, [one.__cause__, one.__context__])
    print("".join(shown[0].format()), end="", file=sys.stderr)
    name = getattr(error, "name", None) if isinstance(error, NameError) else None
    if name in names.lost:
        print(f"An earlier program has set {name!r}, which could not be kept: {names.lost[name]}.", file=sys.stderr)


class _Awaited:
    """Turns the calls of tools that are awaited, alone or in a group, into calls that can run side by side."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def change(self, tree: ast.Module) -> None:
        import ast

        every = list(ast.walk(tree))
        for node in every:
            if isinstance(node, (ast.Await, ast.Call)) and not _calls_tool(node):
                self._follow(node)
        for node in every:  # a list of calls that is awaited by its name
            if isinstance(node, ast.Assign) and not self._names.isdisjoint(map(_name, node.targets)):
                self._follow(node.value)
            elif isinstance(node, ast.Call) and _name(node.func) == "append":
                self._follow_all(node.args if _name(getattr(node.func, "value", None)) in self._names else ())

    def _follow(self, node: ast.AST) -> None:
        """Follow what is awaited to the calls themselves."""
        import ast

        if _calls_tool(node):
            later = ast.Attribute(ast.Name("tools", ast.Load()), "_later", ast.Load())
            node.func = ast.Call(later, [node.func], [])  # type: ignore[attr-defined]
        elif isinstance(node, ast.Name):
            self._names.add(node.id)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            self._follow_all(node.elts)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            self._follow(node.elt)
        elif isinstance(node, (ast.Starred, ast.Await)):
            self._follow(node.value)
        elif isinstance(node, ast.Call) and _name(node.func) in _WAITERS:
            self._follow_all(node.args)

    def _follow_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self._follow(node)


def _name(node: Any) -> str:
    """`b` of `a.b` and of `b`."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _calls_tool(node: ast.AST) -> bool:
    """Whether this is `tools.NAME(...)` or `tools["NAME"](...)`."""
    return getattr(getattr(getattr(node, "func", None), "value", None), "id", "") == "tools"


def install() -> None:
    """Give the program its tools, and go on as if this file were not there."""
    fd, archive = map(int, os.environ.pop(VARIABLE).split())
    for one in (fd, archive):
        os.set_inheritable(one, False)
    place, _, rest = os.environ.get("PYTHONPATH", "").partition(os.pathsep)
    os.environ["PYTHONPATH"] = rest
    sys.path[:] = [one for one in sys.path if one != place]
    tools = _Tools(fd)
    vars(builtins).update(tools=tools, ToolError=CallFailed)
    sys.meta_path.insert(0, _Finder(tools))
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if VARIABLE in os.environ:
    install()
