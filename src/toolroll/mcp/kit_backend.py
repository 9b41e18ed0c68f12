"""A kit as the offer of a server. The kit is opened when it is first needed, where the client works."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from toolroll import __version__
from toolroll.host.files.trust import WorkspaceError
from toolroll.host.runtime.cancellation import Token
from toolroll.mcp.backend import Item, Kind, Peer, Unknown
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Answer, ApprovalRequest, Approver
    from toolroll.kit import Kit
    from toolroll.result import Result

_HANDLES = 100  # outputs that are listed
_PATIENCE = 5.0  # seconds to wait for the client's roots, and for calls to notice that they are cancelled
INSTRUCTIONS = """\
Tools to read, search, change and run code in one workspace; paths are relative to it. Changes are journalled: undo \
takes them back. A message names the call that helps next. If no tool that you are shown fits, find_tools has more, \
and call_tool calls them. What was too long to show is kept: read or grep its handle, or read its resource."""

OpenKit = Callable[[str | None, "Approver"], "Kit"]


class Kept(Protocol):
    """The list of tools of an earlier run, to be given before the kit is there."""

    def load(self) -> list[Item] | None:
        """The list, if it is known."""

    def save(self, tools: list[Item]) -> None:
        """Keep the list for the next run."""


class WorkspaceRefusedError(ToolError):
    """The folder that the server would work in cannot be a workspace; another one can still be named."""


class KitOffer:
    """Offers what a kit has: an `Offer`."""

    name = "toolroll"
    version = __version__
    title = "toolroll"
    instructions = INSTRUCTIONS

    def __init__(self, open_kit: OpenKit, *, kept: Kept | None = None, rooted: bool = False) -> None:
        """`open_kit` gets a folder (None for its own choice) and the approver; `rooted` waits for `place` before."""
        self._open_kit = open_kit
        self._kept = kept
        self._lock = threading.RLock()
        self._kit: Kit | None = None
        self._shaped: Callable[[Result], Item]
        self._in_use: dict[Token, Kit] = {}
        self._free = threading.Condition()
        self._placed = threading.Event()
        if not rooted:
            self._placed.set()
        self._folder: str | None = None
        self._closed = False
        self._peers = threading.local()
        self._handles: deque[tuple[str, str]] = deque(maxlen=_HANDLES)
        self._watchers: list[Callable[[Kind], None]] = []
        self._given: list[Item] | None = None

    def place(self, folder: str | None) -> None:
        """Work in this folder from now on; None for the kit's own choice. Calls that run go on where they are."""
        with self._lock:
            moved = self._kit is not None and folder is not None and folder != self._folder
            self._folder = folder if folder is not None else self._folder
            if moved:
                before, self._kit = self._kit, None
                self._handles.clear()
                assert before is not None
                threading.Thread(target=self._retire, args=(before,), daemon=True).start()
        self._placed.set()
        if moved:
            self._tell("resources")

    def warm(self) -> None:
        """Open the kit, if it is not open, and check that the tools are those that were listed.

        Nothing happens when the offer is closed before the kit is open: this is work ahead of the first call.
        """
        try:
            with self._using():
                pass
        except ToolError as error:
            if error.code is not ErrorCode.CANCELLED:
                raise

    def tools(self) -> list[Item]:
        """The tools, from the kit or, until it is open, as they were the last time."""
        if self._kit is None and self._given is None and self._kept is not None:
            self._given = self._kept.load()
        if self._kit is None and self._given is not None:
            return self._given
        try:
            with self._using() as kit:
                self._given = kit.definitions("mcp")
        except WorkspaceRefusedError:
            self._given = self._tools_anywhere()
        return self._given

    def _tools_anywhere(self) -> list[Item]:
        """The tools as they are in an empty folder: a client may name its folder later."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="toolroll-") as folder, self._open_kit(folder, self._approve) as kit:
            return kit.definitions("mcp")

    def call(self, name: str, arguments: Item, peer: Peer) -> Item:
        """Call a tool. Raises Unknown for a tool that there is not."""
        try:
            kit = self._take(peer.token)
        except WorkspaceRefusedError as error:
            return {"content": [{"type": "text", "text": error.message}], "isError": True}
        try:
            if not kit.has(name):
                raise Unknown(f"There is no tool {name!r}. There are: {', '.join(kit.names())}.")
            self._peers.current = peer
            result = kit.call(name, arguments, token=peer.token, progress=peer.progress)
        finally:
            self._peers.current = None
            self._give_back(peer.token)
        answer = self._shaped(result)
        return self._linked(name, result, answer) if "spill" in result.meta else answer

    def _linked(self, name: str, result: Result, answer: Item) -> Item:
        from toolroll.mcp import resources

        handle = result.meta["spill"]
        self._handles.append((handle, name))
        answer["content"].append(resources.link(handle, name))
        self._tell("resources")
        return answer

    def resources(self) -> list[Item]:
        """Outputs of this session that were too long to show, and notes."""
        from toolroll.mcp import resources

        with self._using() as kit:
            return resources.listed(kit, tuple(self._handles))

    def templates(self) -> list[Item]:
        """The addresses that such resources have."""
        from toolroll.mcp import resources

        return list(resources.TEMPLATES)

    def read(self, uri: str) -> list[Item]:
        """The text of a resource. Raises Unknown."""
        from toolroll.mcp import resources

        with self._using() as kit:
            return resources.read(kit, uri)

    def prompts(self) -> list[Item]:
        """Prompts for common tasks."""
        from toolroll.mcp import prompts

        return [one.listed() for one in prompts.PROMPTS]

    def prompt(self, name: str, arguments: dict[str, str]) -> Item:
        """A prompt filled in. Raises Unknown, or ValueError for wrong arguments."""
        from toolroll.mcp import prompts

        return prompts.prompt(name).filled(arguments)

    def complete(self, ref: Item, argument: Item) -> list[str]:
        """Paths for a prompt, names for a resource, by how they begin. Raises Unknown for what takes no arguments."""
        from toolroll.mcp import prompts, resources

        typed, name = str(argument.get("value", "")), argument.get("name")
        if ref.get("type") == "ref/prompt":
            blanks = {one.name: one for one in prompts.prompt(str(ref.get("name"))).blanks}
            return self._paths(typed) if name in blanks and blanks[name].path else []
        if ref.get("type") == "ref/resource":
            with self._using() as kit:
                found = resources.names(kit, tuple(self._handles), str(ref.get("uri")))
            return [one for one in found if one.startswith(typed)]
        raise Unknown(f"There is nothing to complete in {ref.get('type')!r}.")

    def _paths(self, typed: str) -> list[str]:
        folder, slash, start = typed.rpartition("/")
        with self._using() as kit:
            context = kit.context()
            try:
                _, items = context.tree.folder(folder or ".", 1, context.token)
            except ToolError:  # while a path is typed, most of its beginnings name no folder
                return []
        names = (item.name + ("/" if item.kind == "directory" else "") for item in items)
        return sorted(f"{folder}{slash}{name}" for name in names if name.startswith(start))

    def watch(self, changed: Callable[[Kind], None]) -> Callable[[], None]:
        """Call `changed` whenever a list is another one; gives the way to stop that."""
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def close(self) -> None:
        """End all calls and the kit."""
        with self._lock:
            self._closed = True
            kit, self._kit = self._kit, None
        self._placed.set()
        for token in tuple(self._in_use):
            token.cancel()
        if kit is not None:
            self._retire(kit, _PATIENCE)

    @contextmanager
    def _using(self) -> Iterator[Kit]:
        """The kit, which is not closed while it is used."""
        token = Token()
        kit = self._take(token)
        try:
            yield kit
        finally:
            self._give_back(token)

    def _take(self, token: Token) -> Kit:
        if self._kit is None:
            self._placed.wait(_PATIENCE)
        with self._lock:
            kit = self._in_use[token] = self._kit or self._opened()
        return kit

    def _give_back(self, token: Token) -> None:
        kit = self._in_use.pop(token)
        if kit is not self._kit:  # else nobody waits for its calls to end
            with self._free:
                self._free.notify_all()

    def _opened(self) -> Kit:
        from toolroll.formats import mcp_result

        if self._closed:
            raise ToolError(ErrorCode.CANCELLED, "The server has ended.")
        try:
            kit = self._open_kit(self._folder, self._approve)
        except WorkspaceError as error:
            raise WorkspaceRefusedError(ErrorCode.SECURITY, str(error)) from error
        except OSError as error:
            raise WorkspaceRefusedError(ErrorCode.IO, f"The workspace cannot be opened: {error}.") from error
        except ValueError as error:
            raise ToolError(ErrorCode.IO, f"The workspace cannot be opened: {error}") from error
        self._shaped = mcp_result  # even to find a module that is loaded takes longer than this
        self._folder = kit.workspace
        kit.watch(self._renewed)
        self._kit = kit
        self._compare(kit)
        return kit

    def _compare(self, kit: Kit) -> None:
        """Tell when the tools are other ones than were listed before the kit was open."""
        tools = kit.definitions("mcp")
        if self._given is not None and self._given != tools:
            self._tell("tools")
        if self._kept is not None and self._given != tools:
            self._kept.save(tools)
        self._given = tools

    def _renewed(self) -> None:
        self._tell("tools")

    def _retire(self, kit: Kit, patience: float | None = None) -> None:
        with self._free:
            self._free.wait_for(lambda: kit not in tuple(self._in_use.values()), patience)
        kit.close()

    def _approve(self, request: ApprovalRequest) -> Answer:
        from toolroll.mcp import approval

        return approval.ask(request, getattr(self._peers, "current", None))

    def _tell(self, kind: Kind) -> None:
        for changed in tuple(self._watchers):
            changed(kind)
