"""Worker threads in which coroutines have blocking work done."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from toolroll.host.runtime.cancellation import CancelToken

_MAX_THREADS = 1_000

T = TypeVar("T")

_pools: dict[int, ThreadPoolExecutor] = {}


async def run_in_thread(work: Callable[[], T], token: CancelToken | None = None) -> T:
    """The result of `work`; cancelling the task cancels the token, and does not wait until the work has ended.

    `asyncio.to_thread` has four threads more than there are processors, so that a few commands, or questions to a
    person, would hold up the calls of all other workspaces.
    """
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads(), copy_context().run, work)
    except asyncio.CancelledError:
        if token is not None:
            token.cancel()
        raise


def _threads() -> ThreadPoolExecutor:
    """The threads of this process, which are made when they are needed; a forked copy has its own."""
    pid = os.getpid()
    return _pools.get(pid) or _pools.setdefault(pid, ThreadPoolExecutor(_MAX_THREADS, "toolroll worker"))
