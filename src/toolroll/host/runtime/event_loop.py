"""Between threads and coroutines: a loop for tools that are coroutines, and threads for callers that are."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future, ThreadPoolExecutor

_END_SECONDS = 5.0  # for a cancelled coroutine to clean up
_MAX_THREADS = 1_000

T = TypeVar("T")

_pools: dict[int, ThreadPoolExecutor] = {}


class EventLoop:
    """Runs coroutines for other threads. The first one starts the loop; it serves all calls of a kit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, Any], token: CancelToken) -> Any:
        """Wait for the coroutine. When the token ends the call, the coroutine is cancelled and may clean up."""
        import asyncio
        from concurrent.futures import Future

        ended: Future[asyncio.Task[Any]] = Future()
        tasks: list[asyncio.Task[Any]] = []

        def start() -> None:
            tasks.append(loop.create_task(_guard(coroutine)))
            tasks[0].add_done_callback(finish)

        def finish(task: asyncio.Task[Any]) -> None:
            coroutine.close()  # it may have been cancelled before it began
            ended.set_result(task)

        def cancel() -> None:
            tasks[0].cancel()

        with self._lock:  # what is handed over before `close` is cancelled by it
            loop = self._started()
            loop.call_soon_threadsafe(start)
        if not _wait(ended, token):
            with suppress(TimeoutError, RuntimeError):  # the loop may have been closed over a coroutine that goes on
                loop.call_soon_threadsafe(cancel)
                ended.result(_END_SECONDS if tasks else 0)  # without one, another coroutine keeps the loop busy
            token.check()
        try:
            return ended.result().result()
        except asyncio.CancelledError:
            raise ToolError(ErrorCode.CANCELLED, "The call was cancelled.") from None

    def close(self) -> None:
        """Cancel what still runs, and end the loop."""
        with self._lock:
            loop, thread, self._closed = self._loop, self._thread, True
        if loop is None or thread is None or loop.is_closed():
            return
        import asyncio

        async def end() -> None:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left, timeout=_END_SECONDS)
            loop.stop()

        loop.call_soon_threadsafe(lambda: loop.create_task(end()))
        thread.join(2 * _END_SECONDS)

    def _started(self) -> asyncio.AbstractEventLoop:
        import asyncio

        if self._closed:
            raise ToolError(ErrorCode.CANCELLED, "This Kit is closed. Open another one for more calls.")
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name="toolroll-async", daemon=True)
            self._thread.start()
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _wait(future: Future[Any], token: CancelToken) -> bool:
    """Wait for a result until the token ends the call; whether there is one."""
    while not future.done() and not token.cancelled and token.remaining() > 0:
        with suppress(TimeoutError):
            future.exception(POLL_SECONDS)
    return future.done()


async def _guard(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await coroutine
    except (SystemExit, KeyboardInterrupt) as error:  # would end the loop, and with it all other calls
        raise RuntimeError(f"The tool raised {type(error).__name__}.") from error


async def run_in_thread(work: Callable[[], T], token: CancelToken | None = None) -> T:
    """The result of `work`; cancelling the task cancels the token, and does not wait until the work has ended.

    `asyncio.to_thread` has four threads more than there are processors, so that a few commands, or questions to a
    person, would hold up the calls of all other workspaces.
    """
    import asyncio
    from contextvars import copy_context

    try:
        return await asyncio.get_running_loop().run_in_executor(_threads(), copy_context().run, work)
    except asyncio.CancelledError:
        if token is not None:
            token.cancel()
        raise


def _threads() -> ThreadPoolExecutor:
    """The threads of this process, which are made when they are needed; a forked copy has its own."""
    from concurrent.futures import ThreadPoolExecutor

    pid = os.getpid()
    return _pools.get(pid) or _pools.setdefault(pid, ThreadPoolExecutor(_MAX_THREADS, "toolroll async"))
