"""Calls of stateless clients that wait for answers: the client gets the questions as a result, and sends them later.

The call keeps its thread. Its next request names the call by `requestState`, and stands for it from then on.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp.backend import Item
from toolroll.mcp.methods import RpcRequest
from toolroll.mcp.wire import INVALID_PARAMS, RpcError, make_result
from toolroll.result import ErrorCode, ToolError

MAX_SUSPENDED_CALLS = 16
ANSWER_TIMEOUT_S = 600.0
"""Time in which a stateless client has to come back with its answers."""
_POLL_S = 0.1  # how often a wait for the client looks for cancellation
_ACTIONS = ("accept", "decline", "cancel")
_IS_RESULT: dict[str, Callable[[Item], bool]] = {
    "elicitation/create": lambda given: given.get("action") in _ACTIONS,
    "roots/list": lambda given: isinstance(given.get("roots"), list),
    "sampling/createMessage": lambda given: "content" in given and "role" in given,
}

Questions = Mapping[str, tuple[str, Item]]
"""Method and parameters of requests to the client, by the names under which they are answered."""


class SuspendedCalls:
    """The calls that wait, by their state."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._calls: dict[str, StatelessCall] = {}

    def add(self, call: StatelessCall) -> str:
        """Keep a call; raises ToolError when too many wait."""
        self._drop_expired()
        if len(self._calls) >= MAX_SUSPENDED_CALLS:
            message = "Too many calls wait for an answer. Answer those, or try again later."
            raise ToolError(ErrorCode.UNSUPPORTED, message)
        state = secrets.token_urlsafe(24)
        self._calls[state] = call
        return state

    def resume(self, request: RpcRequest) -> None:
        """Let the call that this request names go on with its answers. Raises RpcError if there is none."""
        with self.changed:
            self._drop_expired()
            state = request.params.get("requestState")
            call = self._calls.get(state) if isinstance(state, str) else None
            if call is None or not call.is_same(request):
                # The message does not say which is wrong: the state may belong to another client.
                message = "No call waits under this requestState. Begin again without it."
                raise RpcError(INVALID_PARAMS, message)
            del self._calls[str(state)]
            call.resume(request)
            self.changed.notify_all()

    def close(self) -> None:
        """Cancel every call that waits."""
        with self.changed:
            waiting, self._calls = list(self._calls.values()), {}
            for one in waiting:
                one.request.token.cancel()
            self.changed.notify_all()

    def _drop_expired(self) -> None:
        for state in [state for state, one in self._calls.items() if one.is_late()]:
            self._calls.pop(state).request.token.cancel()


class StatelessCall:
    """A call whose client is asked by results; `request` is the one that is answered next."""

    def __init__(self, request: RpcRequest, suspended: SuspendedCalls) -> None:
        self.request = request
        request.call = self
        self._suspended = suspended
        self._given = _answers(request)
        self._open: dict[str, tuple[str, Item]] = {}
        self._answers: dict[str, Item] = {}
        self._since: float | None = None  # the client has the questions and has not come back
        self._kept: Item | None = None

    def is_same(self, request: RpcRequest) -> bool:
        """Whether a request makes this call."""
        return all(request.params.get(name) == self.request.params.get(name) for name in ("name", "arguments"))

    def is_late(self) -> bool:
        """Whether the client did not come back in time."""
        return self._since is not None and time.monotonic() - self._since > ANSWER_TIMEOUT_S

    def ask(self, questions: Questions, withdrawn: CancelToken | None) -> dict[str, Item]:
        """The answers, in the thread of the call. Raises ToolError as `Peer.request` does."""
        with self._suspended.changed:
            self._open |= {name: one for name, one in questions.items() if not self._take(name, one[0])}
            try:
                self._put_off()
                while any(name in self._open for name in questions):
                    self._suspended.changed.wait(_POLL_S)
                    if self.is_late():
                        raise ToolError(ErrorCode.TIMEOUT, "The client did not answer in time. Try again later.")
                    self.request.token.check()
                    if withdrawn is not None:
                        withdrawn.check()
            finally:
                for name in questions:
                    self._open.pop(name, None)
            return {name: self._answers.pop(name) for name in questions}

    def resume(self, request: RpcRequest) -> None:
        """Stand for this request from now on, and take its answers."""
        own, own.id, own.send, own.running = self.request, request.id, request.send, request.running
        own.params, own.meta = request.params, request.meta
        own.running[own.id] = own
        self._since, self._given = None, _answers(request)
        for name, (method, _) in tuple(self._open.items()):
            if self._take(name, method):
                del self._open[name]
        if self._kept is not None:
            own.running.pop(own.id)
            own.send({**self._kept, "id": own.id})
        else:
            self._put_off()

    def keep(self, answer: Item) -> bool:
        """Keep the answer for the client's next request, if it was asked and has not come back."""
        with self._suspended.changed:
            if self._since is not None:
                self._kept = answer
            return self._kept is not None

    def _take(self, name: str, method: str) -> bool:
        given = self._given.pop(name, None)
        if not isinstance(given, dict) or not _IS_RESULT[method](given):
            return False
        self._answers[name] = given
        return True

    def _put_off(self) -> None:
        """Answer the present request with the questions, unless the client has questions already."""
        if not self._open or self._since is not None:
            return
        state, request = self._suspended.add(self), self.request
        self._since = time.monotonic()
        asked = {name: {"method": method, "params": params} for name, (method, params) in self._open.items()}
        request.running.pop(request.id, None)
        result = {"resultType": "input_required", "inputRequests": asked, "requestState": state}
        request.send(make_result(request.id, result))


def _answers(request: RpcRequest) -> dict[str, Any]:
    given = request.params.get("inputResponses")
    return dict(given) if isinstance(given, dict) else {}
