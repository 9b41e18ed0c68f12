"""Tool calls in worker threads: a call ends with its client, or waits while a stateless client finds answers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.exceptions import MCPError

from toolroll.mcp.backend import Backend, Item
from toolroll.mcp.http.cancellations import EarlyCancellations
from toolroll.mcp.http.gate import on_disconnect
from toolroll.mcp.http.peer import HttpPeer, RequestContext, session_id

MAX_CALL_THREADS = 32
MAX_SUSPENDED_CALLS = 16
"""Calls that may wait for a stateless client's answers at a time; each keeps its thread."""
ANSWER_TIMEOUT_S = 600.0
"""Time in which a stateless client has to come back with its answers."""
_LIST_THREADS = 4

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class HttpCall:
    """A tool call that runs or has ended."""

    name: str
    arguments: Item
    peer: HttpPeer
    work: asyncio.Future[Item]
    expiry: asyncio.TimerHandle | None = None


class ToolCalls:
    """Everything that the server does in worker threads."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._threads = concurrent.futures.ThreadPoolExecutor(MAX_CALL_THREADS, "toolroll-mcp")
        # Lists have threads of their own, so that they are answered while every call waits.
        self._list_threads = concurrent.futures.ThreadPoolExecutor(_LIST_THREADS, "toolroll-mcp-list")
        self._running: dict[HttpPeer, asyncio.Future[Item]] = {}
        self._suspended: dict[str, HttpCall] = {}
        self._cancellations = EarlyCancellations()

    async def run_aside(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._list_threads, work, *arguments)

    async def call(
        self, context: RequestContext, params: types.CallToolRequestParams
    ) -> Item | types.InputRequiredResult:
        """Return the result of a tool, or the questions that a stateless client must answer first."""
        session, number = session_id(context), context.request_id
        if session is not None and number is not None and self._cancellations.begin(session, number):
            raise MCPError(REQUEST_CANCELLED, "Request cancelled")
        call = self._begin(context, params) if params.request_state is None else self._resume(context, params)
        forget = on_disconnect(context.request.scope, call.peer.cancel) if context.request else lambda: None
        try:
            return await self._outcome(call)
        except asyncio.CancelledError:
            call.peer.cancel()
            raise
        finally:
            forget()

    def cancel_early(self, context: RequestContext, request_id: types.RequestId | None) -> None:
        """Cancel the call with this id in the client's session when it begins; a call that runs is left to the SDK."""
        session = session_id(context)
        if session is not None and request_id is not None:
            self._cancellations.add(session, request_id)

    async def stop(self, seconds: float) -> None:
        """Cancel all calls and wait up to `seconds` for their end."""
        for peer in tuple(self._running):
            peer.cancel()
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)

    def close(self) -> None:
        """Release the threads, each when its work has ended; queued work is dropped."""
        for threads in (self._threads, self._list_threads):
            threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, context: RequestContext, params: types.CallToolRequestParams) -> HttpCall:
        peer = HttpPeer(context, params.input_responses or {}, params.meta)
        name, arguments = params.name, params.arguments or {}

        def run() -> Item:
            peer.token.check()  # the client may have left while the call waited for a thread
            return self._backend.call(name, arguments, peer)

        work = asyncio.get_running_loop().run_in_executor(self._threads, run)
        self._running[peer] = work
        work.add_done_callback(lambda _: self._running.pop(peer))
        # Mark an exception as seen: a client that has left does not collect it.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        return HttpCall(name, arguments, peer, work)

    def _resume(self, context: RequestContext, params: types.CallToolRequestParams) -> HttpCall:
        call = self._suspended.get(params.request_state or "")
        if call is None or (call.name, call.arguments) != (params.name, params.arguments or {}):
            # The message does not say which is wrong: the state may belong to another client.
            raise MCPError(types.INVALID_PARAMS, "No call waits under this requestState. Begin again without it.")
        del self._suspended[params.request_state or ""]
        if call.expiry is not None:
            call.expiry.cancel()
        peer, given = call.peer, params.input_responses or {}
        answered = [name for name, one in peer.open.items() if name in given and one.accept(given[name])]
        for name in answered:
            del peer.open[name]
        if not peer.open:
            peer.asked.clear()
        peer.attach(context)
        return call

    async def _outcome(self, call: HttpCall) -> Item | types.InputRequiredResult:
        if call.peer.has_session:
            await asyncio.wait({call.work})
        else:
            asked = asyncio.ensure_future(call.peer.asked.wait())
            try:
                await asyncio.wait((call.work, asked), return_when=asyncio.FIRST_COMPLETED)
            finally:
                asked.cancel()
        await call.peer.flush()
        return call.work.result() if call.work.done() else self._suspend(call)

    def _suspend(self, call: HttpCall) -> types.InputRequiredResult:
        if len(self._suspended) >= MAX_SUSPENDED_CALLS:
            call.peer.cancel()
            raise MCPError(types.INTERNAL_ERROR, "Too many calls wait for an answer. Answer those, or try again later.")
        state = secrets.token_urlsafe(24)
        self._suspended[state] = call
        call.expiry = asyncio.get_running_loop().call_later(ANSWER_TIMEOUT_S, self._expire, state)
        requests = {
            name: types.server_request_adapter.validate_python({"method": one.method, "params": one.params})
            for name, one in call.peer.open.items()
        }
        return types.InputRequiredResult.model_validate({"input_requests": requests, "request_state": state})

    def _expire(self, state: str) -> None:
        self._suspended.pop(state).peer.cancel()
