"""The channel between a program and the tools: what a program sends cannot stop, fill or outlive it."""

import json
import os
import threading
import time

import pytest

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.shell.code_calls import CallRequest, CodeCalls
from toolroll.host.shell.code_client import VARIABLE, CallFailed, _Tools
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, Fault, Result


def echo(request, _token):
    if request.name == "fail":
        return Result("error", "It cannot.", error=Fault(ErrorCode.CONFLICT, "It cannot."))
    return Result("success", f"{request.name} done", {"name": request.name, **request.named})


def frame(data):
    return len(data).to_bytes(4, "big") + data


CALL = frame(b'{"id": 1, "method": "call", "params": {"name": "read"}}')


@pytest.fixture
def channel():
    """Open channels, and the program's end of each."""
    opened = []

    def make(answer=echo, seconds=30.0, **limits):
        calls = CodeCalls(answer, Limits(**limits), CancelToken(seconds), {}).__enter__()
        opened.append(calls)
        return calls, int(calls.variables("/ws")[VARIABLE].path.split()[0])

    yield make
    for calls in opened:
        calls.__exit__(None, None, None)


def answer(fd):
    size = int.from_bytes(os.read(fd, 4), "big")
    return json.loads(os.read(fd, size)) if size else None


def test_a_call_returns_its_data_and_prints_as_its_text(channel):
    calls, fd = channel()
    tools = _Tools(fd)
    found = tools.read(path="a", limit=3)
    assert (found, str(found)) == ({"name": "read", "path": "a", "limit": 3}, "read done")
    assert tools["a-b"]() == {"name": "a-b"}
    with pytest.raises(CallFailed, match="Conflict: It cannot") as raised:
        tools.fail()
    assert (raised.value.code, raised.value.message) == ("Conflict", "It cannot.")
    assert dict(calls.made) == {"read": 1, "a-b": 1, "fail": 1}


@pytest.mark.parametrize("params", ['{"name": 7}', "[]", '"read"', "null"])
def test_what_is_no_call_is_answered_and_the_next_call_runs(channel, params):
    _, fd = channel()
    os.write(fd, frame(b'{"id": 9, "method": "call", "params": %b}' % params.encode()))
    assert "This is no call of a tool" in answer(fd)["error"]["message"]
    assert _Tools(fd).read() == {"name": "read"}


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", frame(b"{"), frame(b"[" * 100_000), frame(b"\xff"), frame(b"7")])
def test_a_message_that_is_too_long_or_none_closes_the_tools(channel, data):
    _, fd = channel()
    os.write(fd, data)
    assert answer(fd)["error"]["data"]["code"] == "TooLarge"
    with pytest.raises(CallFailed, match="Cancelled: The tools are closed"):
        _Tools(fd).read()


def test_a_flood_ends_at_the_number_of_calls(channel):
    calls, fd = channel(code_calls=3)
    tools = _Tools(fd)
    for _ in range(3):
        tools.read()
    with pytest.raises(CallFailed, match="as many calls as it may"):
        tools.read()
    with pytest.raises(CallFailed, match="The tools are closed"):
        tools.read()
    assert calls.made["read"] == 3


def test_bytes_are_counted_both_ways(channel):
    _, fd = channel(lambda *_: Result("success", "x" * 600), code_bytes=1_000)
    tools = _Tools(fd)
    assert tools.read() == "x" * 600
    with pytest.raises(CallFailed, match="TooLarge: The calls and results of this program take too many bytes"):
        tools.read()
    with pytest.raises(CallFailed, match="closed"):
        tools.read()


def test_half_a_frame_does_not_hold_up_the_end(channel):
    calls, fd = channel()
    os.write(fd, frame(b"x" * 100)[:50])
    calls.__exit__(None, None, None)  # else it waits without an end


def test_a_result_that_nobody_reads_does_not_hold_up_the_end(channel):
    calls, fd = channel(lambda *_: Result("success", "x" * 10_000_000))
    os.write(fd, CALL)
    time.sleep(0.05)
    calls.__exit__(None, None, None)


def test_the_end_of_the_program_cancels_the_call_that_runs(channel):
    begun, ended = threading.Event(), []

    def slow(_request, token):
        begun.set()
        while not token.cancelled:
            time.sleep(0.01)
        ended.append(token.cancelled)
        return Result("success", "")

    calls, fd = channel(slow)
    os.write(fd, CALL)
    assert begun.wait(10)
    calls.__exit__(None, None, None)
    assert ended == [True]


def test_a_defect_in_a_tool_is_raised_in_the_call(channel):
    def broken(*_):
        raise ZeroDivisionError("defect")

    calls, fd = channel(broken)
    with pytest.raises(CallFailed, match="closed"):
        _Tools(fd).read()
    with pytest.raises(ZeroDivisionError):
        calls.__exit__(None, None, None)
    calls._failure = None


def test_a_forked_process_is_told_that_it_has_no_tools(channel):
    _, fd = channel()
    tools = _Tools(fd)
    tools._pid += 1
    with pytest.raises(CallFailed, match="Only the program itself can call tools"):
        tools.read()


def test_positional_arguments_are_in_the_order_of_the_schema():
    request = CallRequest("read", ["a", 1], {"limit": 2})
    assert request.arguments(["path", "offset", "limit"]) == {"path": "a", "offset": 1, "limit": 2}
    for parameters in (["path"], ["path", "limit"]):
        with pytest.raises(ValueError, match="Give arguments by name"):
            request.arguments(parameters)
