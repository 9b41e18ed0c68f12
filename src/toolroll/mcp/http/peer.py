"""The client of one tool call over HTTP, for the worker thread in which the call runs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.connection import allowed_log_levels
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp.backend import Item
from toolroll.result import ErrorCode, ToolError

RequestContext = ServerRequestContext[Any, Any]

_LOG, _PROGRESS = "notifications/message", "notifications/progress"
_MAX_QUEUED_NOTIFICATIONS = 256
_POLL_S = 0.1  # how often a wait for the client looks whether the question was taken back
_RESULTS: dict[str, type[BaseModel]] = {
    "elicitation/create": types.ElicitResult,
    "roots/list": types.ListRootsResult,
    "sampling/createMessage": types.CreateMessageResult,
}


class MissingCapabilityError(ToolError):
    """The client has not declared the capability that a request to it needs."""

    def __init__(self, capability: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED, f"The client of this server does not support {capability}.")
        self.capability = capability


def session_id(context: RequestContext) -> str | None:
    """The id of the client's session, which the SDK has checked; None for a stateless client."""
    if context.request is None or context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return None
    found: str | None = context.request.headers.get("mcp-session-id")
    return found


@dataclass(slots=True)
class ClientQuestion:
    """One request to the client, and the future that gets its result."""

    method: str
    params: Item
    answer: concurrent.futures.Future[Item] = field(default_factory=concurrent.futures.Future)
    sending: asyncio.Task[None] | None = None

    def accept(self, given: Any) -> bool:
        """Take a value as the result; False when it is not a valid result of this method."""
        try:
            result = _RESULTS[self.method].model_validate(_plain(given))
        except ValidationError:
            return False
        if not self.answer.done():
            self.answer.set_result(_plain(result))
        return True


def client_info(context: RequestContext) -> Item:
    """What a client says of itself, in the handshake or with a stateless request."""
    params = context.session.client_params
    return {"name": params.client_info.name} if params else {}


class HttpPeer:
    """A `Peer`. The worker thread calls it; it talks to the client in the event loop of the server.

    A client with a session is asked while it waits. A stateless client gets the questions as the result of its request
    and sends a second request with the answers: `asked` is set when that is due, and `open` holds the questions.
    """

    def __init__(self, context: RequestContext, answers: Mapping[str, Any], meta: Any = None) -> None:
        """`answers` came with the request, by the name of the question, and so did `meta`."""
        self.token = CancelToken()
        self.meta: Item = _plain(meta) or {}
        self.client = client_info(context)
        self.asked = asyncio.Event()
        self.open: dict[str, ClientQuestion] = {}
        self._loop = asyncio.get_running_loop()
        self._context = context
        self._answers = dict(answers)
        self._pending: set[concurrent.futures.Future[Item]] = set()
        self._outbox: list[tuple[str, Item]] = []
        self._sending: asyncio.Task[None] | None = None
        self._questions: list[asyncio.Task[None]] = []  # to a client with a session
        self._done = -1.0

    @property
    def has_session(self) -> bool:
        """True when the client can be asked while it waits."""
        return self._context.protocol_version not in MODERN_PROTOCOL_VERSIONS

    def attach(self, context: RequestContext) -> None:
        """Talk to the client through this later request of the same call."""
        self._context = context
        self._start_sending()

    def can(self, capability: str) -> bool:
        return getattr(self._context.session.client_capabilities, capability, None) is not None

    def request(
        self, method: str, params: Item, name: str | None = None, *, withdrawn: CancelToken | None = None
    ) -> Item:
        """Send a request to the client and wait for the result.

        Only a question with a `name` can be answered ahead of time; any other gets an unguessable name.
        """
        name = name or secrets.token_urlsafe(9)
        return self.ask({name: (method, params)}, withdrawn)[name]

    def ask(self, questions: Mapping[str, tuple[str, Item]], withdrawn: CancelToken | None = None) -> dict[str, Item]:
        """Send several requests at once, each under its name; they are taken back when `withdrawn` is cancelled."""
        for method, _ in questions.values():
            if not self.can(capability := method.partition("/")[0]):
                raise MissingCapabilityError(capability)
        asked = {name: ClientQuestion(method, params) for name, (method, params) in questions.items()}
        self._pending |= {one.answer for one in asked.values()}
        self._loop.call_soon_threadsafe(self._put, asked)
        return {name: self._wait(one, name, withdrawn) for name, one in asked.items()}

    def notify(self, method: str, params: Item) -> None:
        self._loop.call_soon_threadsafe(self._post, method, params)

    def progress(self, done: float, total: float | None, note: str) -> None:
        """Report progress; the protocol allows growing values only."""
        if done > self._done:
            self._done = done
            self.notify(_PROGRESS, {"progress": done, "total": total, "message": note or None})

    def cancel(self) -> None:
        """Cancel the call and every question that waits for an answer."""
        self.token.cancel()
        for answer in tuple(self._pending):
            answer.cancel()

    async def flush(self) -> None:
        """Wait until every queued notification is sent, so that the result cannot overtake one.

        Questions of a call that has ended are taken back: the client cannot be told so after the result.
        """
        if self._sending is not None:
            await self._sending
        for one in self._questions:
            one.cancel()  # the SDK tells the client
        await asyncio.gather(*self._questions, return_exceptions=True)

    def _wait(self, question: ClientQuestion, name: str, withdrawn: CancelToken | None) -> Item:
        self.token.check()
        left = self.token.remaining()
        try:
            while withdrawn is not None and not question.answer.done() and self.token.remaining() > 0:
                concurrent.futures.wait([question.answer], _POLL_S)
                if withdrawn.cancelled:
                    self._loop.call_soon_threadsafe(self._take_back, name, question)
                    withdrawn.check()
            return question.answer.result(None if left == float("inf") else max(self.token.remaining(), 0.0))
        except concurrent.futures.CancelledError:
            raise ToolError(ErrorCode.CANCELLED, "The client went away before it had answered.") from None
        except TimeoutError:
            raise ToolError(ErrorCode.TIMEOUT, "The client did not answer in time. Try again later.") from None
        except MCPError as error:
            raise ToolError(ErrorCode.EXECUTION, f"The client did not answer: {error.message}") from None
        finally:
            self._pending.discard(question.answer)

    def _take_back(self, name: str, question: ClientQuestion) -> None:
        question.answer.cancel()
        self.open.pop(name, None)
        if question.sending is not None:
            question.sending.cancel()  # the SDK tells the client

    def _put(self, asked: dict[str, ClientQuestion]) -> None:
        for name, question in asked.items():
            if self.has_session:
                question.sending = self._loop.create_task(self._put_now(question, self._context))
                self._questions.append(question.sending)
            elif not (name in self._answers and question.accept(self._answers.pop(name))):
                self.open[name] = question
        if self.open:
            self.asked.set()

    async def _put_now(self, question: ClientQuestion, context: RequestContext) -> None:
        request = types.server_request_adapter.validate_python({"method": question.method, "params": question.params})
        related = ServerMessageMetadata(related_request_id=context.request_id)
        try:
            result = await context.session.send_request(request, _RESULTS[question.method], metadata=related)
        except (MCPError, ValidationError) as error:
            shown = (
                error
                if isinstance(error, MCPError)
                else MCPError(types.INVALID_PARAMS, "its answer has another shape.")
            )
            if not question.answer.done():
                question.answer.set_exception(shown)
        else:
            question.accept(result)

    def _post(self, method: str, params: Item) -> None:
        levels = allowed_log_levels(self._context.protocol_version, self._context.meta)
        if method == _LOG and params.get("level") not in levels:
            return
        # A client that reads slowly needs only the newest progress.
        if method == _PROGRESS and self._outbox and self._outbox[-1][0] == _PROGRESS:
            self._outbox[-1] = (method, params)
        elif len(self._outbox) < _MAX_QUEUED_NOTIFICATIONS:
            self._outbox.append((method, params))
        self._start_sending()

    def _start_sending(self) -> None:
        if self._outbox and (self._sending is None or self._sending.done()):
            self._sending = self._loop.create_task(self._send(self._context))

    async def _send(self, context: RequestContext) -> None:
        while self._outbox:
            method, params = self._outbox.pop(0)
            if method == _PROGRESS:
                await context.session.report_progress(**params)
                continue
            notification = types.server_notification_adapter.validate_python({"method": method, "params": params})
            await context.session.send_notification(notification, context.request_id)


def _plain(value: Any) -> Any:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True) if isinstance(value, BaseModel) else value
