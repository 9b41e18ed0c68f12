"""Leases of a worker that a program elsewhere uses: the orders and answers, and the worker's side of them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.fleet.lease import Lease
from toolroll.host.forks.views import ForkKind
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ErrorCode, ToolError, as_tool_error

if TYPE_CHECKING:
    from toolroll.fleet.pool import PoolKit

_THREADS = 64
_METHODS = {
    *("call", "exec", "read_bytes", "write_bytes", "undo", "checkpoint", "rewind"),
    *("changes", "describe", "diff"),
}
_CANCELLED_BY_TOKEN = {"call", "exec"}
_BYTES = {"exec": "stdin", "write_bytes": "data"}
"""The argument of a method that is bytes, which JSON has as base64."""


class LeaseOrder(msgspec.Struct, frozen=True, omit_defaults=True, tag="lease", tag_field="order"):
    """Something to do with a lease: "open", "close", "cancel" (of the earlier order `number`), or a method of it."""

    number: int
    lease: int
    do: str
    given: dict[str, Any] = {}
    """The arguments, by name."""


class LeaseProblem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A ToolError."""

    code: ErrorCode
    message: str
    details: Any = None


class LeaseAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to the order of this number; or, with `progress`, one before it."""

    number: int
    value: msgspec.Raw = msgspec.Raw(b"null")
    problem: LeaseProblem | None = None
    progress: tuple[float, float | None, str] | None = None


class OpenedLease(msgspec.Struct, frozen=True):
    """The answer to "open"."""

    kind: ForkKind
    workspace: str
    limits: dict[str, Any]


class LeaseDesk:
    """Carries out the orders for the leases of a worker, each in a thread."""

    def __init__(self, pools: Sequence[PoolKit], say: Callable[[LeaseAnswer], None]) -> None:
        self._pools, self._say = pools, say
        self._leases: dict[int, Lease] = {}
        self._tokens: dict[int, CancelToken] = {}
        self._threads = ThreadPoolExecutor(_THREADS, "toolroll lease")

    def take(self, order: LeaseOrder) -> None:
        """Carry out an order; the answer comes by `say`."""
        if order.do == "cancel":
            if (token := self._tokens.get(order.number)) is not None:
                token.cancel()
            return
        if order.do in _CANCELLED_BY_TOKEN:
            self._tokens[order.number] = CancelToken()
        self._threads.submit(self._answer, order)

    def _answer(self, order: LeaseOrder) -> None:
        try:
            value = msgspec.json.encode(self._do(order), enc_hook=str)
            answer = LeaseAnswer(order.number, msgspec.Raw(value))
        except Exception as error:  # it is given to the caller
            known = as_tool_error(error) or ToolError(ErrorCode.EXECUTION, f"{type(error).__name__}: {error}")
            answer = LeaseAnswer(order.number, problem=LeaseProblem(known.code, known.message, known.details))
        finally:
            self._tokens.pop(order.number, None)
        self._say(answer)

    def _do(self, order: LeaseOrder) -> Any:
        if order.do == "open":
            lease = self._leases[order.lease] = self._pools[order.given.get("base", 0)].lease()
            return OpenedLease(lease.kind, lease.workspace, msgspec.to_builtins(lease.limits))
        if order.do == "close":
            return self._leases.pop(order.lease).close()
        if order.do not in _METHODS:
            raise ToolError(ErrorCode.UNSUPPORTED, f"A lease elsewhere has no {order.do!r}.")
        given = dict(order.given)
        if (name := _BYTES.get(order.do)) in given:
            given[str(name)] = base64.b64decode(given[str(name)])
        if order.do in _CANCELLED_BY_TOKEN:
            given["token"] = self._tokens[order.number]
        if given.pop("progress", False):
            given["progress"] = lambda *at: self._say(LeaseAnswer(order.number, progress=at))
        return getattr(self._leases[order.lease], order.do)(**given)

    def close(self) -> None:
        """End what runs; the leases themselves are closed with their pools."""
        for token in list(self._tokens.values()):
            token.cancel()
        self._threads.shutdown(cancel_futures=True)
