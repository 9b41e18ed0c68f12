"""The session of one client: handshake, requests, notifications. Transports bring its messages."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from toolroll.host.rpc.codecs import encode_json
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp import versions, wire
from toolroll.mcp.backend import Backend, Item, ListKind, UnknownItemError
from toolroll.mcp.methods import BACKEND_METHODS, RpcRequest
from toolroll.mcp.peer import LEVELS, ClientPeer, MissingCapabilityError, Send, Then
from toolroll.mcp.suspended import StatelessCall, SuspendedCalls
from toolroll.mcp.wire import Id, RpcError, RpcMessage
from toolroll.result import ToolError

Log = Callable[[str, str], None]
Work = Callable[[Callable[[], None], bool], bool]
OnRoots = Callable[[list[str] | None], None]
OnClient = Callable[[Item], None]
_OF_HANDSHAKE = ("initialize", "ping", "logging/setLevel")  # a stateless client has none of them
# Answered at once, by whatever thread handles the message; for the rest the backend may take long.
_AT_ONCE = frozenset(("initialize", "server/discover", "ping", "logging/setLevel", "subscriptions/listen"))


class Session:
    """Answers the messages of one client. Several threads may handle messages at once."""

    def __init__(
        self,
        backend: Backend,
        send: Send,
        work: Work,
        log: Log,
        on_roots: OnRoots | None = None,
        on_client: OnClient | None = None,
        *,
        aside: Callable[[Callable[[], None]], object] = lambda job: job(),
        suspended: SuspendedCalls | None = None,
    ) -> None:
        """`work` runs a call, with a flag for those that take long; `aside` runs lists and other short requests.

        `on_roots` gets the client's roots, `on_client` the parameters of `initialize`, or the capabilities of a
        stateless client. `suspended` are calls of other sessions, which this one may answer and does not end.
        """
        self.backend = backend
        self._send = send
        self._work = work
        self._log = log
        self._on_roots = on_roots
        self._on_client = on_client
        self._version = ""
        self._is_dated = False  # the version has no resource links
        self._capabilities: Item = {}
        self._client: Item = {}
        self._roots_asked = False
        self._aside = aside
        self._owns_suspended = suspended is None
        self._suspended = SuspendedCalls() if suspended is None else suspended
        self._level: int | None = None
        self._running: dict[Id, RpcRequest] = {}
        self._answering: dict[int, str] = {}  # methods whose answer is being sent
        self._questions: dict[str, tuple[Then, RpcRequest | None]] = {}
        self._withdrawn: set[str] = set()  # questions that were answered elsewhere
        self._question_ids = itertools.count(1)
        self._listeners: dict[Id, tuple[frozenset[str], Send]] = {}
        self._lock = threading.Lock()
        self._tool_list: msgspec.Raw | None = None
        self._slow_tools: frozenset[str] = frozenset()
        self._unwatch = backend.watch(self._on_list_changed)

    def handle(self, line: bytes) -> None:
        """Answer one line of input."""
        try:
            if not line:
                raise RpcError(wire.INVALID_REQUEST, "This message is too long and was passed over.")
            self.take(wire.parse(line), self._send)
        except RpcError as fault:
            self._log("warning", fault.message)
            self._send(wire.make_error(fault.id, fault))

    def take(self, message: RpcMessage | list[Any], send: Send) -> None:
        """Answer one message by `send`; a request that was cancelled is answered with None.

        Raises RpcError for a batch that this version does not have; its answers are sent as other messages are.
        """
        if isinstance(message, list):
            self._on_batch(message)
        else:
            self._dispatch(message, send)

    def pending(self) -> set[str]:
        """The methods of the requests that are not answered yet."""
        running = tuple(self._running.values())
        waiting = {request.method for request in running if request.id not in self._listeners}
        return waiting.union(tuple(self._answering.values()))

    def close(self) -> None:
        """Cancel everything that still runs for the client."""
        unwatch, self._unwatch = self._unwatch, lambda: None
        unwatch()
        with self._lock:
            waiting, self._questions = [then for then, _ in self._questions.values()], {}
        for request in tuple(self._running.values()):
            request.token.cancel()
        for then in waiting:
            then(None)
        if self._owns_suspended:
            self._suspended.close()

    def tell(self, level: str, text: str) -> None:
        """Send a log message, if the client has asked for this level."""
        if self._level is not None and LEVELS.index(level) >= self._level:
            params = {"level": level, "logger": "toolroll", "data": text}
            self._send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})

    @property
    def version(self) -> str:
        """The version of the handshake; empty before it."""
        return self._version

    @property
    def listed(self) -> bool:
        """True when the client has the current list of tools."""
        return self._tool_list is not None

    def _dispatch(self, message: RpcMessage, send: Send) -> None:
        if message.method is msgspec.UNSET:
            self._on_response(message)
        elif message.id is msgspec.UNSET:
            self._on_notification(message.method, message.params or {})
        else:
            self._on_request(message.id, message.method, message.params or {}, send)

    def _on_batch(self, items: list[Any]) -> None:
        if self._version != versions.BATCHES:
            raise RpcError(
                wire.INVALID_REQUEST, "Batches are not part of this protocol: send one message on each line."
            )
        answers: list[Any] = []
        messages, faults = wire.parse_each(items)
        waited = len(faults) + sum(one.is_request for one in messages)

        def gather(value: Any) -> None:
            if value is not None and "method" in value:  # a notification, not an answer
                self._send(value)
                return
            with self._lock:
                answers.append(value)
                last = len(answers) == waited
            if last and (there := [one for one in answers if one is not None]):
                self._send(there)

        for fault in faults:
            gather(wire.make_error(fault.id, fault))
        for message in messages:
            self._dispatch(message, gather)

    def _on_response(self, message: RpcMessage) -> None:
        with self._lock:
            asked = self._questions.pop(str(message.id), None)
        if asked is None:
            late = f"The answer {message.id!r} came late: the question was answered elsewhere."
            never = f"Nothing was asked that {message.id!r} could answer."
            self._log("warning", late if str(message.id) in self._withdrawn else never)
        else:
            asked[0](message)

    def _on_notification(self, method: str, params: Item) -> None:
        if method == "notifications/cancelled":
            id = params.get("requestId")
            if isinstance(id, Id):
                self.cancel(id)
        elif method in ("notifications/initialized", "notifications/roots/list_changed"):
            self._ask_roots()

    def cancel(self, id: Id) -> None:
        """Cancel a request that runs."""
        request = self._running.get(id)
        with self._lock:
            if self._listeners.pop(id, None) is not None:
                self._running.pop(id)
        if request is not None:
            request.token.cancel()

    def _on_request(self, id: Id, method: str, params: Item, send: Send) -> None:
        request = RpcRequest(id, method, params, send, CancelToken(), running=self._running)
        if self._running.setdefault(id, request) is not request:
            send(wire.make_error(id, RpcError(wire.INVALID_REQUEST, f"A request with the id {id!r} is under way.")))
        elif method in _AT_ONCE:
            self._answer(request)
        elif method != "tools/call":
            self._aside(partial(self._answer, request))
        elif not self._work(partial(self._answer, request), self._is_slow_tool(params.get("name"))):
            self._finish(request, wire.make_error(id, RpcError(wire.BUSY, "Too many calls wait. Send fewer at once.")))

    def _is_slow_tool(self, name: Any) -> bool:
        return isinstance(name, str) and name in self._slow_tools

    def _answer(self, request: RpcRequest) -> None:
        try:
            if "_meta" in request.params:
                self._read_envelope(request)
            if self._needs_roots(request.method):
                self._ask_roots()
            method = _METHODS.get(request.method)
            if method is None or (request.meta is not None and request.method in _OF_HANDSHAKE):
                raise RpcError(wire.UNKNOWN_METHOD, f"There is no method {request.method!r}.")
            result = method(self, request)
        except RpcError as fault:
            self._finish(request, wire.make_error(request.id, fault))
        except MissingCapabilityError as error:
            needed: Item = {"requiredCapabilities": {error.capability: {}}}
            self._finish(request, wire.make_error(request.id, RpcError(wire.NO_CAPABILITY, error.message, needed)))
        except ToolError as error:
            self._log("error", f"{request.method}: {error.message}")
            self._finish(request, wire.make_error(request.id, RpcError(wire.INTERNAL, error.message)))
        except Exception as error:  # a fault of the server, which goes on
            self._log("error", f"{request.method} failed: {wire.describe(error)}")
            internal = RpcError(wire.INTERNAL, f"Internal error: {type(error).__name__}.")
            self._finish(request, wire.make_error(request.id, internal))
        else:
            if result is not None:  # else the answer comes later
                adapted = self._adapt(request, result) if request.meta or self._is_dated else result
                self._finish(request, wire.make_result(request.id, adapted))

    def _needs_roots(self, method: str) -> bool:
        """Whether the client is to be asked for its roots now: it should have said that it is ready, and has not."""
        late = method == "tools/call" if self._version else method != "initialize"
        return late and not self._roots_asked

    def _read_envelope(self, request: RpcRequest) -> None:
        request.meta = versions.read_envelope(request.params)
        if request.meta is not None:
            self._announce_client({"capabilities": request.meta[versions.CLIENT_CAN]})

    def _announce_client(self, params: Item) -> None:
        """Report the client once."""
        on_client, self._on_client = self._on_client, None
        if on_client is not None:
            on_client(params)

    def _finish(self, request: RpcRequest, answer: Item) -> None:
        if request.call is not None and request.call.keep(answer):
            return
        # The client may use the id again as soon as it has the answer; `pending` counts the request until it is sent.
        self._answering[id(request)] = request.method
        request.running.pop(request.id, None)
        if request.send is not self._send and not request.token.cancelled:  # nothing can be said after the answer
            for asked in [key for key, (_, whose) in tuple(self._questions.items()) if whose is request]:
                self._take_back(asked)
        try:
            if not request.token.cancelled:
                request.send(answer)
            elif request.send is not self._send:
                request.send(None)  # the rest of its batch must not wait for it
        finally:
            self._answering.pop(id(request))

    def _adapt(self, request: RpcRequest, result: Item | msgspec.Raw) -> Item | msgspec.Raw:
        if request.meta is not None:
            plain: Item = msgspec.json.decode(result) if isinstance(result, msgspec.Raw) else result
            return versions.complete_result(request.method, plain, self.backend)
        if isinstance(result, msgspec.Raw):
            return result
        return versions.without_links(result) if request.method == "tools/call" else result

    def _ask_roots(self) -> None:
        """Ask the client for its roots and pass them on."""
        self._roots_asked = True
        if self._on_roots is None:
            return
        on_roots = self._on_roots
        if not isinstance(self._capabilities.get("roots"), dict):
            on_roots(None)
            return

        def then(message: RpcMessage | None) -> None:
            roots = message.result.get("roots") if message and isinstance(message.result, dict) else None
            uris = [one["uri"] for one in roots or () if isinstance(one, dict) and isinstance(one.get("uri"), str)]
            on_roots(uris or None)

        self._ask("roots/list", {}, then, None)

    def _ask(self, method: str, params: Item, then: Then, request: RpcRequest | None) -> Callable[[], None]:
        id = f"toolroll-{next(self._question_ids)}"
        with self._lock:
            self._questions[id] = then, request
        send = self._send if request is None else request.send
        send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return partial(self._take_back, id)

    def _take_back(self, id: str) -> None:
        with self._lock:
            asked = self._questions.pop(id, None)
            self._withdrawn.add(id)
        if asked is not None:
            why = {"requestId": id, "reason": "It was answered elsewhere."}
            send = self._send if asked[1] is None else asked[1].send
            send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": why})

    def _on_list_changed(self, kind: ListKind) -> None:
        if kind == "tools":
            self._tool_list = None
        method = f"notifications/{kind}/list_changed"
        if self._version:
            self._send({"jsonrpc": "2.0", "method": method})
        with self._lock:
            listening = [(id, send) for id, (kinds, send) in self._listeners.items() if kind in kinds]
        for id, send in listening:
            send({"jsonrpc": "2.0", "method": method, "params": {"_meta": {versions.SUBSCRIPTION: id}}})

    # One method for each method of the protocol.

    def initialize(self, request: RpcRequest) -> Item:
        if self._version:
            raise RpcError(wire.INVALID_REQUEST, "The session has begun already.")
        version = versions.negotiate(request.params)
        self._capabilities = request.table("capabilities")
        self._client = request.table("clientInfo")
        self._version = version
        self._is_dated = version < versions.LINKS
        self._announce_client(request.params)
        return versions.initialize_result(self.backend, version)

    def discover(self, request: RpcRequest) -> Item:
        if request.meta is None:
            raise RpcError(wire.INVALID_PARAMS, f"`_meta` has no {versions.VERSION!r}.")
        return versions.discover_result(self.backend)

    def set_level(self, request: RpcRequest) -> Item:
        level = request.text("level")
        if level not in LEVELS:
            raise RpcError(wire.INVALID_PARAMS, f"There is no level {level!r}. There are: {', '.join(LEVELS)}.")
        self._level = LEVELS.index(level)
        return {}

    def listen(self, request: RpcRequest) -> None:
        if request.meta is None:
            raise RpcError(wire.UNKNOWN_METHOD, f"There is no method {request.method!r} in this version.")
        wanted = request.table("notifications")
        kinds = [kind for kind in ("tools", "resources", "prompts") if wanted.get(f"{kind}ListChanged") is True]
        with self._lock:
            self._listeners[request.id] = frozenset(kinds), request.send
        listened = {f"{kind}ListChanged": True for kind in kinds}
        params = {"notifications": listened, "_meta": {versions.SUBSCRIPTION: request.id}}
        request.send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params})

    def tools(self, request: RpcRequest) -> msgspec.Raw:
        if (client := self._client_of(request)) != self._client:
            self._client, self._tool_list = client, None
        listed = self._tool_list
        if listed is None:
            tools = self.backend.tools(self._client)
            self._slow_tools = frozenset(one["name"] for one in tools if _is_slow(one.get("annotations", {})))
            listed = self._tool_list = msgspec.Raw(encode_json({"tools": tools}))
        return listed

    def _client_of(self, request: RpcRequest) -> Item:
        """The client's name: with every request if it is stateless, else from the handshake."""
        client = request.meta.get(versions.CLIENT) if request.meta is not None else self._client
        return client if isinstance(client, dict) else {}

    def call(self, request: RpcRequest) -> Item | None:
        name, arguments = request.text("name"), request.table("arguments")
        if request.meta is None:
            peer = ClientPeer(request, self._capabilities, self._ask, self._client)
        elif "requestState" in request.params:
            self._suspended.resume(request)
            return None
        else:
            call, can = StatelessCall(request, self._suspended), request.meta[versions.CLIENT_CAN]
            peer = ClientPeer(request, can, call, self._client_of(request))
        request.token.check()  # the client may have left while the call waited for a thread
        try:
            return self.backend.call(name, arguments, peer)
        except UnknownItemError as error:
            raise RpcError(wire.INVALID_PARAMS, str(error)) from None


def _from_backend(answer: Callable[[Backend, RpcRequest], Item]) -> _Method:
    return lambda session, request: answer(session.backend, request)


_Method = Callable[[Session, RpcRequest], Item | msgspec.Raw | None]
_METHODS: dict[str, _Method] = {
    "initialize": Session.initialize,
    "server/discover": Session.discover,
    "ping": lambda _session, _request: {},
    "logging/setLevel": Session.set_level,
    "subscriptions/listen": Session.listen,
    "tools/list": Session.tools,
    "tools/call": Session.call,
    **{name: _from_backend(answer) for name, answer in BACKEND_METHODS.items()},
}


def _is_slow(annotations: Item) -> bool:
    """True for tools that run programs or use the network; most calls of the others are short."""
    return bool(annotations.get("destructiveHint") or annotations.get("openWorldHint"))
