"""What the user reads before a call may run, and what the client's answers mean."""

import pytest

from toolroll import Effect, ErrorCode, ToolError
from toolroll.host.approval.request import ApprovalRequest, CannotAskError
from toolroll.mcp.approval import ask, question

WRITE = ApprovalRequest(
    "write", Effect.WRITE, {"path": "a"}, "needs approval", (), ("tool", "write"), "every call of 'write'"
)


class Client:
    """A client that gives these answers."""

    def __init__(self, answer, capabilities=("elicitation",)):
        self.answer, self.capabilities, self.asked = answer, capabilities, []

    def can(self, capability):
        return capability in self.capabilities

    def request(self, method, params, withdrawn=None):
        assert withdrawn is None
        self.asked.append((method, params))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_nothing_is_hidden_in_a_question():
    lines = ("ls \u202e# safe\x1b[8m\r;", "rm -r \U000e0041x\u200b")
    asked = question(ApprovalRequest("bash", Effect.RUN, {"command": "..."}, "needs approval", lines))
    assert asked == (
        "May the agent do this?\n\nbash: needs approval\n\ncommand: ...\n"
        "runs: ls \\u202e# safe\\x1b[8m\\r;\nruns: rm -r \\U000e0041x\\u200b"
    )
    asked = question(ApprovalRequest("write", Effect.WRITE, {"path": "a\u202e" * 1_001}, "needs approval"))
    assert asked.endswith("path: " + "a\\u202e" * 1_001)


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ({"action": "accept", "content": {"decision": "once"}}, "once"),
        ({"action": "accept", "content": {"decision": "always"}}, "always"),
        ({"action": "accept", "content": {"decision": "deny"}}, False),
        ({"action": "accept"}, False),
        ({"action": "decline"}, False),
        ({"action": "cancel", "content": {"decision": "always"}}, False),
    ],
)
def test_answers(answer, meant):
    assert ask(WRITE, Client(answer)) == meant


@pytest.mark.parametrize(
    ("client", "why"),
    [
        (None, "elicitation"),
        (Client({}, capabilities=()), "elicitation"),
        (Client({}), "answer"),
        (Client({"action": "later"}), "answer"),
        (Client(ToolError(ErrorCode.UNSUPPORTED, "The client refused.")), "The client refused"),
        (Client(ToolError(ErrorCode.TIMEOUT, "Out of time.")), "Out of time"),
    ],
)
def test_a_client_that_cannot_ask_says_why(client, why):
    with pytest.raises(CannotAskError, match=why):
        ask(WRITE, client)


def test_a_cancelled_call_stays_cancelled():
    with pytest.raises(ToolError, match="gone"):
        ask(WRITE, Client(ToolError(ErrorCode.CANCELLED, "The client has gone.")))


def test_only_what_would_be_remembered_is_offered():
    client = Client({"action": "decline"})
    ask(WRITE, client)
    ask(ApprovalRequest("write", Effect.WRITE, {"path": "a"}, "needs approval"), client)
    forms = [params["requestedSchema"]["properties"]["decision"] for _, params in client.asked]
    assert forms[0]["enumNames"][1] == "Allow every call of 'write' until the server ends"
    assert forms[1]["enum"] == ["once", "deny"]
