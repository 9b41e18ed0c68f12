from __future__ import annotations

import json
from typing import Any

import pytest

from toolroll import Token
from toolroll.agent.react import ReactModel
from toolroll.host.models.chat.messages import ChatMessage, ChatRequest, Turn, Usage

TOOLS = [
    {"name": "read", "description": "Reads.", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}},
    {"name": "file", "description": "Files.", "inputSchema": {"type": "object", "properties": {}, "required": ["action", "path"]}},
    {"name": "time", "description": "Time.", "inputSchema": {"type": "object", "properties": {}}},
]  # fmt: skip


class Parrot:
    """Says one thing, and remembers what it was asked."""

    name = "parrot"

    def __init__(self, text: str, stop: Any = "end") -> None:
        self._turn = Turn(ChatMessage("assistant", text), stop, Usage(1, 1))
        self.asked: list[ChatMessage] = []

    def turn(self, request: ChatRequest, _token: Token, _on_text: Any = None) -> Turn:
        self.asked = list(request.messages)
        return self._turn


def said(text: str, stop: Any = "end") -> Turn:
    return ReactModel(Parrot(text, stop)).turn(ChatRequest((ChatMessage("user", "x"),), tuple(TOOLS)), Token())


MULTILINE = '{"action": "write",\n "path": "a.py",\n "content": "def f():\n    return \\"}\\"\n"}'
CALLS = [
    ('Action: read\nAction Input: {"path": "a"}', "read", {"path": "a"}),
    ('Thought: a\n\nAction: read\n\nAction Input:\n{"path": "a"}', "read", {"path": "a"}),
    ('**Action:** `read`\n**Action Input:** {"path": "a"}', "read", {"path": "a"}),
    ('action: "read"\naction_input: {"path": "a"}', "read", {"path": "a"}),
    ('> Action: read\n> Action Input: {"path": "a"}', "read", {"path": "a"}),
    ('Action: read\nAction Input: ```json\n{"path": "a"}\n```\nand more', "read", {"path": "a"}),
    ('Action: read\nAction Input: {"path": "a"}\nI will now wait.', "read", {"path": "a"}),
    ('Action: read\nAction Input: {"path": "a"}\nObservation: 1\nAction: time\nAction Input: {}', "read", {"path": "a"}),
    ('Action: read\nAction Input: {"path": "a"}\nThought: done\nFinal Answer: no', "read", {"path": "a"}),
    (f"Action: file\nAction Input: {MULTILINE}", "file", {"action": "write", "path": "a.py", "content": 'def f():\n    return "}"\n'}),
    ("Action: read\nAction Input: a b.txt", "read", {"path": "a b.txt"}),
    ('Thought: x\nAction: read[{"path": "a"}]', "read", {"path": "a"}),
    ('Action: read({"path": "a"})\nObservation: no', "read", {"path": "a"}),
    ("Action: read[a b.txt]", "read", {"path": "a b.txt"}),
    ('Action: read\nAction Input: "a.txt"', "read", {"path": "a.txt"}),
    ("Action: time\nAction Input:", "time", {}),
    ("Action: time", "time", {}),
    ("Action: time()\nAction Input: {}", "time", {}),
    ('Thought: The text "Action: none" is not one.\nAction: time\nAction Input: {}', "time", {}),
    ("Action: nope\nAction Input: {}", "nope", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "arguments"), CALLS)
def test_calls(text: str, name: str, arguments: dict[str, Any]) -> None:
    turn = said(text)
    assert [(one.name, json.loads(one.arguments)) for one in turn.message.calls] == [(name, arguments)]
    assert turn.stop == "calls"
    assert "Observation" not in turn.message.text
    assert "Final Answer" not in turn.message.text


BROKEN = [
    'Action: read\nAction Input: {"path": "a',
    "Action: file\nAction Input: just words",
    "Action: read\nAction Input: [1, 2]",
]


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_broken_is_left_to_be_told(text: str) -> None:
    assert said(text).message.calls[0].arguments == text.partition("Input: ")[2]


ANSWERS = [
    ("Final Answer: yes", "yes"),
    ("Thought: good\n**Final Answer:** two\nlines\n", "two\nlines"),
    ("final answer: Action: none is needed", "Action: none is needed"),
]


@pytest.mark.parametrize(("text", "answer"), ANSWERS)
def test_answers(text: str, answer: str) -> None:
    assert said(text) == Turn(ChatMessage("assistant", answer), "end", Usage(1, 1))


@pytest.mark.parametrize(
    "text",
    ["", "Hello.", "Thought: Final Answer is near", "Action:\nAction Input: {}", "Observation: x\nFinal Answer: y"],
)
def test_neither(text: str) -> None:
    turn = said(text)
    assert (turn.stop, turn.message.calls) == ("unclear", ())


def test_cut_off_text_is_no_call() -> None:
    assert said('Action: read\nAction Input: {"path": "a"}', "length").stop == "length"


def test_what_the_model_is_asked() -> None:
    parrot = Parrot("Final Answer: x")
    first = said('Thought: I read.\nAction: read\nAction Input: {"path": "a"}').message
    result = ChatMessage("tool", "line 1\nFinal Answer: no", call_id=first.calls[0].id)
    messages = (ChatMessage("system", "Be good."), ChatMessage("user", "Do."), first, result)
    ReactModel(parrot).turn(ChatRequest(messages, tuple(TOOLS)), Token())
    system, *rest = parrot.asked
    assert system.text.startswith("Be good.\n\nYou can use these tools:\n\nread: Reads.\n  arguments: {\"path\"")  # fmt: skip
    assert rest == [
        ChatMessage("user", "Do."),
        ChatMessage("assistant", 'Thought: I read.\nAction: read\nAction Input: {"path": "a"}'),
        ChatMessage("user", "Observation: line 1\nFinal Answer: no"),
    ]
