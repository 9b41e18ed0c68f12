"""Tool calls in worker threads: each ends when its client is gone, or waits while the client finds an answer."""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolroll.mcp.backend import Item, Offer
from toolroll.mcp.http.caller import Caller, Client, Context, nothing
from toolroll.mcp.http.gate import on_leaving
from toolroll.mcp.http.threads import Threads

THREADS = 32
MOST_WAITING = 16
"""Calls that may wait for an answer at a time; each keeps its thread."""
PATIENCE = 600.0
"""Seconds in which a client without the handshake has to come back with its answers."""

UNDER_WAY = "toolroll.call"
"""Where a scope keeps its call, as soon as that has begun."""

_ASIDE = 4

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Call:
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
        self._threads = Threads(THREADS, "toolroll-mcp")
        # Lists are still given when every other thread waits for somebody.
        self._aside = concurrent.futures.ThreadPoolExecutor(_ASIDE, "toolroll-mcp-aside")
        self._live: dict[Caller, asyncio.Future[Item]] = {}
        self._waiting: dict[str, Call] = {}

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """What `work` gives, while the server goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._aside, work, *arguments)

    async def call(self, context: Context, params: types.CallToolRequestParams) -> Item | types.InputRequiredResult:
        """The result of a tool, or what its client must be asked before there can be one."""
        call = self._found(context, params)
        call.caller.attach(context)
        forget = on_leaving(context.request.scope, call.caller.cancel) if context.request else nothing
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
        self._threads.close()
        self._aside.shutdown(wait=False, cancel_futures=True)

    def begin(self, name: str, arguments: Item, caller: Caller) -> Call:
        """Call a tool; when the call has ended, its caller is wanted."""
        work: asyncio.Future[Item] = asyncio.get_running_loop().create_future()
        self._threads.do(partial(self._work, name, arguments, caller, work))
        self._live[caller] = work
        work.add_done_callback(lambda _: self._live.pop(caller))
        # Whoever has left does not come to see what became of the work.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        return Call(name, arguments, caller, work)

    def _work(self, name: str, arguments: Item, caller: Caller, work: asyncio.Future[Item]) -> None:
        end = work.get_loop().call_soon_threadsafe
        try:
            caller.token.check()  # the client may have left while the call waited for a thread
            end(_succeed, work, self._offer.call(name, arguments, caller), caller)
        except BaseException as error:  # whatever it is, it is told to whoever waits
            with suppress(RuntimeError):  # the server has ended meanwhile, and nobody waits
                end(_fail, work, error, caller)

    def _found(self, context: Context, params: types.CallToolRequestParams) -> Call:
        """The call that this request is for: it is under way, it waits for answers, or it begins now."""
        scope = context.request.scope if context.request else {}
        if UNDER_WAY not in scope:
            scope[UNDER_WAY] = self._begun(context, params) if params.request_state is None else self._resumed(params)
        found: Call = scope[UNDER_WAY]
        return found

    def _begun(self, context: Context, params: types.CallToolRequestParams) -> Call:
        caller = Caller(Client.of(context), params.input_responses or {})
        return self.begin(params.name, params.arguments or {}, caller)

    def _resumed(self, params: types.CallToolRequestParams) -> Call:
        call = self._waiting.get(params.request_state or "")
        if call is None or (call.name, call.arguments) != (params.name, params.arguments or {}):
            # Not a word on which of these it is: the state may be somebody else's.
            raise MCPError(types.INVALID_PARAMS, "No call waits under this requestState. Begin again without it.")
        del self._waiting[params.request_state or ""]
        if call.expiry is not None:
            call.expiry.cancel()
        given = params.input_responses or {}
        answered = [name for name, one in call.caller.open.items() if name in given and one.take(given[name])]
        for name in answered:
            del call.caller.open[name]
        if not call.caller.open:
            call.caller.asked.clear()
        return call

    async def _outcome(self, call: Call) -> Item | types.InputRequiredResult:
        if call.caller.client.handshake:
            await asyncio.wait({call.work})
        else:
            asked = asyncio.ensure_future(call.caller.asked.wait())
            try:
                await asyncio.wait((call.work, asked), return_when=asyncio.FIRST_COMPLETED)
            finally:
                asked.cancel()
        await call.caller.flush()
        return call.work.result() if call.work.done() else self._suspend(call)

    def _suspend(self, call: Call) -> types.InputRequiredResult:
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


def _succeed(work: asyncio.Future[Item], result: Item, caller: Caller) -> None:
    if not work.done():
        work.set_result(result)
    caller.want()


def _fail(work: asyncio.Future[Item], error: BaseException, caller: Caller) -> None:
    if not work.done():
        work.set_exception(error)
    caller.want()
