"""Tool calls in worker threads: each ends when its client is gone, or waits while the client finds an answer."""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolroll.mcp.http.caller import Caller, Context
from toolroll.mcp.http.gate import on_leaving
from toolroll.mcp.offer import Item, Offer

THREADS = 32
MOST_WAITING = 16
"""Calls that may wait for an answer at a time; each keeps its thread."""
PATIENCE = 600.0
"""Seconds in which a client without the handshake has to come back with its answers."""

_ASIDE = 4

T = TypeVar("T")


@dataclass(slots=True)
class _Call:
    """A tool call that was begun."""

    name: str
    arguments: Item
    caller: Caller
    work: asyncio.Future[Item]
    expiry: asyncio.TimerHandle | None = None


class Calls:
    """All that the server does in worker threads."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._pool = concurrent.futures.ThreadPoolExecutor(THREADS, "toolroll-mcp")
        # Lists are still given when every other thread waits for somebody.
        self._aside = concurrent.futures.ThreadPoolExecutor(_ASIDE, "toolroll-mcp-aside")
        self._live: dict[Caller, asyncio.Future[Item]] = {}
        self._waiting: dict[str, _Call] = {}

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """What `work` gives, while the server goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._aside, work, *arguments)

    async def call(self, context: Context, params: types.CallToolRequestParams) -> Item | types.InputRequiredResult:
        """The result of a tool, or what its client must be asked before there can be one."""
        call = self._begin(context, params) if params.request_state is None else self._resume(context, params)
        forget = on_leaving(context.request.scope, call.caller.cancel) if context.request else _nothing
        try:
            return await self._outcome(call)
        except asyncio.CancelledError:
            call.caller.cancel()
            raise
        finally:
            forget()

    async def stop(self, seconds: float) -> None:
        """End all work, and wait so long for its end."""
        for caller in tuple(self._live):
            caller.cancel()
        if self._live:
            await asyncio.wait(self._live.values(), timeout=seconds)

    def close(self) -> None:
        """Give the threads back, each when its work is at its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._aside.shutdown(wait=False, cancel_futures=True)

    def _begin(self, context: Context, params: types.CallToolRequestParams) -> _Call:
        caller = Caller(context, params.input_responses or {})
        arguments = params.arguments or {}
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._pool, self._work, params.name, arguments, caller)
        self._live[caller] = work
        work.add_done_callback(lambda _: self._live.pop(caller))
        # Whoever has left does not come to see what became of the work.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        return _Call(params.name, arguments, caller, work)

    def _work(self, name: str, arguments: Item, caller: Caller) -> Item:
        caller.token.check()  # the client may have left while the call waited for a thread
        return self._offer.call(name, arguments, caller)

    def _resume(self, context: Context, params: types.CallToolRequestParams) -> _Call:
        call = self._waiting.get(params.request_state or "")
        if call is None or (call.name, call.arguments) != (params.name, params.arguments or {}):
            # Not a word on which of these it is: the state may be somebody else's.
            raise MCPError(types.INVALID_PARAMS, "No call waits under this requestState. Begin again without it.")
        del self._waiting[params.request_state or ""]
        if call.expiry is not None:
            call.expiry.cancel()
        call.caller.context = context
        given = params.input_responses or {}
        answered = [name for name, one in call.caller.open.items() if name in given and one.take(given[name])]
        for name in answered:
            del call.caller.open[name]
        if not call.caller.open:
            call.caller.asked.clear()
        return call

    async def _outcome(self, call: _Call) -> Item | types.InputRequiredResult:
        if call.caller.handshake:
            await asyncio.wait({call.work})
        else:
            asked = asyncio.ensure_future(call.caller.asked.wait())
            try:
                await asyncio.wait((call.work, asked), return_when=asyncio.FIRST_COMPLETED)
            finally:
                asked.cancel()
        await call.caller.flush()
        return call.work.result() if call.work.done() else self._suspend(call)

    def _suspend(self, call: _Call) -> types.InputRequiredResult:
        if len(self._waiting) >= MOST_WAITING:
            call.caller.cancel()
            raise MCPError(types.INTERNAL_ERROR, "Too many calls wait for an answer. Answer those, or try again later.")
        state = secrets.token_urlsafe(24)
        self._waiting[state] = call
        call.expiry = asyncio.get_running_loop().call_later(PATIENCE, self._expire, state)
        requests = {
            name: types.server_request_adapter.validate_python({"method": one.method, "params": one.params})
            for name, one in call.caller.open.items()
        }
        return types.InputRequiredResult.model_validate({"input_requests": requests, "request_state": state})

    def _expire(self, state: str) -> None:
        self._waiting.pop(state).caller.cancel()


def _nothing() -> None:
    """Nobody leaves who did not come by a connection."""
