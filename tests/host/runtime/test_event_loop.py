"""Tools that are coroutines run on one loop of the kit, and are cancelled with time to clean up.

Callers that are coroutines have as many threads as wait at once.
"""

import asyncio
import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import pytest

from tests.waiting import until
from toolroll import CancelToken, Context, Effect, ToolError, tool
from toolroll.host.runtime.event_loop import run_in_thread

_MANY = 100  # asyncio itself has at most 32 threads
_FORK = """
import asyncio, os, warnings
from toolroll.host.runtime.event_loop import run_in_thread
warnings.simplefilter("ignore")  # there is a thread when it forks
asyncio.run(run_in_thread(os.getpid))
if child := os.fork():
    os.waitpid(child, 0)
else:
    print(asyncio.run(run_in_thread(os.getpid)) == os.getpid(), flush=True)
    os._exit(0)
"""


@tool(Effect.NONE)
async def add(first: int, second: int) -> int:
    """Add two numbers, later."""
    await asyncio.sleep(0.001)
    return first + second


@tool
async def where(ctx: Context) -> str:
    """Tell the thread and the loop."""
    assert ctx.call.name == "where"
    return f"{threading.current_thread().name} {id(asyncio.get_running_loop())}"


ADD = '{"first": 2, "second": 3}'


@pytest.fixture
def waits():
    """A tool that waits for ever, and what it did."""
    seen, started = [], threading.Event()

    @tool
    async def wait() -> None:
        """Wait for ever."""
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            seen.append("cleaned up")

    return wait, seen, started


def test_an_async_tool_is_called_like_any_other(kit):
    kit.register(add)
    kit.register(where)
    assert kit.call("add", {"first": 2, "second": 3}).text == "5"
    assert kit.call("add", {"first": "x"}).error.code == "ValidationError"
    found = {kit.call("where").text for _ in range(3)}
    assert len(found) == 1
    assert found.pop().startswith("toolroll-async")
    assert asyncio.run(kit.acall("add", {"first": 2, "second": 3})).text == "5"


def test_async_tools_run_side_by_side(kit):
    arrived = []

    @tool(Effect.NONE)
    async def meet() -> int:
        """Wait until both are here."""
        arrived.append(1)
        while len(arrived) < 2:
            await asyncio.sleep(0.001)
        return len(arrived)

    kit.register(meet)
    calls = [{"id": str(at), "function": {"name": "meet"}} for at in range(2)]
    assert [one["content"] for one in kit.execute(calls)] == ["2", "2"]


def test_a_cancelled_call_lets_the_coroutine_clean_up(kit, waits):
    wait, seen, started = waits
    kit.register(wait)
    token = CancelToken()
    threading.Thread(target=lambda: (started.wait(50), token.cancel())).start()
    assert kit.call("wait", token=token).error.code == "Cancelled"
    assert seen == ["cleaned up"]


def test_a_time_limit_cancels_it(open_kit, waits):
    wait, seen, _ = waits
    kit = open_kit(limits={"call_seconds": 0.1})
    kit.register(wait)
    assert kit.call("wait").error.code == "TimeoutError"
    assert seen == ["cleaned up"]


def test_cancelling_the_task_of_acall_cancels_it(kit, waits):
    wait, seen, started = waits
    kit.register(wait)

    async def give_up():
        task = asyncio.create_task(kit.acall("wait"))
        await asyncio.to_thread(started.wait, 50)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    until(lambda: seen)
    assert seen == ["cleaned up"]


def test_a_call_that_cannot_begin_ends_in_time(open_kit):
    @tool(Effect.NONE)
    async def hog() -> None:
        """Block the loop."""
        time.sleep(0.4)

    kit = open_kit(limits={"call_seconds": 0.1})
    kit.register(hog)
    kit.register(add)
    calls = [
        {"id": name, "function": {"name": name, "arguments": given}} for name, given in (("hog", "{}"), ("add", ADD))
    ]
    assert ["time limit" in one["content"] for one in kit.execute(calls)] == [True, True]


def test_a_tool_that_exits_does_not_end_the_loop(kit):
    @tool
    async def leave() -> None:
        """Exit."""
        raise SystemExit

    kit.register(leave)
    kit.register(add)
    assert "SystemExit" in kit.call("leave").text
    assert kit.call("add", {"first": 2, "second": 3}).text == "5"


def test_closing_the_kit_ends_the_thread(open_kit):
    kit = open_kit()
    kit.register(add)
    kit.call("add", {"first": 2, "second": 3})
    kit.close()
    assert [one.name for one in threading.enumerate() if one.name == "toolroll-async"] == []


def test_closing_the_kit_cancels_what_runs(open_kit, waits):
    wait, seen, started = waits
    kit = open_kit()
    kit.register(wait)
    threading.Thread(target=lambda: (started.wait(50), kit.close())).start()
    assert kit.call("wait").error.code == "Cancelled"
    assert seen == ["cleaned up"]
    kit.close()
    late = add.function(1, 2)
    with pytest.raises(ToolError, match="This Kit is closed"):
        kit.context().call.loop.run(late, CancelToken())
    late.close()


def test_many_wait_at_once_and_each_has_the_context_of_its_task() -> None:
    everyone, name = threading.Barrier(_MANY), ContextVar[int]("name")

    def meet() -> int:
        everyone.wait(30)
        return name.get()

    async def one(number: int) -> int:
        name.set(number)
        return await run_in_thread(meet)

    async def run() -> list[int]:
        return list(await asyncio.gather(*(one(number) for number in range(_MANY))))

    assert asyncio.run(run()) == list(range(_MANY))


def test_an_error_is_that_of_the_work() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_in_thread(lambda: 1 // 0))


def test_the_task_is_cancelled_at_once_and_the_work_by_its_token() -> None:
    token, goes_on, ended = CancelToken(), threading.Event(), list[bool]()

    def work() -> None:
        goes_on.wait(30)
        ended.append(token.cancelled)

    async def run() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_in_thread(work, token), 0.05)
        assert (token.cancelled, ended) == (True, [])
        goes_on.set()

    asyncio.run(run())
    until(lambda: ended == [True])


def test_a_forked_process_has_threads_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", _FORK], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"
