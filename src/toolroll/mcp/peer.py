"""The client of one request, on a pair of pipes."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Any

from toolroll.mcp.backend import Item
from toolroll.mcp.methods import Request
from toolroll.mcp.wire import Message, encode
from toolroll.result import ErrorCode, ToolError

_TICK = 0.1  # seconds; how late one who waits for the client notices that the call was cancelled
_BETWEEN = 0.05  # seconds between two reports of progress

Send = Callable[[Any], None]
Then = Callable[[Message | None], None]
Ask = Callable[[str, Item, Then], None]


class InputRequiredError(Exception):
    """A stateless client must be asked first: it sends the request again, with the answer."""

    def __init__(self, key: str, method: str, params: Item) -> None:
        super().__init__(method)
        self.result = {"resultType": "input_required", "inputRequests": {key: {"method": method, "params": params}}}


class Client:
    """What the request says of the client, and the way to reach it. A `Peer`."""

    _last = (-1.0, 0.0)

    def __init__(self, request: Request, capabilities: Item, ask: Ask | None) -> None:
        """Without `ask` the client is stateless: it cannot be asked in between."""
        self.token = request.token
        self._request = request
        self._capabilities = capabilities
        self._ask = ask

    def can(self, capability: str) -> bool:
        """Whether the client can do this."""
        return isinstance(self._capabilities.get(capability), dict)

    def request(self, method: str, params: Item) -> Item:
        """Ask the client and wait for its result. Raises ToolError when none comes."""
        if self._ask is None:
            return self._given(method, params)
        came = threading.Event()
        answers: list[Message | None] = []

        def then(message: Message | None) -> None:
            answers.append(message)
            came.set()

        self._ask(method, params, then)
        while not came.wait(_TICK):
            self.token.check()
        answer = answers[0]
        if answer is None:
            raise ToolError(ErrorCode.CANCELLED, "The client has gone.")
        if not isinstance(answer.result, dict):
            raise ToolError(ErrorCode.UNSUPPORTED, f"The client refused {method!r}: {_reason(answer.error)}.")
        return answer.result

    def notify(self, method: str, params: Item) -> None:
        """Tell the client something."""
        self._request.send({"jsonrpc": "2.0", "method": method, "params": params})

    def progress(self, done: float, total: float | None, note: str) -> None:
        """Tell how far the work is; only growing values, and not too many."""
        meta = self._request.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        now = time.monotonic()
        before, at = self._last
        if token is None or done <= before or (now - at < _BETWEEN and done != total):
            return
        self._last = (done, now)
        params: Item = {"progressToken": token, "progress": done}
        if total is not None:
            params["total"] = total
        if note:
            params["message"] = note
        self.notify("notifications/progress", params)

    def _given(self, method: str, params: Item) -> Item:
        key = hashlib.blake2b(encode([method, params]), digest_size=8).hexdigest()
        answers = self._request.params.get("inputResponses")
        answer = answers.get(key) if isinstance(answers, dict) else None
        if not isinstance(answer, dict):
            raise InputRequiredError(key, method, params)
        return answer


def _reason(error: Any) -> str:
    return str(error.get("message", "no reason given")) if isinstance(error, dict) else "no reason given"
