"""What a tool is given of the world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolroll.policy.limits import Limits

if TYPE_CHECKING:
    from toolroll.host.approval.taint import Taint
    from toolroll.host.code.repo_map import Atlas
    from toolroll.host.code.structure import Structure
    from toolroll.host.files.journal.journal import Journal
    from toolroll.host.files.tree import FileTree
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.http.client import Client
    from toolroll.host.knowledge.semantic import Meaning
    from toolroll.host.lsp.language_servers import Servers
    from toolroll.host.mcp.servers import Remotes
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.search.search import Search
    from toolroll.host.shell.shell import Shell

Progress = Callable[[float, float | None, str], None]


def silent(_done: float, _total: float | None, _note: str) -> None:
    """The progress of a caller that did not ask for any."""


@dataclass(slots=True)
class Context:
    """The hands of one call, its limits, and whom it is for."""

    files: Workspace
    search: Search
    journal: Journal
    launcher: Launcher
    """Starts the programs that an engine needs."""
    commands: Shell
    """The kit's; a tool takes `shell`."""
    servers: Servers
    structure: Structure
    atlas: Atlas
    http: Client
    remote: Remotes
    """Other people's MCP servers."""
    meaning: Meaning
    """What ranks by meaning, as far as that is set up."""
    taint: Taint
    """What was read that must not be sent unasked."""
    limits: Limits
    token: Token
    session: str = ""
    message: str = ""
    cwd: str = "."
    progress: Progress = silent
    name: str = ""
    """Of the tool, as the dialect calls it."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """As they were given."""
    auto_run: list[str] = field(default_factory=list)
    """Files that other programs run by themselves and that the call has changed without asking."""

    @property
    def tree(self) -> FileTree:
        """The names in the workspace."""
        from toolroll.host.files.tree import FileTree

        return FileTree(self.files)

    @property
    def shell(self) -> Shell:
        """Runs commands on behalf of this call."""
        from toolroll.host.shell.shell import Caller

        return self.commands.on(Caller(self.name, self.arguments, self.token, self.progress))

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that the kit was started with."""
        return self.commands.environment

    def searching(self, path: str) -> tuple[Search, str]:
        """The search that a path belongs to, and the path there: the workspace's, or that of kept outputs."""
        root, where = self.files.where(path)
        return self.search.on(root), where
