"""Leases of a worker that a program elsewhere uses: the worker's side of their calls."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.fleet.lease import Lease
from toolroll.host.approval.request import (
    Answer,
    ApprovalRequest,
    Approver,
    CannotAskError,
    ParallelApprover,
    read_answer,
)
from toolroll.host.forks.views import ForkKind
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.fleet.pool import PoolKit
    from toolroll.host.rpc.channel import ServedCall

_METHODS = {
    *("call", "exec", "read_bytes", "write_bytes", "undo", "checkpoint", "rewind"),
    *("changes", "describe", "diff"),
}
_CANCELLED_BY_TOKEN = {"call", "exec"}
_BYTES = {"exec": "stdin", "write_bytes": "data"}
"""The argument of a method that is bytes, which JSON has as base64."""
CANNOT_ASK = "cannot ask"
"""In place of an answer, with the reason: the approver could not ask anybody."""


class LeaseOrder(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something to do with a lease: "open", "close", or a method of it."""

    lease: int
    do: str
    given: dict[str, Any] = {}
    """The arguments, by name."""


class OpenedLease(msgspec.Struct, frozen=True):
    """The answer to "open"."""

    kind: ForkKind
    workspace: str
    limits: dict[str, Any]


class LeaseServer:
    """Carries out the orders for the leases of a worker. The leases are closed with their pool."""

    def __init__(self, pool: PoolKit) -> None:
        self._pool, self._leases = pool, dict[int, Lease]()

    def carry_out(self, order: LeaseOrder, call: ServedCall) -> Any:
        """What it gives; ToolError where that fails."""
        if order.do == "open":
            lease = self._leases[order.lease] = self._pool.lease()
            return OpenedLease(lease.kind, lease.workspace, msgspec.to_builtins(lease.limits))
        if order.do == "close":
            return self._leases.pop(order.lease).close()
        if order.do not in _METHODS:
            raise ToolError(ErrorCode.UNSUPPORTED, f"A lease elsewhere has no {order.do!r}.")
        given = dict(order.given)
        if (name := _BYTES.get(order.do)) in given:
            given[str(name)] = base64.b64decode(given[str(name)])
        if order.do in _CANCELLED_BY_TOKEN:
            given["token"] = call.token
        if given.pop("progress", False):
            given["progress"] = lambda *at: call.tell("progress", at)
        if how := given.pop("approve", ""):
            approve: Approver = partial(_ask, call)
            given["approve"] = ParallelApprover(approve) if how == "parallel" else approve
        return getattr(self._leases[order.lease], order.do)(**given)


def _ask(call: ServedCall, request: ApprovalRequest) -> Answer:
    """Have the approver at the other side answer, as long as the call is not cancelled."""
    try:
        answer = call.ask("approve", replace(request, guard=None), call.token)
    except ToolError:
        if not call.token.cancelled:
            raise
        raise CannotAskError("the call was cancelled") from None
    if isinstance(answer, Mapping) and CANNOT_ASK in answer:
        raise CannotAskError(str(answer[CANNOT_ASK]))
    return read_answer(answer)


def answer_for(approve: Approver, asked: Any, guard: object) -> Any:
    """What the approver answers to such a question of the other side; `guard` stands for who asks."""
    request = replace(msgspec.convert(asked, ApprovalRequest), guard=guard)
    try:
        return approve(request)
    except CannotAskError as error:
        return {CANNOT_ASK: str(error).rstrip(".")}
    except (EOFError, OSError) as error:
        return {CANNOT_ASK: f"asking failed ({type(error).__name__})"}
