"""A kit as the backend of a server. The kit is opened when it is first needed, in the client's workspace."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from toolroll import __version__
from toolroll.host.files.trust import WorkspaceError
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp.backend import Item, ListKind, Peer, UnknownItemError
from toolroll.mcp.client_profiles import ClientProfile, drop_client_parameters, find_profile, mark
from toolroll.mcp.repeated_reads import RepeatedReads
from toolroll.result import ErrorCode, Result, ToolError

if TYPE_CHECKING:
    from toolroll.catalogue import Choice
    from toolroll.control.server import ControlServer
    from toolroll.host.approval.guard import Answer, ApprovalRequest, Approver
    from toolroll.host.approval.waiting import WaitingApprovals
    from toolroll.kit import Kit

_MAX_LISTED_OUTPUTS = 100
_WAIT_S = 5.0  # for the client's roots, and for cancelled calls to end
INSTRUCTIONS = """\
Tools to read, search, change and run code in one workspace; paths are relative to it. Changes are journalled: undo, \
if you have it, takes them back. A message names the call that helps next. If no tool that you are shown fits and you \
have find_tools, it finds more, and call_tool calls them. What was too long to show is kept: read or grep its handle, \
or read its resource."""

TURNS = "toolroll/turns"
"""In the `_meta` of a call: what user and model said, as messages with `role` and `content`."""

OpenKit = Callable[[str | None, "Approver"], "Kit"]


ToolLists = dict[str, list[Item]]
"""The definitions that the kit shows, under "", and those of other choices of tools, by their names."""
_CHOICES: tuple[Choice, ...] = ("core", "all")
_FOR_AGENTS = "finish"  # means something to our own agent alone


class ToolListStore(Protocol):
    """The tools of an earlier run, to answer `tools/list` before the kit is open."""

    def load(self) -> ToolLists | None: ...

    def save(self, tools: ToolLists) -> None: ...

    def fits(self, kit: Kit) -> bool:
        """Whether what was loaded is what this kit shows, as can be seen without its tools."""


class WorkspaceRefusedError(ToolError):
    """The server's folder cannot be a workspace; the client can still name another one."""


class KitBackend:
    """A `Backend` with the tools, outputs, notes and documents of a kit."""

    name = "toolroll"
    version = __version__
    title = "toolroll"
    instructions = INSTRUCTIONS

    def __init__(
        self,
        open_kit: OpenKit,
        *,
        tool_list: ToolListStore | None = None,
        wait_for_root: bool = False,
        on_waiting: Callable[[str], None] | None = None,
        by_client: bool = False,
        structured: bool = False,
        one_client: bool = False,
        open_control: Callable[[], ControlServer] | None = None,
    ) -> None:
        """`open_kit` gets a folder (None: its default) and the approver; `wait_for_root`: wait for `set_root` first.

        `by_client`: each client is shown what fits it; else all get what the kit shows. `structured`: results have
        structured content too. `one_client`: what that one reads again is not sent again. With `on_waiting`, what a
        client cannot ask its user waits for `toolroll approve`; it gets the command to type. `open_control`
        is called with the first kit: it shows the calls, and what waits.
        """
        self._open_kit = open_kit
        self._tool_list = tool_list
        self._on_waiting = on_waiting
        self._lock = threading.RLock()
        self._kit: Kit | None = None
        self._to_mcp_result: Callable[..., Item]
        self._in_use: dict[CancelToken, Kit] = {}
        self._free = threading.Condition()
        self._root_known = threading.Event()
        if not wait_for_root:
            self._root_known.set()
        self._folder: str | None = None
        self._closed = False
        self._peer: ContextVar[Peer | None] = ContextVar("peer", default=None)  # also in threads of its call
        self._calling: list[Peer] = []
        self._one_client = one_client
        self._open_control = open_control
        self._control: ControlServer | None = None
        self._client_name = ""
        self._handles: deque[tuple[str, str]] = deque(maxlen=_MAX_LISTED_OUTPUTS)
        self._watchers: list[Callable[[ListKind], None]] = []
        self._by_client = by_client
        self._structured = structured
        self._reads = RepeatedReads() if one_client else None
        self._listed: ToolLists | None = None

    def set_root(self, folder: str | None) -> None:
        """Use this workspace from now on; None for the default. Running calls go on in their workspace."""
        with self._lock:
            moved = self._kit is not None and folder is not None and folder != self._folder
            self._folder = folder if folder is not None else self._folder
            if moved:
                before, self._kit = self._kit, None
                self._handles.clear()
                if self._reads is not None:
                    self._reads.clear()
                assert before is not None
                threading.Thread(target=self._retire, args=(before,), daemon=True).start()
        self._root_known.set()
        if moved:
            self._notify("resources")

    def open_ahead(self) -> None:
        """Open the kit before the first call, and check that the tools are those that were listed.

        Does nothing when the backend is closed before the kit is open.
        """
        try:
            with self._using():
                pass
        except ToolError as error:
            if error.code is not ErrorCode.CANCELLED:
                raise

    def tools(self, client: Item | None = None) -> list[Item]:
        """The tools as they fit the client."""
        lists = self._tool_lists()
        self._name_client(client or {})
        if not self._by_client:
            return lists[""]
        profile = find_profile(client or {})
        loaded = {one["name"] for one in lists["core"]} if profile.loads else ()
        return [mark(one, profile, loaded=one["name"] in loaded) for one in lists[profile.tools or ""]]

    def _tool_lists(self) -> ToolLists:
        """The tools of the kit or, until it is open, those that were stored."""
        if self._kit is None and self._listed is None and self._tool_list is not None:
            self._listed = self._tool_list.load()
        if self._kit is None and self._listed is not None:
            return self._listed
        try:
            with self._using() as kit:
                self._listed = list_tools(kit)
        except WorkspaceRefusedError:
            self._listed = self._tools_without_workspace()
        return self._listed

    def _tools_without_workspace(self) -> ToolLists:
        """The tools of a kit in an empty folder: the client may name its workspace later."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="toolroll-") as folder, self._open_kit(folder, self._approve) as kit:
            return list_tools(kit)

    def call(self, name: str, arguments: Item, peer: Peer) -> Item:
        profile = find_profile(peer.client)
        try:
            kit = self._take(peer.token)
        except WorkspaceRefusedError as error:
            return {"content": [{"type": "text", "text": error.message}], "isError": True}
        try:
            if not kit.has(name):
                raise UnknownItemError(f"There is no tool {name!r}. There are: {', '.join(kit.names())}.")
            self._peer.set(peer)
            self._calling.append(peer)
            client = self._name_client(peer.client)
            _add_turns(kit, peer.meta.get(TURNS))
            tools = profile.tools or "" if self._by_client else ""
            how: dict[str, Any] = {"tools": tools, "client": client, "most_chars": profile.max_chars}
            if (entry := kit.entry(name)) is not None:
                arguments = drop_client_parameters(arguments, entry.schema)
            result = kit.call(name, arguments, token=peer.token, progress=peer.progress, **how)
        finally:
            self._peer.set(None)
            if peer in self._calling:
                self._calling.remove(peer)
            self._give_back(peer.token)
        if name == "read" and self._reads is not None and kit.dialect.entries is None and not profile.shared:
            self._reads.replace_text(arguments, result)
        own = kit.dialect.profile.mcp
        answer = own(result) if own else self._to_mcp_result(result, structured=self._structured)
        if "spill" in result.meta:
            self._fit_cut_output(name, result, answer, profile)
        if self._control is not None:
            sent = "\n".join(one["text"] for one in answer["content"] if one["type"] == "text")
            self._control.calls.amend(result.meta.get("live_call", 0), sent)
        return answer

    def _name_client(self, client: Item) -> str:
        """The name that a client gives itself; the only client is also that of the process."""
        name = str(client.get("name", ""))
        if self._one_client:
            self._client_name = name
            if self._control is not None:
                self._control.hands.client = name
        return name

    def _fit_cut_output(self, name: str, result: Result, answer: Item, profile: ClientProfile) -> None:
        from toolroll.mcp import resources
        from toolroll.text.truncate import bound_lines

        handle = result.meta["spill"]
        self._handles.append((handle, name))
        if profile.max_lines:
            for one in answer["content"]:
                if one["type"] == "text":
                    one["text"] = bound_lines(one["text"], profile.max_lines)
        if profile.links:
            answer["content"].append(resources.make_link(handle, name))
        self._notify("resources")

    def resources(self) -> list[Item]:
        from toolroll.mcp import resources

        with self._using() as kit:
            return resources.list_resources(kit, tuple(self._handles))

    def templates(self) -> list[Item]:
        from toolroll.mcp import resources

        return list(resources.TEMPLATES)

    def read(self, uri: str) -> list[Item]:
        from toolroll.mcp import resources

        with self._using() as kit:
            return resources.read(kit, uri)

    def prompts(self) -> list[Item]:
        from toolroll.mcp import prompts

        return [one.to_list_item() for one in prompts.PROMPTS]

    def prompt(self, name: str, arguments: dict[str, str]) -> Item:
        from toolroll.mcp import prompts

        return prompts.find_prompt(name).fill(arguments)

    def complete(self, ref: Item, argument: Item) -> list[str]:
        """Paths for a prompt, names for a resource, by prefix. Raises UnknownItemError for any other reference."""
        from toolroll.mcp import prompts, resources

        typed, name = str(argument.get("value", "")), argument.get("name")
        if ref.get("type") == "ref/prompt":
            known = {one.name: one for one in prompts.find_prompt(str(ref.get("name"))).arguments}
            return self._complete_path(typed) if name in known and known[name].path else []
        if ref.get("type") == "ref/resource":
            with self._using() as kit:
                found = resources.list_names(kit, tuple(self._handles), str(ref.get("uri")))
            return [one for one in found if one.startswith(typed)]
        raise UnknownItemError(f"There is nothing to complete in {ref.get('type')!r}.")

    def _complete_path(self, typed: str) -> list[str]:
        folder, slash, start = typed.rpartition("/")
        with self._using() as kit:
            context = kit.context()
            try:
                _, items = context.tree.folder(folder or ".", 1, context.token)
            except ToolError:  # most prefixes of a path are not a folder
                return []
        names = (item.name + ("/" if item.kind == "directory" else "") for item in items)
        return sorted(f"{folder}{slash}{name}" for name in names if name.startswith(start))

    def watch(self, changed: Callable[[ListKind], None]) -> Callable[[], None]:
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            kit, self._kit = self._kit, None
        if self._control is not None:
            self._control.close()
        self._root_known.set()
        for token in tuple(self._in_use):
            token.cancel()
        if kit is not None:
            self._retire(kit, _WAIT_S)

    @contextmanager
    def _using(self) -> Iterator[Kit]:
        """The kit, which is not closed while it is in use."""
        token = CancelToken()
        kit = self._take(token)
        try:
            yield kit
        finally:
            self._give_back(token)

    def _take(self, token: CancelToken) -> Kit:
        if self._kit is None:
            self._root_known.wait(_WAIT_S)
        with self._lock:
            kit = self._in_use[token] = self._kit or self._open()
        return kit

    def _give_back(self, token: CancelToken) -> None:
        kit = self._in_use.pop(token)
        if kit is not self._kit:  # else no thread waits for its calls to end
            with self._free:
                self._free.notify_all()

    def _open(self) -> Kit:
        from toolroll.formats import mcp_result
        from toolroll.host.approval.request import ParallelApprover

        if self._closed:
            raise ToolError(ErrorCode.CANCELLED, "The server has ended.")
        # Without a control server a lasting answer does not settle what waits: then one thing is asked at a time.
        approve: Approver = self._approve if self._open_control is None else ParallelApprover(self._approve)
        try:
            kit = self._open_kit(self._folder, approve)
        except WorkspaceError as error:
            raise WorkspaceRefusedError(ErrorCode.SECURITY, str(error)) from error
        except OSError as error:
            raise WorkspaceRefusedError(ErrorCode.IO, f"The workspace cannot be opened: {error}.") from error
        except ValueError as error:
            raise ToolError(ErrorCode.IO, str(error)) from error  # a sentence about the settings
        self._to_mcp_result = mcp_result  # imported once: even the lookup of a loaded module is slower
        self._folder = kit.workspace
        kit.watch(lambda: self._notify("tools"))
        self._kit = kit
        if self._open_control is not None:
            self._control = self._control or self._open_control()
            self._control.hands.client = self._client_name
            self._control.follow(kit)
        self._compare_tools(kit)
        return kit

    def _compare_tools(self, kit: Kit) -> None:
        """Notify the watchers when the tools differ from the list given before the kit was open."""
        if self._listed is not None and self._tool_list is not None and self._tool_list.fits(kit):
            return
        tools = list_tools(kit)
        if self._listed is not None and self._listed != tools:
            self._notify("tools")
        if self._tool_list is not None and self._listed != tools:
            self._tool_list.save(tools)
        self._listed = tools

    def _retire(self, kit: Kit, seconds: float | None = None) -> None:
        with self._free:
            self._free.wait_for(lambda: kit not in tuple(self._in_use.values()), seconds)
        kit.close()

    def _approve(self, request: ApprovalRequest) -> Answer:
        from toolroll.mcp import approval

        peer = self._peer.get()
        if peer is None and (self._one_client or len(self._calling) == 1):  # what a command does, while its call waits
            peer = next(reversed(self._calling), None)
        if peer is None or self._control is None:
            return approval.ask(request, peer)
        return self._wait_for_approval(request, peer, self._control.approvals)

    def _wait_for_approval(self, request: ApprovalRequest, peer: Peer, approvals: WaitingApprovals) -> Answer:
        """Wait for the first answer: of the client's user, or from elsewhere."""
        import shlex

        from toolroll.control.preview import preview_request
        from toolroll.mcp import approval

        kit, on_waiting = self._in_use[peer.token], self._on_waiting

        def notice(id: str) -> None:
            command = f"toolroll approve -C {shlex.quote(kit.workspace)} {id} once"
            peer.progress(0, None, f"Waiting for approval: {command}")
            if on_waiting is not None:
                on_waiting(command)

        return approvals.ask(
            request,
            peer.token,
            asker=lambda withdrawn: approval.ask(request, peer, withdrawn),
            preview=lambda one: preview_request(one, kit),
            notice=notice if on_waiting is not None else None,
        )

    def _notify(self, kind: ListKind) -> None:
        for changed in tuple(self._watchers):
            changed(kind)


def _add_turns(kit: Kit, turns: object) -> None:
    """Give the kit what a client says of the conversation; what has another shape is passed over."""
    for one in turns if isinstance(turns, list) else ():
        match one:
            case {"role": "user" | "assistant" as role, "content": str(text)}:
                kit.add_turn(role, text)


def list_tools(kit: Kit) -> ToolLists:
    """Every list of a kit's tools that a client may get."""
    lists: ToolLists = {"": kit.definitions("mcp"), **{one: kit.definitions("mcp", tools=one) for one in _CHOICES}}
    asked = () if isinstance(kit.settings.tools, str) else kit.settings.tools or ()
    left_out = {_FOR_AGENTS}.difference(asked)
    return {choice: [one for one in tools if one["name"] not in left_out] for choice, tools in lists.items()}
