"""An event loop in a thread of its own, for tools that are coroutines."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import asyncio

_END_SECONDS = 5.0  # for a cancelled coroutine to clean up


class EventLoop:
    """Runs coroutines for other threads. The first one starts the loop; it serves all calls of a kit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any], token: CancelToken) -> Any:
        """Wait for the coroutine. When the token ends the call, the coroutine is cancelled and may clean up."""
        import asyncio
        from concurrent.futures import Future

        ended: Future[asyncio.Task[Any]] = Future()
        loop = self._started()

        async def start() -> asyncio.Task[Any]:
            task = asyncio.ensure_future(_guard(coroutine))
            task.add_done_callback(ended.set_result)
            return task

        task = asyncio.run_coroutine_threadsafe(start(), loop).result()
        while not ended.done():
            try:
                ended.result(POLL_SECONDS)
            except TimeoutError:
                if not token.cancelled and token.remaining() > 0:
                    continue
                loop.call_soon_threadsafe(task.cancel)
                with suppress(TimeoutError):
                    ended.result(_END_SECONDS)
                token.check()
        try:
            return task.result()
        except asyncio.CancelledError:
            raise ToolError(ErrorCode.CANCELLED, "The call was cancelled.") from None

    def close(self) -> None:
        """Cancel what still runs, and end the loop."""
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
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

        with self._lock:
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


async def _guard(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await coroutine
    except (SystemExit, KeyboardInterrupt) as error:  # would end the loop, and with it all other calls
        raise RuntimeError(f"The tool raised {type(error).__name__}.") from error
