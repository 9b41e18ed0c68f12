"""The engines of a kit: opened together, given to every call, closed together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import msgspec

from toolroll.dialect import Profile, View
from toolroll.host.approval.grants import Grants
from toolroll.host.approval.guard import Approver, Guard
from toolroll.host.approval.secret_access import SecretAccess
from toolroll.host.capture.under_way import has_records
from toolroll.host.code.repo_map import RepoMaps
from toolroll.host.context import Context, Deferred
from toolroll.host.files.journal.journal import Journal
from toolroll.host.files.root import Root
from toolroll.host.files.roots import make_root
from toolroll.host.files.sessions import DamagedSessionError, SavedSession, SessionStore
from toolroll.host.files.spill import Spill
from toolroll.host.files.trust import examine
from toolroll.host.files.workspace import Workspace
from toolroll.host.knowledge.call_log import CallLog
from toolroll.host.late_answers import LateAnswers
from toolroll.host.mcp.servers import McpServers
from toolroll.host.runtime.call import Progress, silent
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.event_loop import EventLoop
from toolroll.host.runtime.launcher import Launcher
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.choose import choose_for_helpers
from toolroll.host.sandbox.git.guard_group import make_guard
from toolroll.host.settings import HookSettings, Settings
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, ToolError
from toolroll.steps import Proceed

if TYPE_CHECKING:
    import socket

    from toolroll.host.capture.capture import Capture
    from toolroll.host.code.structure import Structure
    from toolroll.host.code.verdicts import Verdicts
    from toolroll.host.files.file_ops import FileOps
    from toolroll.host.forks.fork import Fork
    from toolroll.host.forks.forks import Forks
    from toolroll.host.http.client import Client
    from toolroll.host.knowledge.program_library import KnowledgeStore
    from toolroll.host.knowledge.semantic import SemanticRanking
    from toolroll.host.lsp.language_servers import LanguageServers
    from toolroll.host.lsp.servers import LanguageServer
    from toolroll.host.search.search import Search
    from toolroll.host.shell.exec_ops import ExecOps
    from toolroll.host.shell.jobs import Job, SharedJobs
    from toolroll.host.shell.shell import Shell

_AFTER_TESTS_SECONDS = 60  # to read a report


class CallOptions(TypedDict, total=False):
    """Options of a call besides its name and arguments."""

    message: str
    """The message of the conversation that it belongs to: changes are recorded with it."""
    cwd: str
    """The folder that relative paths are taken from."""
    token: CancelToken | None
    progress: Progress
    approve: Approver
    """Answers the questions of this call, where the kit has no approver."""
    tools: str
    """Which tools the model is shown, if they are others than those of the kit: hints name only those."""
    id: str
    """What the provider's answer calls it."""
    client: str
    """Who makes it, where several may: shown with live calls."""
    whole: bool
    """The data goes to a program: all of it, or the error TooLarge or TimeoutError. The text is as bounded as ever."""
    most_chars: int
    """Of the result's text, where whoever shows it to the model takes less than the kit's limit."""


T = TypeVar("T")


def _defer(closing: ExitStack, open_engine: Callable[[], T]) -> T:
    deferred = Deferred(open_engine)
    closing.callback(deferred.close)
    return cast("T", deferred)


class Services:
    """The engines of one workspace. Opens them together, gives them to every call, closes them together."""

    open_fork_kit: Callable[[Fork, int], Any] | None = None
    """Opens a kit on a fork; without it there are none."""

    def __init__(
        self,
        workspace: str | os.PathLike[str],
        state_dir: str | os.PathLike[str] | None,
        session: str,
        profile: Profile,
        limits: Limits,
        guard: Guard,
        settings: Settings,
        files: FileOps | None = None,
        commands: ExecOps | None = None,
        spill: Spill | None = None,
        warm: Services | None = None,
        environ: Mapping[str, str] | None = None,
        knowledge: KnowledgeStore | None = None,
    ) -> None:
        """Open all engines, or none: when one fails to open, those before it are closed.

        With `files`, tools work on those, and what needs local files is refused; `commands` run commands; `spill` is
        another kit's, where long outputs are kept for both. `warm` are those of a kit with the same settings, which
        outlives this one: its root, index, language servers and jobs are used. `environ` replaces our own variables.
        """
        self.environ, self._warm = os.environ if environ is None else dict(environ), warm
        self._shared_jobs: SharedJobs | None = None
        self.session = session
        self._shared_spill = spill
        self.limits = limits
        self.guard = guard
        self.knowledge = knowledge
        self.closed, self.late = threading.Event(), LateAnswers()
        self._keep_session: Callable[[], None] = lambda: None
        self._judged, self._holds = settings.verdict != "off", settings.verdict == "hold"
        self.has_own_files = files is None
        with ExitStack() as closing:
            place = None if state_dir is None else os.fspath(state_dir)
            self.root = self._open_root(closing, os.fspath(workspace), place, profile.new_folder_mode, settings.roots)
            self.secrets = SecretAccess(guard, () if files is not None else self.root.folders, self._list_tracked)
            self.launcher = Launcher(choose_for_helpers, self.environ.get("PATH", os.defpath), *self.root.folders)
            self._open_place(closing, place)
            self._open_files(closing, profile)
            self._open_programs(closing, profile, settings)
            if files is not None or commands is not None:
                self._replace(closing, profile, files, commands)
            closing.callback(self.late.close)
            self._closing = closing.pop_all()

    def _open_root(
        self, closing: ExitStack, workspace: str, state_dir: str | None, folder_mode: int, others: Sequence[str]
    ) -> Root:
        if self._warm is not None:
            return self._warm.root
        trust = partial(examine, state_dir=state_dir, wide=self.guard.policy.wide)
        root = make_root(workspace, others, folder_mode=folder_mode, trust=trust)
        closing.callback(root.close)
        root.trust.drop_imports()
        return root

    def _open_place(self, closing: ExitStack, state_dir: str | None) -> None:
        self._state_dir = state_dir
        self.state = State(state_dir, self.root.path) if state_dir is not None else State.of(self.root.path)
        closing.callback(self.state.close)
        with suppress(OSError):  # a folder that cannot be written to is spoken of when something is to be kept
            self.state.hold()
        self.spill = self._shared_spill or Spill(self.state)
        if self._shared_spill is None:
            closing.callback(self.spill.close)
        self.guard.remember(Grants(self.state))
        self.secrets.keep_in(self.state)

    def _open_files(self, closing: ExitStack, profile: Profile) -> None:
        self.files = Workspace(self.root, self.state, self.spill, **self._file_options(profile))
        self.files.on_read = self.secrets.notice_read
        self.journal = self.undo_journal = Journal(self.root, self.state)
        states = {name: self._state_of(other, name, closing) for name, other in self.root.others.items()}
        self.files.holds = self._holds
        self.git = make_guard(self.root, self.state, states)
        closing.callback(self.git.close)
        self.capture = _defer(closing, self._open_capture)
        self.journal.move_refs_back = self._move_refs_back
        commands = self.capture.recover() if has_records(self.state) else []
        self.recovered = [*commands, *self.journal.recover(), *self.git.recover()]
        warm = self._warm
        own_search = self._open_search
        self.search: Search = _defer(closing, own_search) if warm is None else warm.search
        self.structure: Structure = _defer(closing, self._open_structure) if warm is None else warm.structure
        self.repo_maps: RepoMaps
        if warm is not None:
            self.repo_maps = warm.repo_maps
        else:
            self.repo_maps = RepoMaps(self.files, self.search, self.structure)
            closing.callback(self.repo_maps.close)

    def _file_options(self, profile: Profile) -> dict[str, Any]:
        own = {"limits": self.limits, "policy": self.guard.policy, "launcher": self.launcher, "guard": profile.guard}
        return {**own, "new_file_mode": profile.new_file_mode, "guess": profile.guess_encoding, "judged": self._judged}

    def _state_of(self, other: Root, name: str, closing: ExitStack) -> State:
        """The state folder of a further root: its own, unless ours was named."""
        place = None if self._state_dir is None else f"{self._state_dir}/roots/{name}"
        state = State.of(other.path) if place is None else State(place, other.path)
        closing.callback(state.close)
        with suppress(OSError):
            state.hold()
        return state

    def _open_programs(self, closing: ExitStack, profile: Profile, settings: Settings) -> None:
        self.loop = EventLoop()
        closing.callback(self.loop.close)
        environ, self._table = self.environ, profile.commands
        self.calls = CallLog(self.state, environ)
        self.http = _defer(closing, self._open_http)
        self.shell = _defer(closing, partial(self.open_shell, profile.commands))
        self.meaning = _defer(closing, partial(self._open_meaning, environ))
        own_servers = partial(self._open_servers, settings.language_servers)
        self.servers: LanguageServers = _defer(closing, own_servers) if self._warm is None else self._warm.servers
        own = self.root, self.state, self.guard, self.secrets, self.http, self.limits, environ, self.git, self.capture
        self.remote = McpServers(settings.mcp, *own)
        closing.callback(self.remote.close)
        self.forks = _defer(closing, self._open_forks)
        judged = profile.verdicts and settings.verdict in ("full", "hold")
        self.verdicts = _defer(closing, self._open_verdicts) if judged else None

    def _open_verdicts(self) -> Verdicts:
        from toolroll.host.code.verdicts import Verdicts
        from toolroll.host.dev.tests import find_covering

        running = cast("Deferred", self.servers)
        return Verdicts(
            self.files,
            self.search,
            lambda: self.servers if running.is_open else None,
            lambda: self.servers,
            partial(find_covering, self.state),
        )

    def _open_search(self) -> Search:
        from toolroll.host.search.search_group import make_search

        how = {"limits": self.limits, "policy": self.guard.policy, "launcher": self.launcher}
        return make_search(self.root, **how)

    def _open_capture(self) -> Capture:
        from toolroll.host.capture.capture import Capture

        return Capture(self.root, self.state, self.journal, self.files.records, self.launcher, self.limits)

    def _move_refs_back(self, notes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
        return self.capture.move_refs_back(notes)  # the engine is opened only here

    def _list_tracked(self) -> Collection[str]:
        """The files of the workspace that git has in its index."""
        from toolroll.host.capture.git_objects import GitIndex

        index = GitIndex(self.root.path, self.launcher)
        index.refresh()
        return index.entries.keys()

    def _open_forks(self) -> Forks:
        from toolroll.host.forks.forks import Forks

        return Forks(self.root, self.limits.fork_bytes, self.guard, self.launcher, self.open_fork_kit)

    def _open_http(self) -> Client:
        from toolroll.host.http.client import PROXY, Client

        return Client(self.guard.policy.hosts, proxy=self.environ.get(PROXY, ""), dial=self._dial)

    def _dial(self, host: str, port: int) -> socket.socket | None:
        return self.shell.dial(host, port)

    def open_shell(self, table: str) -> Shell:
        """A shell for commands, judged by this table."""
        from toolroll.host.shell.shell import Shell

        made = Shell(self.root, self.spill, self.guard, **self._shell_options(table))
        if self._warm is not None:
            from toolroll.host.shell.jobs import SharedJobs

            self._shared_jobs = SharedJobs(self._warm.shell.jobs)
            made._jobs.append(self._shared_jobs)
        return made

    def running_jobs(self) -> list[Job]:
        """The jobs that run, of this kit and of those on its engines."""
        is_open = cast("Deferred", self.shell).is_open
        return [job for job in self.shell.jobs.all() if not job.running.over] if is_open else []

    def has_jobs(self) -> bool:
        """Whether this kit has started jobs on the engines of another that are still known."""
        return self._shared_jobs is not None and self._shared_jobs.has_started()

    def _open_structure(self) -> Structure:
        from toolroll.host.code.structure import Structure

        return Structure(self.files, self.search, self.limits, self.launcher)

    def _open_meaning(self, environ: Mapping[str, str]) -> SemanticRanking:
        from toolroll.host.knowledge.semantic import SemanticRanking

        return SemanticRanking(self.state, self.http, environ, self.launcher)

    def _open_servers(self, choice: dict[str, str]) -> LanguageServers:
        from toolroll.host.lsp.language_servers import LanguageServers

        how: dict[str, Any] = {"spawn": self.shell.serve, "environ": self.environ, "authorise": self._authorise_server}
        return LanguageServers(self.files, self.search, **how, choice=choice)

    def _authorise_server(self, server: LanguageServer, argv: Sequence[str], asks: bool) -> None:
        """Return if a language server may start; what is, or runs, code of the workspace needs what `bash` needs."""
        if not server.foreign and not self.launcher.is_changeable(argv[0]):
            return
        from toolroll.host.shell.command_checks import authorise_program

        if not asks:
            raise ToolError(ErrorCode.PERMISSION, f"{server.program} runs code of this workspace: ask before.")
        authorise_program(self.guard, self.guard.policy.commands or self._table, server.program, argv)

    def _shell_options(self, table: str) -> dict[str, Any]:
        own = {"limits": self.limits, "table": table, "environment": dict(self.environ), "secrets": self.secrets}
        return {**own, "launcher": self.launcher, "git": self.git, "capture": self.capture}

    def _replace(self, closing: ExitStack, profile: Profile, files: FileOps | None, commands: ExecOps | None) -> None:
        """Put operations that a program gives in the places of our own engines."""
        from toolroll.host.files.file_ops import OpsRoot, OpsWorkspace, Unavailable
        from toolroll.host.search.ops_search import OpsSearch
        from toolroll.host.shell.exec_ops import ExecShell

        root = OpsRoot(files) if files is not None else None
        if root is not None:
            self.files = OpsWorkspace(root, self.state, self.spill, **self._file_options(profile))
            self.files.on_read = self.secrets.notice_read
            policy = self.guard.policy
            self.search = OpsSearch(root, limits=self.limits, policy=policy, launcher=self.launcher)
            self.undo_journal = self.servers = self.structure = self.repo_maps = cast(Any, Unavailable())
        shell = ExecShell(self.root, self.spill, self.guard, **self._shell_options(profile.commands))
        closing.callback(shell.close)
        self.shell = shell.use(commands, root)

    def command_hooks(self, rows: Sequence[HookSettings]) -> tuple[list[Any], list[Any]]:
        """What the commands of the configuration do before calls, and after."""
        if not rows:
            return [], []
        from toolroll.host.command_hooks import CommandHook

        made = [(one.event, CommandHook(one, self.launcher, self.root, self.guard, self.environ)) for one in rows]
        return [one.before for event, one in made if event == "before"], [
            one.after for event, one in made if event == "after"
        ]

    def resume(self) -> str:
        """Continue the session of this name where another process left it, and keep it at `close`.

        Returns a sentence about what could not be read of it.
        """
        store, lost = SessionStore(self.state), ""
        try:
            before = store.load(self.session)
        except DamagedSessionError as error:
            before, lost = SavedSession(self.session), str(error)
        self.files.records.restore(before.files)
        self.shell.memory.resume(self.session, before.shells)
        self.guard.resume(before.grants)
        self.secrets.resume(before.secret)

        def keep() -> None:
            with suppress(OSError):  # a full disk: what was called for has been done
                shells, files = self.shell.memory.saved(self.session), self.files.records.all()
                store.save(before, shells, files, self.guard.session_grants, self.secrets.known)

        self._keep_session = keep
        self._closing.callback(self.save_session)
        return lost

    def save_session(self) -> None:
        """Keep a session that was resumed, for other processes, now in place of at `close`."""
        keep, self._keep_session = self._keep_session, lambda: None
        keep()

    def close(self) -> None:
        """End every job and close the engines, the last opened first."""
        self.closed.set()
        self._closing.close()


_PARTIAL = "[Partial after {:g} s. The rest is worked out in the background: the same call again gives all of it.]"
_NOTHING_YET = (
    "There is no answer after {:g} s. It is worked out in the background: make the same call again to get it, or ask "
    "for less."
)


class AnswerInTime:
    """Answers a model that only reads within its limit: with a part, if there is one, and the rest at the next call."""

    def __init__(self, late: LateAnswers) -> None:
        self._late = late

    def __call__(self, view: View, proceed: Proceed) -> Proceed:
        only_reads, looks, late = view.effects in Effect.READ, view.tool.looks, self._late

        def answered(ctx: Context, arguments: dict[str, Any]) -> Any:
            call = ctx.call
            if not only_reads and not (looks is not None and looks(arguments)):
                late.changes += 1
                return proceed(ctx, arguments)
            seconds = max(call.limits.answer_seconds, arguments.get("timeout") or 0)
            if call.is_whole or seconds >= call.token.remaining():
                return proceed(ctx, arguments)
            key = _key(view, arguments, ctx) if late.known else None
            if key in late.known and (answer := late.take(key, seconds / 2, call.token)) is not None:
                call.notes.append(f"[Worked out in the background since {monotonic() - answer.began:.0f} s ago.]")
                return answer.result()
            return self._answer(view, proceed, ctx, arguments, seconds / 2 if key in late.known else seconds)

        return answered

    def _answer(self, view: View, proceed: Proceed, ctx: Context, arguments: dict[str, Any], seconds: float) -> Any:
        call, began, given = ctx.call, monotonic(), dict(arguments)
        whole, deadline = call.token.remaining(), call.token.deadline
        call.token.limit(seconds)
        output, failed = None, None
        try:
            output = proceed(ctx, arguments)
        except ToolError as error:
            if error.code is not ErrorCode.TIMEOUT or call.token.cancelled:
                raise
            failed = error
        is_late = monotonic() - began >= seconds / 3
        if not is_late or (failed is None and getattr(output, "status", "") != "partial"):
            if failed is not None:
                raise failed
            return output

        def work(token: CancelToken) -> Any:
            own: dict[str, Any] = {"token": token, "changes": [], "notes": [], "progress": silent}
            return proceed(replace(ctx, call=replace(call, **own)), given)

        self._late.start(_key(view, given, ctx), work, whole - seconds)
        if failed is not None:
            raise ToolError(ErrorCode.TIMEOUT, _NOTHING_YET.format(seconds), details=failed.details) from failed
        call.token.deadline = deadline
        call.notes.append(_PARTIAL.format(round(monotonic() - began)))
        return output


def _key(view: View, arguments: Mapping[str, Any], ctx: Context) -> tuple[str, bytes, str]:
    return view.name, msgspec.json.encode(arguments, enc_hook=repr), ctx.cwd


def with_dialect(policy: Policy, profile: Profile, settings: Settings | None) -> Policy:
    """The policy with the dialect's file types where it names none, and the environment of these settings."""
    if settings is not None:
        policy = replace(policy, environment=settings.environment)
    if policy.extensions is None and profile.extensions is not None:
        return replace(policy, extensions=profile.extensions)
    return policy


def limits_of(limits: Limits, options: CallOptions) -> Limits:
    """The limits of one call; TypeError for what is no option of one."""
    if unknown := options.keys() - CallOptions.__annotations__:
        how = 'as in kit.call("read", {"path": "a.py"})'
        raise TypeError(f"{', '.join(sorted(unknown))}: no option of a call. Arguments go into one mapping, {how}.")
    most = options.get("most_chars", limits.output_chars)
    if options.get("whole"):
        return limits.for_whole_data(most)
    return limits if most >= limits.output_chars else replace(limits, output_chars=most)


def change_limits(limits: Limits, changes: Mapping[str, Any]) -> Limits:
    """The limits with these values; ValueError for an unknown name."""
    if "search_seconds" in changes:  # its name before all calls that only read had one
        changes = {**changes, "answer_seconds": changes["search_seconds"]}
        changes.pop("search_seconds")
    if "test_seconds" in changes and "call_seconds" not in changes:  # the run ends before its call does
        changes = {**changes, "call_seconds": max(limits.call_seconds, changes["test_seconds"] + _AFTER_TESTS_SECONDS)}
    try:
        return replace(limits, **changes)
    except TypeError:
        names = ", ".join(Limits.__slots__)
        raise ValueError(f"Unknown limit among {', '.join(changes)}. There are: {names}.") from None
