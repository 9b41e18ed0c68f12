"""The engines of a kit: opened together, given to every call, closed together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, TypedDict

from toolroll.dialect import Profile, View
from toolroll.host.approval.grants import Grants
from toolroll.host.approval.guard import Guard
from toolroll.host.approval.taint import Taint
from toolroll.host.code.repo_map import RepoMaps
from toolroll.host.code.structure import Structure
from toolroll.host.context import Context
from toolroll.host.files.journal.journal import Journal
from toolroll.host.files.root import Root
from toolroll.host.files.sessions import DamagedSessionError, SavedSession, SessionStore
from toolroll.host.files.spill import Spill
from toolroll.host.files.trust import examine
from toolroll.host.files.workspace import Workspace
from toolroll.host.http.client import PROXY, Client
from toolroll.host.knowledge.call_log import CallLog
from toolroll.host.knowledge.semantic import SemanticRanking
from toolroll.host.lsp.language_servers import LanguageServers
from toolroll.host.mcp.config import Config
from toolroll.host.mcp.servers import McpServers
from toolroll.host.runtime.call import Call
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.event_loop import EventLoop
from toolroll.host.runtime.launcher import Launcher
from toolroll.host.runtime.progress import Progress, silent
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.choose import choose_for_helpers
from toolroll.host.sandbox.git.guard import GitGuard
from toolroll.host.search.search import Search
from toolroll.host.shell.shell import Shell
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, ToolError
from toolroll.steps import Proceed


class CallOptions(TypedDict, total=False):
    """Options of a call besides its name and arguments."""

    message: str
    """The message of the conversation that it belongs to: changes are recorded with it."""
    cwd: str
    """The folder that relative paths are taken from."""
    token: CancelToken | None
    progress: Progress


class Services:
    """The engines of one workspace. Opens them together, gives them to every call, closes them together."""

    def __init__(
        self,
        workspace: str | os.PathLike[str],
        state_dir: str | os.PathLike[str] | None,
        session: str,
        profile: Profile,
        limits: Limits,
        guard: Guard,
        servers: Mapping[str, str] | None = None,
        mcp: Config | None = None,
    ) -> None:
        """Open all engines, or none: when one fails to open, those before it are closed."""
        self.session = session
        self.limits = limits
        self.guard = guard
        self.taint = Taint(guard)
        self._closed = False
        with ExitStack() as closing:
            place = None if state_dir is None else os.fspath(state_dir)
            trust = partial(examine, state_dir=place, wide=guard.policy.wide)
            self.root = Root(os.fspath(workspace), folder_mode=profile.new_folder_mode, trust=trust)
            closing.callback(self.root.close)
            self.root.trust.drop_imports()
            self.launcher = Launcher(choose_for_helpers, os.environ.get("PATH", os.defpath), self.root.path)
            self._open_place(closing, place)
            self._open_files(closing, profile, guard.policy)
            self._open_programs(closing, profile.commands, servers, mcp)
            self._closing = closing.pop_all()

    def _open_place(self, closing: ExitStack, state_dir: str | None) -> None:
        self.state = State(state_dir) if state_dir is not None else State.of(self.root.path)
        closing.callback(self.state.close)
        with suppress(OSError):  # a folder that cannot be written to is spoken of when something is to be kept
            self.state.hold()
        self.spill = Spill(self.state)
        closing.callback(self.spill.close)
        self.guard.remember(Grants(self.state))

    def _open_files(self, closing: ExitStack, profile: Profile, policy: Policy) -> None:
        self.files = Workspace(
            self.root,
            self.state,
            self.spill,
            limits=self.limits,
            policy=policy,
            launcher=self.launcher,
            guard=profile.guard,
            new_file_mode=profile.new_file_mode,
            guess=profile.guess_encoding,
        )
        self.journal = Journal(self.root, self.state)
        self.git = GitGuard(self.root, self.state)
        closing.callback(self.git.close)
        self.recovered = [*self.journal.recover(), *self.git.recover()]
        self.search = Search(self.root, limits=self.limits, policy=policy, launcher=self.launcher, state=self.state)
        closing.callback(self.search.close)
        self.structure = Structure(self.files, self.search, self.limits, self.launcher)
        closing.callback(self.structure.close)
        self.repo_maps = RepoMaps(self.files, self.search, self.structure)
        closing.callback(self.repo_maps.close)

    def _open_programs(
        self, closing: ExitStack, table: str, servers: Mapping[str, str] | None, mcp: Config | None
    ) -> None:
        self.loop = EventLoop()
        closing.callback(self.loop.close)
        environ = dict(os.environ)
        self.calls = CallLog(self.state, environ)
        self.http = Client(self.guard.policy.hosts, proxy=environ.get(PROXY, ""))
        closing.callback(self.http.close)
        self.shell = Shell(
            self.root,
            self.spill,
            self.guard,
            limits=self.limits,
            table=table,
            environment=environ,
            launcher=self.launcher,
            git=self.git,
        )
        closing.callback(self.shell.close)
        self.meaning = SemanticRanking(self.state, self.http, environ)
        closing.callback(self.meaning.close)
        self.servers = LanguageServers(self.files, self.search, spawn=self.shell.serve, choice=servers)
        closing.callback(self.servers.close)
        self.remote = McpServers(
            mcp, self.root, self.state, self.guard, self.taint, self.http, self.limits, environ, self.git
        )
        closing.callback(self.remote.close)

    def context(
        self, *, message: str = "", cwd: str = ".", token: CancelToken | None = None, progress: Progress = silent
    ) -> Context:
        """The context of one call. It is made for every call, so it makes only what every call needs."""
        return Context(
            self.files if cwd == "." else self.files.at(cwd),
            self.search,
            self.journal,
            self.launcher,
            self.shell,
            self.servers,
            self.structure,
            self.repo_maps,
            self.http,
            self.remote,
            self.meaning,
            self.taint,
            Call(self.limits, token or CancelToken(), self.session, message, progress, self.loop),
            cwd,
        )

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
        self.shell.resume(self.session, before.cwd)

        def keep() -> None:
            with suppress(OSError):  # a full disk: what was called for has been done
                store.save(before, self.shell.entered(self.session), self.files.records.all())

        self._closing.callback(keep)
        return lost

    def while_open(self, _view: View, proceed: Proceed) -> Proceed:
        """A step that refuses calls after `close`: they would open engines that are never closed."""

        def checked(ctx: Context, arguments: dict[str, Any]) -> Any:
            if self._closed:
                raise ToolError(ErrorCode.CANCELLED, "The kit was closed. Open another one for more calls.")
            return proceed(ctx, arguments)

        return checked

    def close(self) -> None:
        """End every job and close the engines, the last opened first."""
        self._closed = True
        self._closing.close()
