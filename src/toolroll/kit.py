"""The kit wires the parts together: a dialect, the services of a workspace, the steps around a call."""

from __future__ import annotations

import os
import threading
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, cast

from toolroll import dialects, formats
from toolroll import tools as builtin
from toolroll.catalogue import (
    CALL,
    META_TOOLS,
    Catalogue,
    Choice,
    CodeView,
    MetaTools,
    OwnTools,
    call_from_program,
    from_server,
    resolve_choice,
)
from toolroll.dialect import Bundle, Dialect, Entry, View, plain
from toolroll.executor import Checked, Executor
from toolroll.host.approval.guard import Approver, Guard, ask_by
from toolroll.host.context import Context
from toolroll.host.files.reader import FileRecords
from toolroll.host.mcp.config import Config
from toolroll.host.runtime.call import Call, silent
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.settings import Settings, load_settings
from toolroll.plugins import Plugin, combine, load_plugins
from toolroll.policy.rules import MODES, Policy
from toolroll.program_calls import KitRegistry, ProgramCalls
from toolroll.result import Result
from toolroll.services import AnswerInTime, CallOptions, Services, change_limits, limits_of, with_dialect
from toolroll.spellings import read_call
from toolroll.steps import (
    AuditLog,
    AutoRunApproval,
    CallLogging,
    ConcurrencyLimit,
    Hooks,
    JournalEntryStep,
    Metrics,
    Observer,
    PathLocks,
    Record,
    Step,
    ToolMetrics,
    VerdictStep,
    WhileOpen,
    ask_before_sending,
    hold_changes,
    time_limit,
)
from toolroll.tool import Tool
from toolroll.wording import DialectWording

if TYPE_CHECKING:
    from toolroll.forked_kit import ForkedKit
    from toolroll.host.files.file_ops import FileOps
    from toolroll.host.files.spill import Spill
    from toolroll.host.forks.fork import Fork
    from toolroll.host.forks.views import ForkKind
    from toolroll.host.knowledge.program_library import KnowledgeStore
    from toolroll.host.mcp.server import McpServer, RemoteTool
    from toolroll.host.shell.code_calls import CallRequest
    from toolroll.host.shell.exec_ops import ExecOps


class Kit(ProgramCalls):
    """Every tool of one dialect on one workspace, ready to call. Also a context manager.

    What is not given is as the user's configuration has it: `settings`, or `toolroll.toml` and the environment.
    A `policy` by name takes the configured rules; `approve` answers what it asks. `limits` changes single
    limits by name; `observe` gets every call; `tools` says which definitions a model is shown: "all", "core"
    (a native kit's default: not the rare ones, which are found and called by two small tools) or "lazy" (only
    those two); or it keeps only these, as the dialect names them. `servers` names language servers by language:
    `{"python": "basedpyright-langserver"}`; `mcp` is in place of the user's `mcp.json`: a file, or its contents;
    `environment` says which variables commands get: `{"pass": [...], "set": {...}, "only": [...]}`. `roots` are further
    folders, seen in the workspace under their own names; one that is missing, or whose name is taken, is a ValueError.
    `files` and `commands` are operations in place of local files and local commands, `knowledge` is a store of
    documents in place of the library of the workspace. With `code_mode` the programs of `python` can call the other
    tools; `otel` makes calls spans of OpenTelemetry.
    """

    _spill: Spill | None = None  # another kit's
    _warm: Services | None = None  # the same
    _environ: Mapping[str, str] | None = None  # of whom this process works for, if they are not its own
    reads_ahead = True
    """Whether a large repository is read for `repo_map` in the background, from a second after a call on."""

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        dialect: str | Dialect | None = None,
        mode: Literal["code", "thinking"] | None = None,
        *,
        policy: str | Policy | None = None,
        approve: Approver | None = None,
        session: str | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        limits: Mapping[str, Any] | None = None,
        tools: Choice | Iterable[str] | None = None,
        observe: Callable[[Record], None] | None = None,
        servers: Mapping[str, str] | None = None,
        mcp: Config | None = None,
        environment: Mapping[str, Any] | None = None,
        roots: Iterable[str | os.PathLike[str]] | None = None,
        files: FileOps | None = None,
        commands: ExecOps | None = None,
        knowledge: KnowledgeStore | None = None,
        code_mode: bool | None = None,
        otel: Literal["off", "spans", "content"] | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Open a workspace; a folder that must not be one, such as a home folder, is a ValueError that says why."""
        workspace, named = os.path.expanduser(workspace), dialect if isinstance(dialect, str) else None
        preset = policy if isinstance(policy, str) else None
        over: dict[str, Any] = {"mode": mode, "tools": tools, "limits": limits, "mcp": mcp, "language_servers": servers}
        more = {"environment": environment, "roots": None if roots is None else list(map(os.path.expanduser, roots))}
        over |= {"dialect": named, "policy": preset, "otel": otel, "code_mode": code_mode}
        over |= {"code_mode": False} if files or commands else {}
        self.settings = settings = (settings or load_settings(workspace)).override(**over, **more)
        plugins = load_plugins(workspace, settings.plugins)
        given = None if dialect is None or isinstance(dialect, str) else dialect
        self.dialect = given or dialects.load(settings.dialect, plugins)
        self.mode = _one_of("mode", settings.mode, MODES)
        own = policy if isinstance(policy, Policy) else settings.build_policy()
        self.policy = with_dialect(own, self.dialect.profile, None if environment is None else settings)
        self.limits = change_limits(self.dialect.profile.limits, settings.limits)
        self.session = session or os.urandom(8).hex()
        self._audit, self._metrics, self._kept_names = AuditLog(), Metrics(), dict[str, tuple[str, str]]()
        self._observers: tuple[Observer, ...] = (self._audit.add, self._metrics.add, *([observe] if observe else []))
        entries = self._choose_entries(plugins, None if isinstance(settings.tools, str) else settings.tools)
        self._open(workspace, state_dir, Guard(self.policy, self.mode, approve), entries, files, commands, knowledge)

    def _open(
        self,
        workspace: str | os.PathLike[str],
        state_dir: str | os.PathLike[str] | None,
        guard: Guard,
        entries: Mapping[str, Entry],
        files: FileOps | None,
        commands: ExecOps | None,
        knowledge: KnowledgeStore | None,
    ) -> None:
        """Open the engines, and add the tools."""
        self._lock = threading.Lock()
        self._own, self._added = entries, dict[str, Entry]()
        self.approver = guard.approver
        settings = self.settings
        choice = resolve_choice(settings.tools, "core" if self.dialect.entries is None else "all")
        self._catalogue = Catalogue(choice, self._allowed)
        self.registry = KitRegistry(self, lambda: self._entries)
        """The tools as the dialect names them: look up, add, remove, check and call."""
        own = self.session, self.dialect.profile, self.limits, guard, settings, files, commands
        more = self._spill, self._warm, self._environ, knowledge
        self._services = services = Services(workspace, state_dir, *own, *more)
        services.open_fork_kit = None if files or commands else self._open_forked_kit
        self._hooks = self._find_hooks()
        self.records = FileRecords(services.files)
        """When the session read and wrote files; a program can mark its own accesses."""
        self.journal, self.recovered, self.remote = services.journal, services.recovered, services.remote
        self.closed, self._steps = services.closed, self._build_steps()  # the first is set by `close`
        self._rebuild_executor()
        for server in self.remote.expanded():
            self.register(server)

    def _find_hooks(self) -> Hooks:
        return Hooks(*self._services.command_hooks(self.settings.hook))

    def _choose_entries(self, plugins: Iterable[Plugin], only: Iterable[str] | None) -> Mapping[str, Entry]:
        """The entries of the dialect and of plugins: all of them, or only these."""
        listed = self.dialect.entries
        own: Mapping[str, Entry] = _native() if listed is None else {one.name: one for one in listed}
        added = combine(plugins, [*own, *META_TOOLS], dialects.names(), f"the dialect {self.dialect.name}")
        self.problems = added.problems
        """One sentence for each plugin, or tool of one, that is left out."""
        every = _chain(own, {one.name: one for one in added.entries}, self._code_entries())
        return every if only is None else {name: every[_one_of("tool", name, every)] for name in only}

    def _code_entries(self) -> dict[str, Entry]:
        """The tool whose programs call the others, in code mode."""
        python = _native()["python"].views()[0].tool if self.settings.code_mode else None
        return {} if python is None else {python.name: CodeView(python, self._allowed)}

    def _call_from_program(self, request: CallRequest, ctx: Context) -> Result:
        return call_from_program(self._executor.call, self.entry(request.name), request, ctx)

    def _add(self, entries: Sequence[Entry]) -> None:
        with self._lock:
            for name in (entry.name for entry in entries):
                if name in self._entries or name in META_TOOLS:
                    raise ValueError(f"Tool with name {name!r} is already registered: {self._origin(name)} has it.")
            self._added = self._added | {entry.name: entry for entry in entries}
            self._rebuild_executor()
        self._catalogue.notify()

    def _rebuild_executor(self) -> None:
        self._entries = _chain(self._own, self._added)
        meta_tools = MetaTools(partial(self._catalogue.meta_tools, hinted=True))
        self._executor = self._executor_of(_chain(self._own, self._added, meta_tools), cache(self._make_wording))

    def _make_wording(self, choice: str) -> DialectWording:
        """For a model that is shown this choice of tools; empty for that of the kit."""
        by_choice = resolve_choice(choice, "all") if choice else None
        return DialectWording(self._entries_with, partial(self._catalogue.is_hidden, choice=by_choice), CALL)

    def _entries_with(self, tool: str) -> Iterator[Entry]:
        """The entries that may be called and may have this tool. Those of our other tools are not imported for it."""
        lazy = _native() if self.dialect.entries is None else {}
        effects = MODES[self.mode] & ~self.policy.deny
        for name in self._entries:
            if name == tool or name not in lazy or name in self._added:
                entry = self._entries[name].within(effects)
                if entry is not None:
                    yield entry

    def _build_steps(self) -> tuple[Step, ...]:
        """The steps around every call, the outermost first."""
        services = self._services
        at_once = ConcurrencyLimit(self.limits.concurrency)
        kept = AutoRunApproval(services.guard), JournalEntryStep(services.journal), CallLogging(services.calls)
        judged = (VerdictStep(services.verdicts),) if services.verdicts is not None else ()
        first = WhileOpen(services.closed, self._read_ahead), ask_before_sending, time_limit, at_once, PathLocks()
        return (*first, AnswerInTime(services.late), *judged, *kept, hold_changes)

    def _read_ahead(self) -> None:
        services = self._services
        if self.reads_ahead and services.has_own_files:
            services.repo_maps.read_ahead(services.launcher)

    def _executor_of(self, entries: Mapping[str, Entry], wording: Callable[[str], DialectWording]) -> Executor:
        services = self._services
        read = read_call if self.dialect.entries is None else None
        own = self.dialect.profile, services.guard, services.spill, self._steps, self._observers
        if self.settings.otel == "off":
            return Executor(entries, *own, wording, self._hooks, read)
        from toolroll.otel import TracedExecutor

        content = self.settings.otel == "content"
        return TracedExecutor(entries, *own, wording, self._hooks, read, content=content)

    @property
    def workspace(self) -> str:
        """The absolute path of the workspace."""
        return self._services.root.path

    @property
    def state_dir(self) -> str:
        """Where the kit keeps what is its own."""
        return self._services.state.path

    def names(self) -> list[str]:
        """The tools that may be called in this mode, as the dialect names them."""
        return [entry.name for entry in self.entries()]

    def entries(self) -> list[Entry]:
        """The tools that may be called in this mode, with their schemas."""
        return [*self._allowed(), *self._catalogue.meta_tools()]

    def entry(self, name: str) -> Entry | None:
        """The tool of this name, if it may be called in this mode."""
        found = self._executor.entries.get(name)
        return None if found is None else found.within(MODES[self.mode] & ~self.policy.deny)

    def has(self, name: str) -> bool:
        """Whether there is a tool of this name, also if this mode does not allow it."""
        return name in self._executor.entries

    def shown(self) -> list[Entry]:
        """Those of the entries that a model is shown at first."""
        return self._catalogue.shown()

    def _allowed(self) -> list[Entry]:
        effects = MODES[self.mode] & ~self.policy.deny
        allowed = (entry.within(effects) for entry in self._entries.values())
        return [entry for entry in allowed if entry is not None]

    def definitions(
        self, format: formats.Format = "openai", *, strict: bool = False, tools: Choice | None = None
    ) -> list[dict[str, Any]]:
        """The definitions of the tools that a model is shown, in a provider's shape; `strict` for its strict mode.

        `tools` shows others than the kit's own choice: "all", "core" or "lazy".
        """
        shape = formats.FORMATS[_one_of("format", format, formats.FORMATS)]
        shown = self._catalogue.shown(tools, hinted=format == "mcp")
        # `plain` makes a copy, which the caller may change.
        found = [shape(one.name, one.description, plain(one.schema), one.effects, strict) for one in shown]
        return formats.with_profile(found, format, self.dialect.profile.api_types, self.dialect.profile.outputs)

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` whenever tools come or go; gives the way to stop that."""
        return self._catalogue.watch(changed)

    def context(self, **options: Unpack[CallOptions]) -> Context:
        """The context of one call: also the way to call a tool's function directly.

        `message` is that of the conversation which the call belongs to; `cwd` is where relative paths begin; `token`
        cancels it; `progress` gets its progress.
        """
        own, cwd = self._services, options.get("cwd", ".")
        token, message = options.get("token") or CancelToken(), options.get("message", "")
        progress, shown = options.get("progress", silent), options.get("tools", "")
        whole = options.get("whole", False)
        names, limits = (options.get("id", ""), options.get("client", "")), limits_of(self.limits, options)
        return Context(
            own.files if cwd == "." else own.files.at(cwd),
            own.search,
            own.undo_journal,
            own.launcher,
            own.shell,
            own.servers,
            own.structure,
            own.repo_maps,
            own.http,
            own.remote,
            own.meaning,
            own.secrets,
            own.forks,
            Call(limits, token, self.session, message, progress, own.loop, shown, *names, cwd, is_whole=whole),
            call_tool=self._call_from_program if self.settings.code_mode else None,
            kept_names=self._kept_names,
            knowledge=own.knowledge,
        )

    def call(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, **options: Unpack[CallOptions]
    ) -> Result:
        """Call a tool; `arguments` may be JSON text. Errors that the model can act on are results too.

        Options are those of `context`, and `approve` for the questions of this call, where the kit has no approver.
        """
        approve, ctx, call = options.get("approve"), self.context(**options), self._executor.call
        return call(name, arguments, ctx) if approve is None else ask_by(approve, call, name, arguments, ctx)

    def check(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Checked:
        """Whether a call would be taken, and as what; it is not made."""
        return self._executor.check(name, arguments)

    async def acall(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, **options: Unpack[CallOptions]
    ) -> Result:
        """`call` in a worker thread; cancelling the task cancels the work, which may end a moment after the task."""
        from toolroll.host.runtime.event_loop import run_in_thread

        token = options["token"] = options.get("token") or CancelToken()
        return await run_in_thread(partial(self.call, name, arguments, **options), token)

    def execute(
        self, tool_calls: formats.Calls, *, message: str = "", format: formats.Format = "openai"
    ) -> list[dict[str, Any]]:
        """Carry out the calls of a provider's answer, or of a whole message, side by side; the answers, in order."""
        _one_of("format", format, formats.ANSWERS)
        calls = [formats.read_call(format, one) for one in formats.find_calls(tool_calls)]
        results = self._call_all(calls, message)
        return formats.answers(format, [(id, name) for id, name, _ in calls], results)

    def execute_text(self, tool_calls: formats.Calls, *, message: str = "") -> dict[str, Any]:
        """Carry out OpenAI-style tool calls, answered in one text: `{"content": ..., "hasToolCalls": ...}`."""
        functions = [(one.get("id", ""), one["function"]) for one in formats.find_calls(tool_calls)]
        calls = [(id, function["name"], function.get("arguments")) for id, function in functions]
        content = formats.joined_text([name for _, name, _ in calls], self._call_all(calls, message))
        return {"content": content, "hasToolCalls": bool(calls)}

    def _call_all(self, calls: Sequence[tuple[str, str, Any]], message: str) -> list[Result]:
        from concurrent.futures import ThreadPoolExecutor
        from contextvars import copy_context

        def call(id: str, name: str, arguments: Any) -> Result:
            return self.call(name, arguments, message=message, id=id)

        with ThreadPoolExecutor(max(1, min(len(calls), self.limits.concurrency))) as pool:
            made = [pool.submit(copy_context().run, call, *one) for one in calls]  # spans are children of the caller's
            return [one.result() for one in made]

    def register(self, tool: Tool | View | Bundle | McpServer | RemoteTool) -> None:
        """Add a tool, view or bundle of your own, or what `kit.remote` gives; a taken name is refused."""
        if isinstance(tool, Tool | View | Bundle):
            entries: list[Entry] = [View.native(tool) if isinstance(tool, Tool) else tool]
        elif hasattr(tool, "kit_tools"):
            entries = [View.native(from_server(one)) for one in tool.kit_tools()]
        else:
            raise TypeError(f"{tool!r} is not a tool; decorate it with @tool.")
        _ = [entry.schema for entry in entries]  # of a bundle: ValueError when its actions do not go together
        self._add(entries)
        if not isinstance(tool, Tool | View | Bundle):
            tool.follow(self._follow)

    def _origin(self, name: str) -> str:
        """Who has the tool of this name."""
        if name in self._added:
            module = next(iter(self._added[name].views())).tool.module
            return f"the module {module}" if module else "an MCP server"
        plugins = load_plugins(self.workspace, self.settings.plugins)
        named = (one.origin for one in plugins for entry in one.entries if entry.name == name)
        return next(named, f"the dialect {self.dialect.name}")

    def _follow(self, gone: Iterable[str], come: Iterable[RemoteTool]) -> None:
        """Take up what a server has changed about its tools."""
        for name in gone:
            self.unregister(name)
        self._add([View.native(from_server(one)) for one in come if one.name not in self._entries])

    def unregister(self, name: str) -> bool:
        """Take a tool out, by the name it is called by; False when there was none."""
        with self._lock:
            if name not in self._entries:
                return False
            self._own, self._added = {known: one for known, one in self._entries.items() if known != name}, {}
            self._rebuild_executor()
        self._catalogue.notify()
        return True

    def _open_forked_kit(self, fork: Fork, number: int) -> ForkedKit:
        from toolroll.forked_kit import ForkedKit

        return ForkedKit(self, fork, number)

    def fork(self, kind: ForkKind | None = None) -> ForkedKit:
        """A kit on a copy-on-write copy of the workspace, with a session, jobs and a journal of its own.

        `kind` names one way to copy; else it is the best that works here. ToolError if the workspace cannot be copied.
        """
        return cast("ForkedKit", self._services.forks.open(kind).kit)

    def _call_own(self, tool: Tool, message: str = "", **given: Any) -> Result:
        """Call a tool of ours, also where the dialect does not have it."""
        view = View(tool.name, tool, {one.name: one.name for one in tool.parameters})
        arguments = {name: value for name, value in given.items() if value is not None}
        wording = DialectWording(lambda _: [view])
        executor = self._executor_of({tool.name: view}, lambda _: wording)
        return executor.call(tool.name, arguments, self.context(message=message))

    def add_turn(self, role: Literal["user", "assistant"], text: str) -> None:
        """Add what the user or the model said to the history that `history` searches; secrets in it are redacted."""
        self._services.calls.keep_turn(role, text, self.session)

    def resume(self) -> str:
        """Continue the session of this name where an earlier kit left it, and keep it at `close`.

        That is what was read and in which encodings, and the folder of `terminal`; after 24 hours without use a
        session starts again. Returns a sentence about what could not be read of it, or an empty text.
        """
        return self._services.resume()

    def calls(self) -> list[Record]:
        """The last calls, newest last."""
        return self._audit.records()

    def metrics(self) -> dict[str, ToolMetrics]:
        """Calls, errors and time by tool."""
        return self._metrics.by_tool()

    def close(self) -> None:
        """Give everything back, end every job; the kit cannot be used afterwards."""
        self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _one_of(what: str, value: Any, known: Mapping[str, Any]) -> Any:
    if value not in known:
        raise ValueError(f"There is no {what} {value!r}. There are: {', '.join(known)}.")
    return value


@cache
def _native() -> OwnTools:
    """Every tool of our own; what has been worked out for one kit is there for the next."""
    return OwnTools(builtin.__name__)


def _chain(*tables: Mapping[str, Entry]) -> Mapping[str, Entry]:
    """One table of several, in their order, without a look at the entries: each may have to be imported."""
    return ChainMap(*reversed(tables))  # type: ignore[arg-type]  # nothing is written into it


def preset(name: str) -> Policy:
    """A policy by its name, with what the user has configured."""
    return load_settings().build_policy(name)
