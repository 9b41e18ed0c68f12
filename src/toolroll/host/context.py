"""The context of a call: everything a tool may use. The only module that knows all engines; no engine imports it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from toolroll.host.runtime.call import Call

if TYPE_CHECKING:
    from toolroll.host.approval.secret_access import SecretAccess
    from toolroll.host.code.repo_map import RepoMaps
    from toolroll.host.code.structure import Structure
    from toolroll.host.code.symbol_lookup import SymbolLookup
    from toolroll.host.convert.converter import Converter
    from toolroll.host.convert.document_search import DocumentSearch
    from toolroll.host.dev.projects import Projects
    from toolroll.host.files.journal.journal import Journal
    from toolroll.host.files.tree import FileTree
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.forks.forks import Forks
    from toolroll.host.git.repository import Repository
    from toolroll.host.http.client import Client
    from toolroll.host.knowledge.history import History
    from toolroll.host.knowledge.ingest import Ingest
    from toolroll.host.knowledge.library import Library
    from toolroll.host.knowledge.program_library import KnowledgeStore
    from toolroll.host.knowledge.semantic import SemanticRanking
    from toolroll.host.lsp.language_servers import LanguageServers
    from toolroll.host.mcp.servers import McpServers
    from toolroll.host.runtime.call import Progress
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.search.search import Search
    from toolroll.host.shell.code_calls import CallRequest, CodeCalls, KeptNames
    from toolroll.host.shell.shell import Shell
    from toolroll.policy.limits import Limits
    from toolroll.result import Result


class Deferred:
    """Stands for an engine that is imported and opened with its first use: most calls need none of them."""

    def __init__(self, open_engine: Callable[[], Any]) -> None:
        self._open_engine = open_engine
        self._opening = threading.Lock()
        self._engine: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._engine is None:
            with self._opening:
                if self._engine is None:
                    self._engine = self._open_engine()
        return getattr(self._engine, name)

    @property
    def is_open(self) -> bool:
        return self._engine is not None

    def open_by(self, open_engine: Callable[[], Any]) -> None:
        """Open another engine instead, with the first use."""
        self._open_engine = open_engine

    def close(self) -> None:
        with self._opening:
            if self._engine is not None:
                self._engine.close()


@dataclass(slots=True)
class Context:
    """The engines of a kit and the call that uses them."""

    files: Workspace
    search: Search
    journal: Journal
    launcher: Launcher
    """Starts the programs that an engine needs."""
    commands: Shell
    """The kit's shell; tools use `shell`, which is bound to the call."""
    servers: LanguageServers
    structure: Structure
    repo_maps: RepoMaps
    http: Client
    remote: McpServers
    """Other people's MCP servers."""
    meaning: SemanticRanking
    """Ranks by meaning, where an embedding model is set up."""
    secrets: SecretAccess
    """Whether secrets could have been read, so that they must not be sent without a question."""
    forks: Forks
    """Copies of the workspace to try something in."""
    call: Call
    auto_run: list[str] = field(default_factory=list)
    """Changed files that other programs run by themselves, where the call did not ask first."""
    call_tool: Callable[[CallRequest, Context], Result] | None = None
    """Carries out the calls of programs, in code mode."""
    kept_names: KeptNames = field(default_factory=dict)
    """What programs have left for the next ones, in code mode."""
    knowledge: KnowledgeStore | None = None
    """The documents of the program that opened the kit, in place of the library of the workspace."""

    @property
    def token(self) -> CancelToken:
        return self.call.token

    @property
    def limits(self) -> Limits:
        return self.call.limits

    @property
    def progress(self) -> Progress:
        return self.call.progress

    @property
    def cwd(self) -> str:
        return self.call.cwd

    @property
    def session(self) -> str:
        return self.call.session

    @property
    def message(self) -> str:
        return self.call.message

    @property
    def tree(self) -> FileTree:
        """The names in the workspace."""
        return self.files.tree

    @property
    def shell(self) -> Shell:
        """Runs commands on behalf of this call."""
        return self.commands.on(self.call, self.repository)

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that the kit was started with."""
        return self.commands.environment

    @property
    def lookup(self) -> SymbolLookup:
        """Finds symbols by name on behalf of this call."""
        from toolroll.host.code.symbol_lookup import SymbolLookup

        return SymbolLookup(self.files, self.structure, self.servers, self.token)

    @property
    def converter(self) -> Converter:
        """Converts documents to text on behalf of this call."""
        from toolroll.host.convert.converter import Converter
        from toolroll.host.convert.text_cache import TextCache

        return Converter(self.launcher, self.token, self.progress, TextCache(self.files.state))

    def search_documents(self, search: Search, named: Sequence[str]) -> DocumentSearch:
        """Searches the texts of documents that paths or globs name, on behalf of this call."""
        from toolroll.host.convert.document_search import DocumentSearch

        return DocumentSearch(self.files, search, self.converter, self.call, named)

    @property
    def projects(self) -> Projects:
        """Finds projects in the workspace, their programs and their files."""
        from toolroll.host.dev.projects import Projects

        return Projects(self.files, self.search, self.shell, self.call)

    @property
    def history(self) -> History:
        """Searches earlier calls, notes and guidance."""
        from toolroll.host.knowledge.call_log import CallLog
        from toolroll.host.knowledge.history import History

        calls = CallLog(self.files.state, self.environment)
        return History(self.files, self.journal, calls, self.meaning, self.call)

    def code_calls(self, *, fresh: bool = False) -> CodeCalls | None:
        """The tools for a program that this call runs; None where the kit is not in code mode.

        `fresh`: without the names that earlier programs have left.
        """
        call_tool = self.call_tool
        if call_tool is None:
            return None
        from toolroll.host.shell.code_calls import CodeCalls

        def answer(request: CallRequest, token: CancelToken) -> Result:
            own: dict[str, Any] = {"name": "", "arguments": {}, "changes": [], "notes": [], "is_inner": True}
            return call_tool(request, replace(self, call=replace(self.call, token=token, **own), auto_run=[]))

        if fresh:
            self.kept_names.clear()
        return CodeCalls(answer, self.limits, self.token, self.kept_names)

    @property
    def library(self) -> Library:
        """The documents that `rag` keeps: those of the workspace, or of the program that opened the kit."""
        if self.knowledge is not None:
            from toolroll.host.knowledge.program_library import ProgramLibrary

            return cast("Library", ProgramLibrary(self.knowledge, self.token))
        from toolroll.host.knowledge.library import Library

        return Library(self.files.state, self.token, self.meaning)

    def ingest(self, library: Library) -> Ingest:
        """Adds documents to a library."""
        from toolroll.host.knowledge.ingest import Ingest

        engines = self.files, self.search, self.structure, self.launcher, self.converter
        return Ingest(library, *engines, self.call)

    def repository(self, path: str, seconds: float) -> Repository:
        """The git repository that a path belongs to; ToolError when there is none in reach."""
        from toolroll.host.git.repository import Repository

        return Repository.containing(path, self.files, self.shell, self.call, seconds)
