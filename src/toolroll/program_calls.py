"""What a program uses beside the tools: run a command with bytes, read and write bytes, pack a workspace; its registry.

Each goes through the same steps as a tool's call (policy, locks, journal, sandbox), but gives back plain values and
raises ToolError.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol, TypeVar, Unpack

from toolroll.dialect import Bundle, Entry, Relay, View
from toolroll.host.files.journal.entry import MOST_KEPT
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.registry import Registry
from toolroll.result import ErrorCode, Result, ToolError
from toolroll.schema import Parameter
from toolroll.tool import Effect, Metadata, Tool

if TYPE_CHECKING:
    from toolroll.executor import Arguments, Checked, Executor
    from toolroll.formats import Format
    from toolroll.host.context import Context
    from toolroll.host.files.archive.pack import Packed
    from toolroll.host.files.archive.unpack import Unpacked
    from toolroll.host.shell.command_result import Completed
    from toolroll.services import CallOptions
    from toolroll.steps import AfterHook, BeforeHook, CallWatcher, Hooks
    from toolroll.text.files.changes import Change

OUTPUT_BYTES = 64 << 20
"""How much of each stream `exec` gives back, unless the call says otherwise."""
_AFTER_SECONDS = 60  # of the call, after the command has ended
_PATH = (Parameter("path", {}, required=True, path=True),)
T = TypeVar("T")


_Call = Callable[[str, "Arguments"], Result]


class ProgramCalls(ABC):
    """The part of a kit that programs use directly."""

    _executor: Executor
    _hooks: Hooks

    @abstractmethod
    def context(self, **options: Unpack[CallOptions]) -> Context:
        """The context of one call."""

    @abstractmethod
    def _call_own(self, tool: Tool, message: str = "", **given: Any) -> Result:
        """Call a tool of ours, also where the dialect does not have it."""

    def undo(self, *, steps: int = 1, path: str | None = None, entry: int | None = None, message: str = "") -> Result:
        """Take back what tools changed: the last changes, those of a path, or one entry of the journal."""
        from toolroll.tools.files.undo import undo

        return self._call_own(undo, message, steps=steps, path=path, entry=entry)

    def checkpoint(self, name: str, *, message: str = "") -> Result:
        """Save a checkpoint of the files, for `rewind`."""
        from toolroll.tools.files.checkpoint import checkpoint

        return self._call_own(checkpoint, message, name=name)

    def rewind(self, to: str | int, *, partial: bool = False, message: str = "") -> Result:
        """Restore all files to a checkpoint, or to how they were after an entry of the journal; 0 is the start.

        `partial`: leave alone what is not kept, instead of refusing.
        """
        from toolroll.tools.files.rewind import rewind

        return self._call_own(rewind, message, to=str(to), partial=partial)

    def add_document(self, path: str = "", *, text: str = "", title: str = "") -> Result:
        """Add a file, the files of a folder, or a text to the documents that the tools search, in any dialect."""
        from toolroll.tools.knowledge.rag import rag

        if text:
            return self._call_own(rag, action="add_text", text=text, title=title or None)
        return self._call_own(rag, action="add_document", path=path)

    def before(self, hook: BeforeHook) -> BeforeHook:
        """Run a function before every call, those of forks and programs too; also a decorator.

        It gets a copy of the call and returns None to let it run, a text to refuse it with that reason, or other
        arguments, which are checked as those of the model are.
        """
        self._hooks.before.append(hook)
        return hook

    def after(self, hook: AfterHook) -> AfterHook:
        """Run a function after every call, with its result; a text that it returns is added to the result's."""
        self._hooks.after.append(hook)
        return hook

    def watch_calls(self, watch: CallWatcher) -> None:
        """Call a function as each call begins; what it returns gets the result and the seconds. They must not raise."""
        self._hooks.watchers.append(watch)

    def exec(
        self,
        command: str | Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str = ".",
        timeout: float = 120,
        limit: int = OUTPUT_BYTES,
        token: CancelToken | None = None,
    ) -> Completed:
        """Run a text for bash, or a program and its arguments, under the policy and sandbox of `bash`.

        `env` is added to the variables that commands get; `limit` bounds the bytes of each stream that are given back.
        ToolError if it may not run, cannot start or is cancelled; a failure of its own is a result.
        """
        extra = _check_variables(env or {})
        words = command if isinstance(command, str) else [os.fspath(one) for one in command]
        if not words:
            raise ToolError(ErrorCode.VALIDATION, "The `command` is empty. Give one to run.")
        ctx = self.context(token=token)
        ctx.call.limits = replace(
            ctx.call.limits, call_seconds=max(ctx.call.limits.call_seconds, timeout + _AFTER_SECONDS)
        )

        def run(ctx: Context) -> Completed:
            given: dict[str, Any] = {"cwd": ctx.files.where(cwd)[1], "stdin": stdin, "extra": extra}
            return ctx.shell.run_bytes(words, seconds=timeout, kept_bytes=limit, **given)

        def run_or_hold(ctx: Context) -> Completed:
            text, args = (words, None) if isinstance(words, str) else (words[0], words[1:])
            if not ctx.shell.must_fork(text, args):
                return run(ctx)
            return replace(ctx.forks.run(ctx, run), changes=ctx.call.changes, notes=ctx.call.notes)

        shown = {"command": words, "cwd": cwd, **({"env": sorted(extra)} if extra else {})}
        return self._run("exec", Effect.SHELL, run_or_hold, shown, ctx)

    async def aexec(self, command: str | Sequence[str], **options: Any) -> Completed:
        """`exec` in a worker thread; cancelling the task cancels the command, which may end a moment after the task."""
        from toolroll.host.runtime.event_loop import run_in_thread

        token = options["token"] = options.get("token") or CancelToken()
        return await run_in_thread(partial(self.exec, command, **options), token)

    def share_temp(self, folders: Sequence[str] = (), *, workspace: str = "") -> bool:
        """Give all commands of this kit one `/tmp`, until it is closed; False where each keeps its own.

        To be called before the first command. It needs bubblewrap, and a workspace that is not beneath `/tmp`. With
        `/tmp` they get an empty folder at each absolute path of `folders`, and the workspace also at that path.
        """
        return self.context().shell.share_temp(folders, workspace)

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a file; it then counts as seen."""
        return self._run("read_bytes", Effect.READ, lambda ctx: ctx.files.data(path, MOST_KEPT, seen=True), path)

    def write_bytes(self, path: str, data: bytes) -> Change | None:
        """Write a whole file, making missing folders; `undo` takes it back. None if it was the same already."""
        from toolroll.text.files.changes import Change

        made = self._run("write_bytes", Effect.WRITE, lambda ctx: ctx.files.write(path, data), path)
        return Change.of_contents(made.path, made.before, made.after) if made.changed else None

    def pack(self, *, ignored: bool = False, git: bool = False) -> Packed:
        """The workspace as a tar, the same bytes for the same files: what no ignore file keeps out, or all of it.

        `git` adds the repository's own folder. Further roots are not in it.
        """
        from toolroll.host.files.archive.pack import pack

        run = lambda ctx: pack(ctx.files, ctx.token, ignored=ignored, git=git)  # noqa: E731
        return self._run("pack", Effect.READ, run, {"ignored": ignored, "git": git})

    def unpack(self, archive: str | os.PathLike[str] | bytes | IO[bytes], *, git: bool = False) -> Unpacked:
        """Put what a tar holds into the workspace, over what is there: all of it or nothing; `undo` takes it back.

        Names and links that lead out, and devices, are refused. `git` takes a repository's own folder as well, where
        there is none and without its hooks: only for an archive that you trust.
        """
        from toolroll.host.files.archive.unpack import read_twice, unpack

        with read_twice(archive) as file:
            ctx, effects = self.context(), Effect.READ | Effect.WRITE | Effect.DELETE
            done = self._run(
                "unpack", effects, lambda ctx: unpack(ctx.files, file, ctx.token, git=git), {"git": git}, ctx
            )
        return replace(done, auto_run=ctx.auto_run)

    def _run(
        self,
        name: str,
        effects: Effect,
        run: Callable[[Context], T],
        shown: str | Mapping[str, Any],
        ctx: Context | None = None,
    ) -> T:
        """Run a function with all steps of a call around it; `shown`: its path, or what approvers see of it."""
        arguments = {"path": shown} if isinstance(shown, str) else dict(shown)
        parameters = _PATH if isinstance(shown, str) else ()
        tool = Tool(name, name, effects, parameters, lambda ctx, **_: run(ctx), category="program", holds=True)
        made: T = self._executor.run(View(name, tool), arguments, ctx or self.context())
        return made


def _check_variables(env: Mapping[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            raise ToolError(
                ErrorCode.VALIDATION, f"{name!r} cannot be a variable: a name has no '=', nothing a NUL byte."
            )
    return dict(env)


class _Kit(Protocol):
    """What the registry needs of its kit."""

    def register(self, tool: Tool | View | Bundle, /) -> None: ...

    def unregister(self, name: str, /) -> bool: ...

    def call(self, name: str, arguments: Arguments, /) -> Result: ...

    def check(self, name: str, arguments: Arguments, /) -> Checked: ...

    def definitions(self, format: Format, *, strict: bool, tools: Literal["all"]) -> list[dict[str, Any]]: ...


@dataclass(frozen=True)
class KitTool:
    """A tool of a kit, ready to be called by the name and the parameters that its dialect has."""

    entry: View | Bundle
    metadata: Metadata
    _call: _Call = field(repr=False)

    def __call__(self, arguments: Arguments = None, /, **named: Any) -> Result:
        """Call it as `kit.call` does, with an object, its JSON text, or arguments by name."""
        if named and arguments is not None:
            raise TypeError(f"{self.name}: give the arguments as one object or by name, not both.")
        return self._call(self.name, named if arguments is None else arguments)

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def description(self) -> str:
        return self.entry.description

    @property
    def schema(self) -> dict[str, Any]:
        return self.entry.schema

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """Its parameters in order: the name, whether it is required, and what the schema has of it."""
        required = self.schema.get("required", ())
        properties = self.schema.get("properties", {})
        return [{"name": name, "required": name in required, **schema} for name, schema in properties.items()]

    @property
    def effects(self) -> Effect:
        return self.entry.effects

    @property
    def safe(self) -> bool:
        return self.metadata.safe


class KitRegistry(Registry[KitTool]):
    """The tools of a kit. What is registered or unregistered here can be called, or no longer, at once."""

    def __init__(self, kit: _Kit, entries: Callable[[], Mapping[str, Entry]]) -> None:
        """`entries`: those of the kit now."""
        super().__init__()
        self._kit = kit
        self._entries = entries
        self._given: dict[str, Metadata] = {}

    def _table(self) -> Mapping[str, KitTool]:
        return _KitTools(self._entries(), self._given, self._kit.call)

    def register(self, tool: Tool | View | Bundle | KitTool, metadata: Metadata | None = None) -> None:
        """Add a tool to the kit; `metadata` replaces what follows from it. ValueError for a name that is taken."""
        added = tool.entry if isinstance(tool, KitTool) else tool
        if metadata is not None and (metadata.name, metadata.safe) != (added.name, added.safe):
            kind = "safe" if added.safe else "not safe: @tool(Effect.READ) declares a tool that only reads"
            raise ValueError(f"Metadata of {metadata.name!r} is given for {added.name!r}, which is {kind}.")
        self._kit.register(added)
        if metadata is not None:
            self._given[added.name] = metadata

    def unregister(self, name: str) -> bool:
        """Remove a tool from the kit; False when there was none."""
        self._given.pop(name, None)
        return self._kit.unregister(name)

    def definitions(self, format: Format = "openai", *, strict: bool = False) -> list[dict[str, Any]]:
        """The definitions of the tools that may be called, in a provider's shape."""
        return self._kit.definitions(format, strict=strict, tools="all")

    def validate(self, name: str, arguments: Arguments = None) -> list[str]:
        """What is wrong with these arguments of a tool; nothing runs."""
        return list(self._kit.check(name, arguments).faults)

    def execute(self, name: str, arguments: Arguments = None) -> Result:
        """Check the arguments and call the tool: the same as `kit.call`."""
        return self._kit.call(name, arguments)


class _KitTools(Mapping[str, KitTool]):
    """Entries as tools that can be called; each is imported when it is looked up."""

    def __init__(self, entries: Mapping[str, Entry], given: Mapping[str, Metadata], call: _Call) -> None:
        self._entries, self._given, self._call = entries, given, call

    def __getitem__(self, name: str) -> KitTool:
        entry = self._entries[name]
        if isinstance(entry, Relay):
            raise KeyError(name)
        return KitTool(entry, self._given.get(name, entry.metadata), self._call)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
