"""Calls that wait for a stateless client: what it is asked, and which of its requests they take for its answer."""

import threading

import pytest

from tests.waiting import until
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp import suspended as module
from toolroll.mcp.methods import RpcRequest
from toolroll.mcp.suspended import StatelessCall, SuspendedCalls
from toolroll.mcp.wire import RpcError
from toolroll.result import ErrorCode, ToolError

WHO = ("elicitation/create", {"message": "Who?"})
YES = {"action": "accept", "content": {}}


class Client:
    """A client that makes one call: what it is sent, and what the call gets."""

    def __init__(self, calls=None, **params):
        self.calls = calls or SuspendedCalls()
        self.sent, self.got, self.running = [], [], {}
        self.call = StatelessCall(self.request(**params), self.calls)

    def request(self, **params):
        params = {"name": "x", "arguments": {}, **params}
        made = RpcRequest(len(self.sent) + 1, "tools/call", params, self.sent.append, CancelToken(), {})
        made.running = self.running
        return made

    def begin(self, withdrawn=None, **questions):
        """Let the call ask, in its thread."""

        def work():
            try:
                self.got.append(self.call.ask(questions, withdrawn))
            except ToolError as error:
                self.got.append(error.code)

        threading.Thread(target=work, daemon=True).start()
        until(lambda: self.sent or self.got)

    def again(self, state=None, **answers):
        self.calls.resume(self.request(requestState=state or self.state, inputResponses=answers))

    @property
    def state(self):
        return self.sent[-1]["result"]["requestState"]


def test_an_answer_that_comes_with_the_request_is_taken():
    client = Client(inputResponses={"who": YES, "else": YES})
    client.begin(who=WHO)
    assert (client.got, client.sent) == ([{"who": YES}], [])


def test_what_is_asked_meanwhile_is_asked_with_what_is_not_answered_yet():
    client = Client()
    client.begin(who=WHO, roots=("roots/list", {}))
    assert list(client.sent[0]["result"]["inputRequests"]) == ["who", "roots"]
    client.begin(more=WHO)
    client.again(who={"action": "maybe"}, roots={"roots": []})
    assert list(client.sent[1]["result"]["inputRequests"]) == ["who", "more"]
    assert list(client.running) == []
    client.again(who=YES, more={"action": "decline"})
    until(lambda: len(client.got) == 2)
    assert {"who": YES, "roots": {"roots": []}} in client.got
    assert {"more": {"action": "decline"}} in client.got
    assert [*client.running.values()] == [client.call.request]


def test_a_state_is_for_its_own_call_and_for_one_answer():
    client, other = Client(), Client(arguments={"a": 1})
    for one in (client, other):
        one.begin(who=WHO)
    for state in ("unknown", None, 3):
        with pytest.raises(RpcError, match="No call waits under this requestState"):
            client.calls.resume(client.request(requestState=state))
    client.calls._calls["other"] = other.call
    with pytest.raises(RpcError, match="No call waits"):
        client.again("other", who=YES)
    state = client.state
    client.again(who=YES)
    with pytest.raises(RpcError, match="No call waits"):
        client.again(state, who=YES)


def test_the_answer_of_a_call_that_has_ended_waits_for_the_next_request():
    """Its question was answered elsewhere."""
    withdrawn, client = CancelToken(), Client()
    client.begin(withdrawn, who=WHO)
    withdrawn.cancel()
    until(lambda: client.got)
    assert client.call.keep({"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}) is True
    client.again()
    assert client.sent[1] == {"jsonrpc": "2.0", "id": 2, "result": {"a": 1}}
    assert StatelessCall(client.request(), client.calls).keep({}) is False, "nothing was asked"


@pytest.mark.parametrize("how", ["late", "closed", "cancelled", "full"])
def test_a_call_does_not_wait_for_ever(how, monkeypatch):
    client = Client()
    if how == "full":
        monkeypatch.setattr(module, "MAX_SUSPENDED_CALLS", 0)
    client.begin(who=WHO)
    if how == "late":
        monkeypatch.setattr(module, "ANSWER_TIMEOUT_S", 0)
    elif how == "closed":
        client.calls.close()
    elif how == "cancelled":
        client.call.request.token.cancel()
    until(lambda: client.got)
    codes = {"late": ErrorCode.TIMEOUT, "full": ErrorCode.UNSUPPORTED}
    assert client.got == [codes.get(how, ErrorCode.CANCELLED)]
    if how == "late":
        with pytest.raises(RpcError, match="No call waits"):
            client.again(who=YES)
