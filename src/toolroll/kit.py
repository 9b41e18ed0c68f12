"""The kit: the only place where the parts are wired together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from toolroll import dialects, formats
from toolroll import tools as builtin
from toolroll.dialect import Dialect, Entry, View
from toolroll.executor import Executor
from toolroll.host import settings
from toolroll.host.atlas import Atlas
from toolroll.host.context import Context, Progress, silent
from toolroll.host.grants import Grants
from toolroll.host.guard import Approver, Guard
from toolroll.host.http.client import Client
from toolroll.host.journal.journal import Journal
from toolroll.host.lsp.consult import Servers
from toolroll.host.root import Root
from toolroll.host.search import Search
from toolroll.host.shell import Shell
from toolroll.host.spill import Spill
from toolroll.host.state import State
from toolroll.host.structure import Structure
from toolroll.host.token import Token
from toolroll.host.tree import Tree
from toolroll.host.workspace import Workspace
from toolroll.policy.limits import Limits
from toolroll.policy.rules import MODES, PRESETS, Policy
from toolroll.registry import Registry, discover
from toolroll.result import Result
from toolroll.steps import (
    Audit,
    Concurrency,
    Journalled,
    Locks,
    Measured,
    Metrics,
    Observer,
    Record,
    time_limit,
)
from toolroll.tool import Tool


class Kit:
    """Every tool of one dialect on one workspace, ready to call. Also a context manager."""

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        dialect: str | Dialect = "native",
        mode: Literal["code", "thinking"] = "code",
        *,
        policy: str | Policy = "standard",
        approve: Approver | None = None,
        session: str | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        limits: Mapping[str, Any] | None = None,
        tools: Iterable[str] | None = None,
        observe: Callable[[Record], None] | None = None,
        servers: Mapping[str, str] | None = None,
    ) -> None:
        """Open a workspace.

        `policy` by name also takes the user's `rules.toml`; `approve` answers what it asks. `limits` changes single
        limits by name; `tools` keeps only these tools, as the dialect names them; `observe` is told of every call;
        `servers` names the language server for a language: `{"python": "basedpyright-langserver"}`.
        """
        self.dialect = dialects.load(dialect) if isinstance(dialect, str) else dialect
        self.mode = _one_of("mode", mode, MODES)
        self.policy = policy if isinstance(policy, Policy) else preset(policy)
        if self.policy.extensions is None and self.dialect.profile.extensions is not None:
            self.policy = replace(self.policy, extensions=self.dialect.profile.extensions)
        self.limits = _limits(self.dialect.profile.limits, limits or {})
        self.session = session or os.urandom(8).hex()
        self.registry = Registry()
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._only = None if tools is None else list(tools)
        self._open_workspace(os.fspath(workspace), None if state_dir is None else os.fspath(state_dir))
        self._audit, self._metrics = Audit(), Metrics()
        self._observers: tuple[Observer, ...] = (self._audit, self._metrics, *([observe] if observe else []))
        self._guard = Guard(self.policy, self.mode, approve, Grants(self._state))
        self._shell = self._open_shell()
        self._http = Client(self.policy.hosts)
        self._servers = Servers(self._files, self._search, spawn=self._shell.serve, choice=servers)
        self._steps = (time_limit, Concurrency(self.limits.concurrency), Locks(), Journalled(self.journal))
        self._add(self._dialect_entries())

    def _open_workspace(self, path: str, state_dir: str | None) -> None:
        profile = self.dialect.profile
        self._root = Root(path)
        self._state = State(state_dir) if state_dir is not None else State.of(self._root.path)
        self._spill = Spill(self._state)
        self._files = Workspace(
            self._root,
            self._state,
            self._spill,
            limits=self.limits,
            policy=self.policy,
            guard=profile.guard,
            new_file_mode=profile.new_file_mode,
        )
        self._tree = Tree(self._files)
        self.journal = Journal(self._root, self._state)
        self.recovered = self.journal.recover()
        self._search = Search(self._root, limits=self.limits, policy=self.policy)
        self._structure = Structure(self._files, self._search, self.limits)
        self._atlas = Atlas(self._files, self._search, self._structure, self.policy)

    def _open_shell(self) -> Shell:
        table = self.dialect.profile.commands
        environment = dict(os.environ)
        return Shell(self._root, self._spill, self._guard, limits=self.limits, table=table, environment=environment)

    def _dialect_entries(self) -> list[Entry]:
        entries = self.dialect.entries
        every = entries if entries is not None else [View.native(tool) for tool in discover(builtin)]
        if self._only is None:
            return list(every)
        named = {entry.name: entry for entry in every}
        for name in self._only:
            _one_of("tool", name, named)
        return [named[name] for name in self._only]

    def _add(self, entries: Iterable[Entry]) -> None:
        with self._lock:
            self._entries = self._entries | {entry.name: entry for entry in entries}
            for entry in entries:
                for view in entry.views():
                    if self.registry.get(view.tool.name) is None:
                        self.registry.register(view.tool)
            self._renew()

    def _renew(self) -> None:
        self._executor = self._executor_of(self._entries)

    def _executor_of(self, entries: Mapping[str, Entry]) -> Executor:
        profile = self.dialect.profile
        return Executor(entries, profile, self._guard, self._spill, self._steps, self._observers)

    @property
    def workspace(self) -> str:
        """The absolute path of the workspace."""
        return self._root.path

    @property
    def state_dir(self) -> str:
        """Where the kit keeps what is its own."""
        return self._state.path

    def names(self) -> list[str]:
        """The tools that may be called in this mode, as the dialect names them."""
        return [entry.name for entry in self.entries()]

    def entries(self) -> list[Entry]:
        """The tools that may be called in this mode, with their schemas."""
        allowed = (entry.within(MODES[self.mode] & ~self.policy.deny) for entry in self._entries.values())
        return [entry for entry in allowed if entry is not None]

    def definitions(self, format: formats.Format = "openai") -> list[dict[str, Any]]:
        """The tools' definitions in a provider's shape."""
        shape = formats.FORMATS[_one_of("format", format, formats.FORMATS)]
        return [shape(entry.name, entry.description, entry.schema, entry.effects) for entry in self.entries()]

    def context(
        self, *, message: str = "", cwd: str = ".", token: Token | None = None, progress: Progress = silent
    ) -> Context:
        """The hands that a call gets: also the way to call a tool's function directly."""
        files = self._files if cwd == "." else self._files.at(cwd)
        tree = self._tree if cwd == "." else Tree(files)
        return Context(
            files,
            tree,
            self._search,
            self.journal,
            self._shell,
            self._servers,
            self._structure,
            self._atlas,
            self._http,
            self.limits,
            token or Token(),
            self.session,
            message,
            cwd,
            progress,
        )

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None, **options: Any) -> Result:
        """Call a tool; `arguments` may be JSON text. Errors that the model can act on are results too.

        Options are those of `context`: `message`, `cwd`, `token`, `progress`.
        """
        return self._executor.call(name, arguments, self.context(**options))

    async def acall(self, name: str, arguments: Mapping[str, Any] | str | None = None, **options: Any) -> Result:
        """`call` in a worker thread; cancelling the task cancels the work."""
        import asyncio

        token = options.setdefault("token", Token())
        try:
            return await asyncio.to_thread(self.call, name, arguments, **options)
        except asyncio.CancelledError:
            token.cancel()
            raise

    def execute(self, tool_calls: Sequence[Mapping[str, Any]], *, message: str = "") -> list[dict[str, Any]]:
        """Carry out OpenAI-style tool calls, side by side; the messages that answer them, in order."""
        from concurrent.futures import ThreadPoolExecutor

        def answer(call: Mapping[str, Any]) -> dict[str, Any]:
            function = call["function"]
            return formats.tool_message(call["id"], self.call(function["name"], function["arguments"], message=message))

        if len(tool_calls) <= 1:
            return [answer(call) for call in tool_calls]
        with ThreadPoolExecutor(min(len(tool_calls), self.limits.concurrency)) as pool:
            return list(pool.map(answer, tool_calls))

    def register(self, tool: Tool) -> None:
        """Add a tool of your own under its own name; a name that is taken is refused."""
        if tool.name in self._entries:
            raise ValueError(f"Tool with name {tool.name!r} is already registered.")
        self._add([View.native(tool)])

    def unregister(self, name: str) -> bool:
        """Take a tool out, by the name it is called by; False when there was none."""
        with self._lock:
            entry = self._entries.get(name)
            if entry is None:
                return False
            self._entries = {known: one for known, one in self._entries.items() if known != name}
            for view in entry.views():
                self.registry.unregister(view.tool.name)
            self._renew()
            return True

    def undo(self, *, steps: int = 1, path: str | None = None, entry: int | None = None) -> Result:
        """Take back what tools changed: the last changes, those of a path, or one entry of the journal."""
        from toolroll.tools.files.undo import undo

        view = View("undo", undo, {one.name: one.name for one in undo.parameters})
        given = {"steps": steps, "path": path, "call": entry}
        arguments = {name: value for name, value in given.items() if value is not None}
        return self._executor_of({"undo": view}).call("undo", arguments, self.context())

    def calls(self) -> list[Record]:
        """The last calls, newest last."""
        return self._audit.records()

    def metrics(self) -> dict[str, Measured]:
        """Calls, errors and time by tool."""
        return self._metrics.by_tool()

    def close(self) -> None:
        """Give everything back, end every job; the kit cannot be used afterwards."""
        self._servers.close()
        self._structure.close()
        self._atlas.close()
        self._shell.close()
        self._spill.close()
        self._state.close()
        self._root.close()

    def __enter__(self) -> Kit:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _one_of(what: str, value: Any, known: Mapping[str, Any]) -> Any:
    if value not in known:
        raise ValueError(f"There is no {what} {value!r}. There are: {', '.join(known)}.")
    return value


def preset(name: str) -> Policy:
    """A policy by its name, with the rules of the user's own configuration."""
    return replace(PRESETS[_one_of("policy", name, PRESETS)], rules=settings.rules())


def _limits(limits: Limits, changes: Mapping[str, Any]) -> Limits:
    try:
        return replace(limits, **changes)
    except TypeError:
        names = ", ".join(Limits.__slots__)
        raise ValueError(f"Unknown limit among {', '.join(changes)}. There are: {names}.") from None
