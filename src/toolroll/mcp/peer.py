"""The client of one request: what it can do, what it is asked, and how far it learns the work is."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp.backend import Item
from toolroll.mcp.methods import RpcRequest
from toolroll.mcp.suspended import Questions, StatelessCall
from toolroll.mcp.wire import RpcMessage
from toolroll.result import ErrorCode, ToolError

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
_POLL_S = 0.1  # how often a wait for the client looks for cancellation
_PROGRESS_INTERVAL_S = 0.05

Send = Callable[[Any], None]
Then = Callable[[RpcMessage | None], None]
Ask = Callable[[str, Item, Then, RpcRequest], Callable[[], None]]
"""Sends a request to the client, as part of the answer to one of its own; returns a function that takes it back."""


class MissingCapabilityError(ToolError):
    """The client has not declared the capability that a request to it needs."""

    def __init__(self, capability: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED, f"The client of this server does not support {capability}.")
        self.capability = capability


class ClientPeer:
    """A `Peer`: the client of one request. A stateless client gets questions as results of its requests."""

    _last = (-1.0, 0.0)

    def __init__(
        self, request: RpcRequest, capabilities: Item, ask: Ask | StatelessCall, client: Item | None = None
    ) -> None:
        self.token = request.token
        self.client: Item = client or {}
        self._request = request
        self._capabilities = capabilities
        self._ask = ask

    @property
    def meta(self) -> Item:
        found = self._request.params.get("_meta")
        return found if isinstance(found, dict) else {}

    def can(self, capability: str) -> bool:
        return isinstance(self._capabilities.get(capability), dict)

    def request(
        self, method: str, params: Item, name: str | None = None, *, withdrawn: CancelToken | None = None
    ) -> Item:
        """`Peer.request`. A stateless client can answer ahead of time only what has a `name`."""
        name = name or secrets.token_urlsafe(9)
        return self.ask({name: (method, params)}, withdrawn)[name]

    def ask(self, questions: Questions, withdrawn: CancelToken | None = None) -> dict[str, Item]:
        """Send several requests at once, and wait for all results."""
        for method, _ in questions.values():
            if not self.can(capability := method.partition("/")[0]):
                raise MissingCapabilityError(capability)
        if isinstance(self._ask, StatelessCall):
            return self._ask.ask(questions, withdrawn)
        waits = {name: self._send_question(self._ask, *question) for name, question in questions.items()}
        return {name: wait(withdrawn) for name, wait in waits.items()}

    def _send_question(self, ask: Ask, method: str, params: Item) -> Callable[[CancelToken | None], Item]:
        came = threading.Event()
        answers: list[RpcMessage | None] = []

        def then(message: RpcMessage | None) -> None:
            answers.append(message)
            came.set()

        take_back = ask(method, params, then, self._request)

        def wait(withdrawn: CancelToken | None) -> Item:
            while not came.wait(_POLL_S):
                self.token.check()
                if withdrawn is not None and withdrawn.cancelled:
                    take_back()
                    withdrawn.check()
            if (answer := answers[0]) is None:
                raise ToolError(ErrorCode.CANCELLED, "The client has gone.")
            if not isinstance(answer.result, dict):
                raise ToolError(ErrorCode.UNSUPPORTED, f"The client refused {method!r}: {_reason(answer.error)}.")
            return answer.result

        return wait

    def notify(self, method: str, params: Item) -> None:
        """Send a notification; a stateless client gets only the log messages that its request asked for."""
        if method == "notifications/message" and self._request.meta is not None:
            least, level = self.meta.get(_LOG_LEVEL), params.get("level")
            if least not in LEVELS or level not in LEVELS or LEVELS.index(level) < LEVELS.index(least):
                return
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


def _reason(error: Any) -> str:
    return str(error.get("message", "no reason given")) if isinstance(error, dict) else "no reason given"
