"""Leases of a worker that a program elsewhere uses: the orders and answers, and the worker's side of them."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from toolroll.fleet.lease import Lease
from toolroll.host.approval.request import (
    Answer,
    ApprovalRequest,
    Approver,
    CannotAskError,
    ChangedCall,
    ParallelApprover,
    Refusal,
)
from toolroll.host.forks.views import ForkKind
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, ToolError, as_tool_error

if TYPE_CHECKING:
    from toolroll.fleet.pool import PoolKit

MAX_ANSWER_BYTES = 384 << 20
"""The longest answer of a lease: room for the largest file that `read_bytes` reads, as base64."""
_THREADS = 64
_METHODS = {
    *("call", "exec", "read_bytes", "write_bytes", "undo", "checkpoint", "rewind"),
    *("changes", "describe", "diff"),
}
_CANCELLED_BY_TOKEN = {"call", "exec"}
_BYTES = {"exec": "stdin", "write_bytes": "data"}
"""The argument of a method that is bytes, which JSON has as base64."""


class LeaseOrder(msgspec.Struct, frozen=True, omit_defaults=True, tag="lease", tag_field="order"):
    """Something to do with a lease: "open", "close", or a method of it.

    "cancel" and "answer" (to a question, an `ApproverAnswer`) are about the earlier order of this number.
    """

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


class LeaseQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the approver of a call is asked: the fields of an `ApprovalRequest`."""

    question: int
    name: str
    effects: int
    arguments: dict[str, Any]
    reason: str
    runs: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    covers: str = ""
    variables: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    predicted: tuple[str, ...] = ()
    held: str = ""
    editable: bool = False

    @classmethod
    def of(cls, question: int, request: ApprovalRequest) -> LeaseQuestion:
        """The question of this number. Arguments that JSON does not have are sent as text."""
        given = {name: getattr(request, name) for name in _REQUEST_FIELDS}
        given["effects"] = request.effects.value
        given["arguments"] = msgspec.to_builtins(dict(request.arguments), enc_hook=str)
        return cls(question, **given)

    def as_request(self, guard: object) -> ApprovalRequest:
        """What an approver is shown; `guard` stands for who asks."""
        given = {name: getattr(self, name) for name in _REQUEST_FIELDS}
        return ApprovalRequest(**{**given, "effects": Effect(self.effects)}, guard=guard)


_REQUEST_FIELDS = [one for one in LeaseQuestion.__struct_fields__ if one != "question"]


class ApproverStoppedError(Exception):
    """The approver raised an error at the other side, where it goes on: it ends the call."""


class ApproverAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of a question: an answer, or "not asked" and "stopped" if the approver raised an error."""

    question: int
    answer: Literal["once", "session", "always", "declined", "changed", "not asked", "stopped"]
    why: str = ""
    arguments: dict[str, Any] = {}

    @classmethod
    def of(cls, question: int, answer: Answer) -> ApproverAnswer:
        """As `Guard` reads an answer: what is none is a no."""
        match answer:
            case True:
                return cls(question, "once")
            case "once" | "session" | "always":
                return cls(question, answer)
            case ChangedCall(arguments):
                return cls(question, "changed", arguments=dict(arguments))
            case _:
                return cls(question, "declined", answer.reason if isinstance(answer, Refusal) else "")

    def read(self) -> Answer:
        """What the approver answered, or an error in place of the one that it raised."""
        match self.answer:
            case "once" | "session" | "always":
                return self.answer
            case "changed":
                return ChangedCall(self.arguments)
            case "not asked":
                raise CannotAskError(self.why)
            case "stopped":
                raise ApproverStoppedError
        return Refusal(self.why)


class LeaseAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to the order of this number; or, with `progress` or a `question`, one before it."""

    number: int
    value: msgspec.Raw = msgspec.Raw(b"null")
    problem: LeaseProblem | None = None
    progress: tuple[float, float | None, str] | None = None
    question: LeaseQuestion | None = None


class OpenedLease(msgspec.Struct, frozen=True):
    """The answer to "open"."""

    kind: ForkKind
    workspace: str
    limits: dict[str, Any]


class LeaseDesk:
    """Carries out the orders for the leases of a worker, each in a thread."""

    def __init__(self, pool: PoolKit, say: Callable[[LeaseAnswer], None]) -> None:
        self._pool, self._say = pool, say
        self._leases: dict[int, Lease] = {}
        self._tokens: dict[int, CancelToken] = {}
        self._numbers, self._questions = itertools.count(1), dict[int, Future[ApproverAnswer]]()
        self._threads = ThreadPoolExecutor(_THREADS, "toolroll lease")

    def take(self, order: LeaseOrder) -> None:
        """Carry out an order; the answer comes by `say`."""
        if order.do == "cancel":
            if (token := self._tokens.get(order.number)) is not None:
                token.cancel()
            return
        if order.do == "answer":
            given = msgspec.convert(order.given, ApproverAnswer)
            if (waiting := self._questions.pop(given.question, None)) is not None:
                waiting.set_result(given)
            return
        if order.do in _CANCELLED_BY_TOKEN:
            self._tokens[order.number] = CancelToken()
        self._threads.submit(self._answer, order)

    def _answer(self, order: LeaseOrder) -> None:
        try:
            value = msgspec.json.encode(self._do(order), enc_hook=str)
            if len(value) > MAX_ANSWER_BYTES:
                said = f"The answer has {len(value)} bytes, and {MAX_ANSWER_BYTES} can be sent. Ask for less at once."
                raise ToolError(ErrorCode.TOO_LARGE, said)
            answer = LeaseAnswer(order.number, msgspec.Raw(value))
        except Exception as error:  # it is given to the caller
            known = as_tool_error(error) or ToolError(ErrorCode.EXECUTION, f"{type(error).__name__}: {error}")
            answer = LeaseAnswer(order.number, problem=LeaseProblem(known.code, known.message, known.details))
        finally:
            self._tokens.pop(order.number, None)
        self._say(answer)

    def _do(self, order: LeaseOrder) -> Any:
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
            given["token"] = self._tokens[order.number]
        if given.pop("progress", False):
            given["progress"] = lambda *at: self._say(LeaseAnswer(order.number, progress=at))
        if how := given.pop("approve", ""):
            approve: Approver = partial(self._ask, order.number)
            given["approve"] = ParallelApprover(approve) if how == "parallel" else approve
        return getattr(self._leases[order.lease], order.do)(**given)

    def _ask(self, number: int, request: ApprovalRequest) -> Answer:
        """Have the approver at the other side answer, as long as the order is not cancelled."""
        token, question, answer = self._tokens[number], next(self._numbers), Future[ApproverAnswer]()
        self._questions[question] = answer
        self._say(LeaseAnswer(number, question=LeaseQuestion.of(question, request)))
        try:
            while True:
                with suppress(TimeoutError):
                    return answer.result(POLL_SECONDS).read()
                if token.cancelled:
                    token.check()
        finally:
            self._questions.pop(question, None)

    def close(self) -> None:
        """End what runs; the leases themselves are closed with their pool."""
        for token in list(self._tokens.values()):
            token.cancel()
        self._threads.shutdown(cancel_futures=True)
