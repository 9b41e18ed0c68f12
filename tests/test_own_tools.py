"""A tool of one's own that raises is a result, on every way in."""

import asyncio

import pytest

from toolroll import Effect, tool
from toolroll.dialect import Dialect, View


@tool(Effect.NONE)
def divide(a: int) -> int:
    """Divide by it."""
    return 1 // a


@tool(Effect.NONE)
async def wait(a: int) -> int:
    """Wait and divide."""
    await asyncio.sleep(0)
    return 1 // a


@tool(Effect.NONE)
def stop() -> int:
    """Stop the program."""
    raise KeyboardInterrupt


@pytest.fixture
def kit(open_kit):
    return open_kit(Dialect("own", "Mine.", tuple(map(View.native, (divide, wait, stop)))))


@pytest.mark.parametrize("name", ["divide", "wait"])
def test_an_exception_has_its_type_words_and_place(kit, name):
    result = kit.call(name, {"a": 0})
    assert (result.status, result.error.code) == ("error", "ExecutionError")
    assert result.text.startswith(f"The tool {name!r} failed with ZeroDivisionError: ")
    assert "(test_own_tools.py:" in result.text
    assert result.error.details["type"] == "ZeroDivisionError"
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": '{"a": 0}'}}
    assert "ZeroDivisionError" in kit.execute([call])[0]["content"]
    assert "ZeroDivisionError" in kit.execute_text([call])["content"]
    assert "ZeroDivisionError" in asyncio.run(kit.acall(name, {"a": 0})).text
    assert kit.call(name, {"a": 1}).data == 1, "the loop goes on"


def test_an_interrupt_is_not_swallowed(kit):
    with pytest.raises(KeyboardInterrupt):
        kit.call("stop", {})


CALL = {"id": "1", "type": "function", "function": {"name": "divide", "arguments": '{"a": 1}'}}
ANTHROPIC = {"type": "tool_use", "id": "1", "name": "divide", "input": {"a": 1}}
RESPONSES = {"type": "function_call", "call_id": "1", "name": "divide", "arguments": '{"a": 1}'}
GEMINI = {"functionCall": {"name": "divide", "args": {"a": 1}}}


@pytest.mark.parametrize(
    ("format", "given"),
    [
        ("openai", [CALL]),
        ("openai", {"role": "assistant", "content": "Look.", "tool_calls": [CALL]}),
        ("openai", {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]}),
        ("anthropic", {"role": "assistant", "content": [{"type": "text", "text": "Look."}, ANTHROPIC]}),
        ("responses", {"output": [{"type": "reasoning"}, RESPONSES]}),
        ("gemini", {"candidates": [{"content": {"role": "model", "parts": [{"text": "Look."}, GEMINI]}}]}),
    ],
)
def test_a_whole_message_is_carried_out(kit, format, given):
    assert len(kit.execute(given, format=format)) == 1
    assert kit.execute({"role": "assistant", "content": "Done."}) == []


def test_arguments_as_keywords_are_refused_with_the_way(kit):
    with pytest.raises(TypeError, match=r'kit\.call\("read", \{"path": "a\.py"\}\)'):
        kit.call("divide", a=1)
