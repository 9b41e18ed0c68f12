"""The client at the other end of one call, for the worker thread in which the call runs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.connection import allowed_log_levels
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from toolroll.host.runtime.cancellation import Token
from toolroll.mcp.backend import Item
from toolroll.result import ErrorCode, ToolError

Context = ServerRequestContext[Any, Any]
Answer = concurrent.futures.Future[Item]

_LOG, _PROGRESS = "notifications/message", "notifications/progress"
_MOST_WAITING = 256
_RESULTS: dict[str, type[BaseModel]] = {
    "elicitation/create": types.ElicitResult,
    "roots/list": types.ListRootsResult,
    "sampling/createMessage": types.CreateMessageResult,
}
_NEEDS = {"elicitation/create": "elicitation", "roots/list": "roots", "sampling/createMessage": "sampling"}


class LackingError(ToolError):
    """The client has not said that it can do what it is asked for."""

    def __init__(self, capability: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED, f"The client of this server does not support {capability}.")
        self.capability = capability


@dataclass(slots=True)
class Question:
    """What the client is asked, and where its answer goes."""

    method: str
    params: Item
    answer: Answer = field(default_factory=concurrent.futures.Future)

    def take(self, given: Any) -> bool:
        """Take what the client gave as the answer, if it is one to this question."""
        try:
            result = _RESULTS[self.method].model_validate(_plain(given))
        except ValidationError:
            return False
        if not self.answer.done():
            self.answer.set_result(_plain(result))
        return True


@dataclass(frozen=True, slots=True)
class Client:
    """What the SDK knows of a client."""

    version: str
    capabilities: types.ClientCapabilities | None

    @classmethod
    def of(cls, context: Context) -> Client:
        """The client whose request this is."""
        return cls(context.protocol_version, context.session.client_capabilities)

    @property
    def handshake(self) -> bool:
        """Whether it has a session, in which it can be asked something while it waits."""
        return self.version not in MODERN_PROTOCOL_VERSIONS


class Caller:
    """A `Peer`: called from the worker thread of a call, it speaks to the client in the thread of the server.

    A client with the handshake is asked while it waits. One without it gets the question as the answer to its
    request and comes back with another request; `asked` tells that this is due, and `open` holds the questions.

    Nothing can be said before the call is attached to a request of the SDK. `want` is called when it should be.
    """

    def __init__(
        self,
        client: Client,
        answers: Mapping[str, Any],
        *,
        progress: bool = True,
        want: Callable[[], None] | None = None,
    ) -> None:
        """`answers` came with the request: for those questions that have a name. Not all want to know the progress."""
        self.token = Token()
        self.asked = asyncio.Event()
        self.open: dict[str, Question] = {}
        self.client = client
        self.want = want or nothing
        self._loop = asyncio.get_running_loop()
        self.attached: asyncio.Future[None] = self._loop.create_future()
        self._context: Context | None = None
        self._progress = progress
        self._answers = dict(answers)
        self._unasked: dict[str, Question] = {}
        self._pending: set[Answer] = set()
        self._outbox: list[tuple[str, Item]] = []
        self._sending: asyncio.Task[None] | None = None
        self._done = -1.0

    def attach(self, context: Context) -> None:
        """Speak to the client by this request from now on."""
        self.client = Client.of(context)
        self._context = context
        if not self.attached.done():
            self.attached.set_result(None)
        self._put({})
        self._start()

    def can(self, capability: str) -> bool:
        """Whether the client can do this: "elicitation", "roots" or "sampling"."""
        return getattr(self.client.capabilities, capability, None) is not None

    def request(self, method: str, params: Item, name: str | None = None) -> Item:
        """Ask the client and wait for its result.

        Only a question with a `name` may be answered ahead of time; any other gets one that nobody can know.
        """
        name = name or secrets.token_urlsafe(9)
        return self.ask({name: (method, params)})[name]

    def ask(self, questions: Mapping[str, tuple[str, Item]]) -> dict[str, Item]:
        """Ask several things at once, each under its name."""
        for method, _ in questions.values():
            if not self.can(_NEEDS[method]):
                raise LackingError(_NEEDS[method])
        asked = {name: Question(method, params) for name, (method, params) in questions.items()}
        self._pending |= {one.answer for one in asked.values()}
        self._loop.call_soon_threadsafe(self._put, asked)
        return {name: self._wait(one) for name, one in asked.items()}

    def notify(self, method: str, params: Item) -> None:
        """Tell the client something and do not wait."""
        self._loop.call_soon_threadsafe(self._post, method, params)

    def progress(self, done: float, total: float | None, note: str) -> None:
        """Tell how far the work is, if the request asked for that; by the protocol it only ever grows."""
        if self._progress and done > self._done:
            self._done = done
            self.notify(_PROGRESS, {"progress": done, "total": total, "message": note or None})

    def cancel(self) -> None:
        """The client has cancelled the call or has left: the work ends, and nobody waits for an answer any more."""
        self.token.cancel()
        for answer in tuple(self._pending):
            answer.cancel()

    async def flush(self) -> None:
        """Everything that was told is on its way; the result must not overtake it."""
        if self._sending is not None:
            await self._sending

    def _wait(self, question: Question) -> Item:
        self.token.check()
        left = self.token.remaining()
        try:
            return question.answer.result(None if left == float("inf") else max(left, 0.0))
        except concurrent.futures.CancelledError:
            raise ToolError(ErrorCode.CANCELLED, "The client went away before it had answered.") from None
        except TimeoutError:
            raise ToolError(ErrorCode.TIMEOUT, "The client did not answer in time. Try again later.") from None
        except MCPError as error:
            raise ToolError(ErrorCode.EXECUTION, f"The client did not answer: {error.message}") from None
        finally:
            self._pending.discard(question.answer)

    def _put(self, asked: dict[str, Question]) -> None:
        self._unasked |= asked
        if self._context is None:
            self.want()
            return
        asked, self._unasked = self._unasked, {}
        for name, question in asked.items():
            if self.client.handshake:
                self._loop.create_task(self._put_now(question, self._context))
            elif not (name in self._answers and question.take(self._answers.pop(name))):
                self.open[name] = question
        if self.open:
            self.asked.set()

    async def _put_now(self, question: Question, context: Context) -> None:
        request = types.server_request_adapter.validate_python({"method": question.method, "params": question.params})
        related = ServerMessageMetadata(related_request_id=context.request_id)
        try:
            result = await context.session.send_request(request, _RESULTS[question.method], metadata=related)
        except (MCPError, ValidationError) as error:
            if not question.answer.done():
                question.answer.set_exception(_as_answer(error))
        else:
            question.take(result)

    def _post(self, method: str, params: Item) -> None:
        if method == _LOG and params.get("level") not in self._levels():
            return
        # Of how far the work is, only the newest matters to a client that is slow to read.
        if method == _PROGRESS and self._outbox and self._outbox[-1][0] == _PROGRESS:
            self._outbox[-1] = (method, params)
        elif len(self._outbox) < _MOST_WAITING:
            self._outbox.append((method, params))
        self._start()

    def _levels(self) -> frozenset[str]:
        return allowed_log_levels(self.client.version, self._context.meta if self._context else None)

    def _start(self) -> None:
        if self._context is None:
            self.want()
        elif self._outbox and (self._sending is None or self._sending.done()):
            self._sending = self._loop.create_task(self._send(self._context))

    async def _send(self, context: Context) -> None:
        while self._outbox:
            method, params = self._outbox.pop(0)
            if method == _PROGRESS:
                await context.session.report_progress(**params)
                continue
            told = types.server_notification_adapter.validate_python({"method": method, "params": params})
            await context.session.send_notification(told, context.request_id)


def _as_answer(error: MCPError | ValidationError) -> MCPError:
    return error if isinstance(error, MCPError) else MCPError(types.INVALID_PARAMS, "its answer has another shape.")


def _plain(value: Any) -> Any:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True) if isinstance(value, BaseModel) else value


def nothing() -> None:
    """What is done when nobody waits for it."""
