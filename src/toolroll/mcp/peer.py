"""The client of one request over stdio."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Any

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp.backend import Item
from toolroll.mcp.methods import RpcRequest
from toolroll.mcp.wire import RpcMessage, encode
from toolroll.result import ErrorCode, ToolError

_POLL_S = 0.1  # how often a wait for the client looks for cancellation
_PROGRESS_INTERVAL_S = 0.05

Send = Callable[[Any], None]
Then = Callable[[RpcMessage | None], None]
Ask = Callable[[str, Item, Then], Callable[[], None]]
"""Sends a request to the client; returns a function that takes it back."""


class InputRequiredError(Exception):
    """A stateless client must answer a question first: it sends the request again, with the answer."""

    def __init__(self, key: str, method: str, params: Item) -> None:
        super().__init__(method)
        self.result = {"resultType": "input_required", "inputRequests": {key: {"method": method, "params": params}}}


class StdioPeer:
    """A `Peer`: the client of one request and what it can do."""

    _last = (-1.0, 0.0)

    def __init__(self, request: RpcRequest, capabilities: Item, ask: Ask | None, client: Item | None = None) -> None:
        """Without `ask` the client is stateless: it gets questions only as results."""
        self.token = request.token
        meta = request.params.get("_meta")
        self.meta: Item = meta if isinstance(meta, dict) else {}
        self.client: Item = client or {}
        self._request = request
        self._capabilities = capabilities
        self._ask = ask

    def can(self, capability: str) -> bool:
        return isinstance(self._capabilities.get(capability), dict)

    def request(self, method: str, params: Item, *, withdrawn: CancelToken | None = None) -> Item:
        if self._ask is None:
            return self._given_answer(method, params)
        came = threading.Event()
        answers: list[RpcMessage | None] = []

        def then(message: RpcMessage | None) -> None:
            answers.append(message)
            came.set()

        take_back = self._ask(method, params, then)
        while not came.wait(_POLL_S):
            self.token.check()
            if withdrawn is not None and withdrawn.cancelled:
                take_back()
                withdrawn.check()
        answer = answers[0]
        if answer is None:
            raise ToolError(ErrorCode.CANCELLED, "The client has gone.")
        if not isinstance(answer.result, dict):
            raise ToolError(ErrorCode.UNSUPPORTED, f"The client refused {method!r}: {_reason(answer.error)}.")
        return answer.result

    def notify(self, method: str, params: Item) -> None:
        self._request.send({"jsonrpc": "2.0", "method": method, "params": params})

    def progress(self, done: float, total: float | None, note: str) -> None:
        """Report progress: growing values only, and not too many."""
        token = self.meta.get("progressToken")
        now = time.monotonic()
        before, at = self._last
        if token is None or done <= before or (now - at < _PROGRESS_INTERVAL_S and done != total):
            return
        self._last = (done, now)
        params: Item = {"progressToken": token, "progress": done}
        if total is not None:
            params["total"] = total
        if note:
            params["message"] = note
        self.notify("notifications/progress", params)

    def _given_answer(self, method: str, params: Item) -> Item:
        key = hashlib.blake2b(encode([method, params]), digest_size=8).hexdigest()
        answers = self._request.params.get("inputResponses")
        answer = answers.get(key) if isinstance(answers, dict) else None
        if not isinstance(answer, dict):
            raise InputRequiredError(key, method, params)
        return answer


def _reason(error: Any) -> str:
    return str(error.get("message", "no reason given")) if isinstance(error, dict) else "no reason given"
