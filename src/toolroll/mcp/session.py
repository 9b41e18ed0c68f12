"""One client on one pair of pipes: its handshake, its requests, and what it is told in between."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from toolroll.host.runtime.cancellation import Token
from toolroll.mcp import versions
from toolroll.mcp.backend import Item, Kind, Offer, Unknown
from toolroll.mcp.methods import OFFERED, Request
from toolroll.mcp.peer import Client, InputRequiredError, Send, Then
from toolroll.mcp.wire import (
    BUSY,
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNKNOWN_METHOD,
    Id,
    Line,
    Message,
    RpcError,
    encode,
    parse,
    parse_each,
    refusal,
    result_of,
    told,
)
from toolroll.result import ToolError

Log = Callable[[str, str], None]
Work = Callable[[Callable[[], None], bool], bool]
Placing = Callable[[list[str] | None], None]
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Session:
    """Answers messages. Several threads may handle messages of one session at once."""

    def __init__(self, offer: Offer, send: Send, work: Work, log: Log, placing: Placing | None = None) -> None:
        """`work` does a job, the flag says whether it will be long; `placing` is told the client's roots."""
        self.offer = offer
        self._send = send
        self._work = work
        self._log = log
        self._placing = placing
        self._version = ""
        self._dated = False  # a version that does not know all we answer
        self._capabilities: Item = {}
        self._level: int | None = None
        self._running: dict[Id, Request] = {}
        self._asked: dict[str, Then] = {}
        self._numbers = itertools.count(1)
        self._listeners: dict[Id, frozenset[str]] = {}
        self._lock = threading.Lock()
        self._listed: msgspec.Raw | None = None
        self._long: frozenset[str] = frozenset()
        self._unwatch = offer.watch(self._changed)

    def handle(self, line: Line) -> None:
        """Answer one line of input, whatever it holds."""
        try:
            if not line:
                raise RpcError(INVALID_REQUEST, "This message is too long and was passed over.")
            found = parse(line)
            if isinstance(found, list):
                self._batch(found)
            else:
                self._take(found, self._send)
        except RpcError as fault:
            self._log("warning", fault.message)
            self._send(refusal(fault.id, fault))

    def pending(self) -> set[str]:
        """The methods of the requests that wait for their answer."""
        running = tuple(self._running.values())
        return {request.method for request in running if request.id not in self._listeners}

    def close(self) -> None:
        """End all that still runs for the client."""
        self._unwatch()
        with self._lock:
            waiting, self._asked = list(self._asked.values()), {}
        for request in tuple(self._running.values()):
            request.token.cancel()
        for then in waiting:
            then(None)

    def tell(self, level: str, text: str) -> None:
        """Send a message of the log, if the client has asked for such."""
        if self._level is not None and LEVELS.index(level) >= self._level:
            params = {"level": level, "logger": "toolroll", "data": text}
            self._send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})

    @property
    def listed(self) -> bool:
        """Whether the client has got the list of tools as it is now."""
        return self._listed is not None

    def _take(self, message: Message, send: Send) -> None:
        if message.method is msgspec.UNSET:
            self._answered(message)
        elif message.id is msgspec.UNSET:
            self._notified(message.method, message.params or {})
        else:
            self._asked_for(message.id, message.method, message.params or {}, send)

    def _batch(self, items: list[Any]) -> None:
        if self._version != versions.BATCHES:
            raise RpcError(INVALID_REQUEST, "Batches are not part of this protocol: send one message on each line.")
        answers: list[Any] = []
        messages, faults = parse_each(items)
        waited = len(faults) + sum(one.is_request for one in messages)

        def gather(value: Any) -> None:
            if value is not None and "method" in value:  # it is told in between, and is no answer
                self._send(value)
                return
            with self._lock:
                answers.append(value)
                last = len(answers) == waited
            if last and (there := [one for one in answers if one is not None]):
                self._send(there)

        for fault in faults:
            gather(refusal(fault.id, fault))
        for message in messages:
            self._take(message, gather)

    def _answered(self, message: Message) -> None:
        with self._lock:
            then = self._asked.pop(str(message.id), None)
        if then is None:
            self._log("warning", f"Nothing was asked that {message.id!r} could answer.")
        else:
            then(message)

    def _notified(self, method: str, params: Item) -> None:
        if method == "notifications/cancelled":
            id = params.get("requestId")
            if isinstance(id, Id):
                self._cancelled(id)
        elif method in ("notifications/initialized", "notifications/roots/list_changed"):
            self._place()

    def _cancelled(self, id: Id) -> None:
        request = self._running.get(id)
        with self._lock:
            if self._listeners.pop(id, None) is not None:
                self._running.pop(id)
        if request is not None:
            request.token.cancel()

    def _asked_for(self, id: Id, method: str, params: Item, send: Send) -> None:
        request = Request(id, method, params, send, Token())
        if self._running.setdefault(id, request) is not request:
            send(refusal(id, RpcError(INVALID_REQUEST, f"A request with the id {id!r} is under way.")))
        elif method != "tools/call":
            self._answer(request)
        elif not self._work(partial(self._answer, request), self._is_long(params.get("name"))):
            self._finish(request, refusal(id, RpcError(BUSY, "Too many calls wait. Send fewer at once.")))

    def _is_long(self, name: Any) -> bool:
        return isinstance(name, str) and name in self._long

    def _answer(self, request: Request) -> None:
        try:
            if "_meta" in request.params:
                request.meta = versions.envelope(request.params)
            if self._placing is not None and not self._version and request.method != "initialize":
                self._placing(None)  # without a handshake nobody is asked where it works
            if (method := _METHODS.get(request.method)) is None:
                raise RpcError(UNKNOWN_METHOD, f"There is no method {request.method!r}.")
            result = method(self, request)
        except RpcError as fault:
            self._finish(request, refusal(request.id, fault))
        except ToolError as error:
            self._log("error", f"{request.method}: {error.message}")
            self._finish(request, refusal(request.id, RpcError(INTERNAL, error.message)))
        except InputRequiredError as asking:
            self._finish(request, result_of(request.id, asking.result))
        except Exception as error:  # what went wrong here is the server's fault, and it goes on
            self._log("error", f"{request.method} failed: {told(error)}")
            self._finish(request, refusal(request.id, RpcError(INTERNAL, f"Internal error: {type(error).__name__}.")))
        else:
            if result is not None:  # else the answer comes later
                shaped = self._shaped(request, result) if request.meta or self._dated else result
                self._finish(request, result_of(request.id, shaped))

    def _finish(self, request: Request, answer: Item) -> None:
        try:
            if not request.token.cancelled:
                request.send(answer)
            elif request.send is not self._send:
                request.send(None)  # those of its batch do not wait for it
        finally:
            self._running.pop(request.id, None)  # not before: the end of the input waits for what is pending

    def _shaped(self, request: Request, result: Item | msgspec.Raw) -> Item | msgspec.Raw:
        if request.meta is not None:
            plain: Item = msgspec.json.decode(result) if isinstance(result, msgspec.Raw) else result
            return versions.complete(request.method, plain, self.offer)
        if isinstance(result, msgspec.Raw):
            return result
        return versions.without_links(result) if request.method == "tools/call" else result

    def _place(self) -> None:
        """Ask the client where it works, and tell it to those who want to know."""
        if self._placing is None:
            return
        placing = self._placing
        if not isinstance(self._capabilities.get("roots"), dict):
            placing(None)
            return

        def then(message: Message | None) -> None:
            roots = message.result.get("roots") if message and isinstance(message.result, dict) else None
            uris = [one["uri"] for one in roots or () if isinstance(one, dict) and isinstance(one.get("uri"), str)]
            placing(uris or None)

        self._ask("roots/list", {}, then)

    def _ask(self, method: str, params: Item, then: Then) -> None:
        id = f"toolroll-{next(self._numbers)}"
        with self._lock:
            self._asked[id] = then
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def _changed(self, kind: Kind) -> None:
        if kind == "tools":
            self._listed = None
        method = f"notifications/{kind}/list_changed"
        if self._version:
            self._send({"jsonrpc": "2.0", "method": method})
        with self._lock:
            listening = [id for id, kinds in self._listeners.items() if kind in kinds]
        for id in listening:
            self._send({"jsonrpc": "2.0", "method": method, "params": {"_meta": {versions.SUBSCRIPTION: id}}})

    # What each method answers.

    def initialize(self, request: Request) -> Item:
        if self._version:
            raise RpcError(INVALID_REQUEST, "The session has begun already.")
        version = versions.negotiated(request.params)
        self._capabilities = request.table("capabilities")
        self._version = version
        self._dated = version < versions.LINKS
        return versions.initialized(self.offer, version)

    def discover(self, request: Request) -> Item:
        if request.meta is None:
            raise RpcError(INVALID_PARAMS, f"`_meta` has no {versions.VERSION!r}.")
        return versions.discovered(self.offer)

    def set_level(self, request: Request) -> Item:
        level = request.text("level")
        if level not in LEVELS:
            raise RpcError(INVALID_PARAMS, f"There is no level {level!r}. There are: {', '.join(LEVELS)}.")
        self._level = LEVELS.index(level)
        return {}

    def listen(self, request: Request) -> None:
        if request.meta is None:
            raise RpcError(UNKNOWN_METHOD, f"There is no method {request.method!r} in this version.")
        wanted = request.table("notifications")
        kinds = [kind for kind in ("tools", "resources", "prompts") if wanted.get(f"{kind}ListChanged") is True]
        with self._lock:
            self._listeners[request.id] = frozenset(kinds)
        params = {
            "notifications": {f"{kind}ListChanged": True for kind in kinds},
            "_meta": {versions.SUBSCRIPTION: request.id},
        }
        request.send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params})

    def tools(self, _request: Request) -> msgspec.Raw:
        listed = self._listed
        if listed is None:
            tools = self.offer.tools()
            self._long = frozenset(one["name"] for one in tools if _is_long(one.get("annotations", {})))
            listed = self._listed = msgspec.Raw(encode({"tools": tools}))
        return listed

    def call(self, request: Request) -> Item:
        if request.meta is None:
            peer = Client(request, self._capabilities, self._ask)
        else:
            peer = Client(request, request.meta[versions.CLIENT_CAN], None)
        name, arguments = request.params.get("name"), request.params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict):  # is it wrong, or only left out?
            name, arguments = request.text("name"), request.table("arguments")
        try:
            return self.offer.call(name, arguments, peer)
        except Unknown as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None


def _offered(answer: Callable[[Offer, Request], Item]) -> _Method:
    return lambda session, request: answer(session.offer, request)


_Method = Callable[[Session, Request], Item | msgspec.Raw | None]
_METHODS: dict[str, _Method] = {
    "initialize": Session.initialize,
    "server/discover": Session.discover,
    "ping": lambda _session, _request: {},
    "logging/setLevel": Session.set_level,
    "subscriptions/listen": Session.listen,
    "tools/list": Session.tools,
    "tools/call": Session.call,
    **{name: _offered(answer) for name, answer in OFFERED.items()},
}


def _is_long(annotations: Item) -> bool:
    """Tools that run programs or go over the network; of all others, some calls are long and most are not."""
    return bool(annotations.get("destructiveHint") or annotations.get("openWorldHint"))
