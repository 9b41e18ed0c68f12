"""The short way of a call: begun before the SDK hears of it, and answered at once if it ends soon without a word.

The SDK opens streams and tasks for each request, which cost more than most calls do, and so does the library that reads
HTTP. Only a call that takes longer, fails, or has something to ask or to tell needs them: its request is handed over
then, and finds its call under way.

Whatever is checked in the head of a request was checked in one with the very same head, byte for byte, and since then
nothing but short calls was asked in its session. Before anything else is, the calls in that session are handed over, so
that they can be cancelled or end with the session.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec
from mcp_types.methods import serialize_server_result
from pydantic import ValidationError

from toolroll.mcp import versions
from toolroll.mcp.backend import Item
from toolroll.mcp.http.caller import Caller, Client
from toolroll.mcp.http.calls import UNDER_WAY, Call, Calls
from toolroll.mcp.http.gate import App, Message, Receive, Scope, Send
from toolroll.mcp.wire import encode, result_of

HEAD = "toolroll.head"
"""Where a scope keeps the head of its request as it came, but for the length."""
SHORT = "toolroll.short"
"""Where a scope keeps the call that was handed over with it."""
MOST_SESSIONS = 256
"""More than there are, so that those in use are known."""

_SESSION = b"mcp-session-id"
_LENGTH = b"\r\ncontent-length:"
_UNUSUAL = {b"transfer-encoding", b"expect", b"upgrade", b"trailer", b"te"}


class _Meta(msgspec.Struct):
    token: int | str | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="progressToken")


class _Params(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: Item = msgspec.field(default_factory=dict)
    meta: _Meta = msgspec.field(default_factory=_Meta, name="_meta")


class _Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A call that has nothing unusual about it."""

    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal["tools/call"]
    params: _Params


_decode = msgspec.json.Decoder(_Asked).decode


class Split(msgspec.Struct):
    """A request as it came."""

    head: bytes
    """Without the length."""
    length: int
    body: bytes


@dataclass(slots=True, eq=False)
class Session:
    """What is known of a session since the SDK has last answered a call in it."""

    name: bytes
    begun: set[Call]
    """Its calls of which the SDK does not know."""
    head: bytes = b""
    client: Client | None = None
    until: float = 0.0


@dataclass(slots=True, eq=False)
class Short:
    """A call on the short way."""

    id: int | str
    call: Call
    session: Session

    def answer(self) -> bytes | None:
        """The answer, if the call has a result."""
        work, version = self.call.work, self.call.caller.client.version
        if not work.done() or work.cancelled() or work.exception() is not None:
            return None
        result = work.result()
        if version < versions.LINKS:
            try:
                result = serialize_server_result("tools/call", version, result)
            except ValidationError:
                return None
        return encode(result_of(self.id, result))

    def end(self) -> None:
        """Nobody waits for it here any more; if it is not at its end, it ends now."""
        self.session.begun.discard(self.call)
        self.call.caller.attached.cancel()  # those who wait for that need not
        if not self.call.work.done():
            self.call.caller.cancel()


class ShortWay:
    """An ASGI application around another one, which learns what calls need not go through the two of them."""

    def __init__(self, app: App, calls: Calls, *, seconds: float) -> None:
        """After so many seconds the other one hears of a session again, which must last for much longer by itself."""
        self._app = app
        self._calls = calls
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()
        self._heads: dict[bytes, Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request that has passed the gate."""
        name = next((value for key, value in scope["headers"] if key == _SESSION), None)
        if SHORT in scope:
            await self._handed_over(scope[SHORT], scope, receive, send)
        elif name is None:
            await self._app(scope, receive, send)
        else:
            await self._in_session(name, scope, receive, send)

    async def _handed_over(self, short: Short, scope: Scope, receive: Receive, send: Send) -> None:
        scope[UNDER_WAY] = short.call
        try:
            await self._app(scope, receive, send)
        finally:
            short.end()

    async def _in_session(self, name: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._renewed(name)
        for call in tuple(session.begun):
            call.caller.want()
        if session.begun:
            await asyncio.wait([call.caller.attached for call in session.begun])

        async def learn_and_send(message: Message) -> None:
            self._learn(session, scope)  # before the client has its answer, or its next call would come too early
            await send(message)

        try:
            await self._app(scope, receive, learn_and_send)
        finally:
            if session.client is None and not session.begun and self._sessions.get(name) is session:
                del self._sessions[name]

    def _learn(self, session: Session, scope: Scope) -> None:
        found: Call | None = scope.get(UNDER_WAY)
        latest = self._sessions.get(session.name) is session
        if found is not None and session.client is None and latest and HEAD in scope and _is_plain(scope):
            session.head, session.client = scope[HEAD], found.caller.client
            session.until = self._loop.time() + self._seconds
            self._heads[session.head] = session

    def known(self, request: Split) -> Session | None:
        """The session in which such a request may take the short way."""
        session = self._heads.get(request.head)
        return session if session is not None and self._loop.time() < session.until else None

    def begin(self, session: Session, body: bytes, want: Callable[[], None]) -> Short | None:
        """Begin a call, if that is what the body asks for; `want` tells when to look for the answer."""
        try:
            message = _decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        assert session.client is not None
        params = message.params
        caller = Caller(session.client, {}, progress=params.meta.token is not msgspec.UNSET, want=want)
        call = self._calls.begin(params.name, params.arguments, caller)
        session.begun.add(call)
        return Short(message.id, call, session)

    def _renewed(self, name: bytes) -> Session:
        """The session, of which nothing is known any more but its calls."""
        before = self._sessions.pop(name, None)
        if before is not None:
            self._heads.pop(before.head, None)
        session = self._sessions[name] = Session(name, before.begun if before else set())
        while len(self._sessions) > MOST_SESSIONS:
            self._heads.pop(self._sessions.popitem(last=False)[1].head, None)
        return session


def split(data: bytes) -> Split | None:
    """The request with which this begins, if its whole head is here and tells a length."""
    end = data.find(b"\r\n\r\n")
    start = data[:end].lower().find(_LENGTH) if end > 0 else -1
    if start < 0:
        return None
    stop = data.find(b"\r\n", start + 2)
    length = data[start + len(_LENGTH) : stop].strip(b" \t")
    if not length.isdigit() or len(length) > 9:
        return None
    return Split(data[:start] + data[stop:end], int(length), data[end + 4 :])


def _is_plain(scope: Scope) -> bool:
    """Whether there is nothing in the head that bears on how the connection goes on, or on where the body ends."""
    head: bytes = scope[HEAD]
    if _LENGTH in head.lower() or head.count(b"\n") != head.count(b"\r\n"):
        return False
    names = [key for key, _ in scope["headers"]]
    kept = all(value.lower() == b"keep-alive" for key, value in scope["headers"] if key == b"connection")
    usual = (scope["method"], scope["http_version"]) == ("POST", "1.1")
    return usual and kept and _UNUSUAL.isdisjoint(names)
