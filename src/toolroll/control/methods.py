"""What can be asked over the control socket: one function for each method."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolroll.control.calls import LiveCalls
from toolroll.control.views import VIEWS, show
from toolroll.host.approval.request import Answer, Refusal, read_answer
from toolroll.host.approval.waiting import WaitingApprovals, WaitingRequest

if TYPE_CHECKING:
    from toolroll.kit import Kit

_MAX_LISTED_CALLS = 1_000
_MAX_SESSIONS = 20  # whose todo lists are looked for
_MAX_REASON_CHARS = 2_000
ACTS = frozenset(("answer", "undo", "rewind", "checkpoint", "job_keys", "job_stop"))
"""Methods that change something: each names the process that it is for."""
Params = dict[str, Any]


@dataclass(slots=True)
class Hands:
    """What a method works on: the process, its kit and its calls."""

    id: str
    kind: str
    client: str
    calls: LiveCalls
    approvals: WaitingApprovals
    current_kit: Kit | None = None
    pid: int = field(default_factory=os.getpid)
    """Of the process that the client has started, where a daemon works for it."""
    started: float = field(default_factory=time.time)

    @property
    def kit(self) -> Kit:
        """The kit of the process; ValueError if it has none yet."""
        if self.current_kit is None:
            raise ValueError("The process has not opened its workspace yet.")
        return self.current_kit


def hello(hands: Hands, _params: Params) -> Params:
    """Who the process is, and where it works."""
    from toolroll import __version__

    kit = hands.kit
    return {
        "id": hands.id,
        "pid": hands.pid,
        "kind": hands.kind,
        "client": hands.client,
        "workspace": kit.workspace,
        "version": __version__,
        "started": hands.started,
        "dialect": kit.dialect.name,
        "mode": kit.mode,
        "sandbox": kit.policy.sandbox,
        "session": kit.session,
    }


def list_calls(hands: Hands, params: Params) -> Params:
    """The last calls, the newest first."""
    limit = min(number(params, "limit", 100), _MAX_LISTED_CALLS)
    before = None if params.get("before") is None else number(params, "before")
    calls, more = hands.calls.page(before, limit, params.get("text"))
    return {"calls": calls, "more": more}


def call_text(hands: Hands, params: Params) -> Params:
    """One call, whole."""
    return hands.calls.text_of(number(params, "seq"))


def list_todos(hands: Hands, _params: Params) -> Params:
    """The todo list of the session that was used last, of those that have one: a daemon serves many."""
    lists = (show(hands.kit, "todos", {"session": one}) for one in hands.calls.sessions()[:_MAX_SESSIONS])
    return next((one for one in lists if one["todos"]), None) or show(hands.kit, "todos", {})


def usage(hands: Hands, _params: Params) -> Params:
    """Calls, errors, time and tokens by tool, those that took longest first."""
    found = sorted(hands.calls.metrics.by_tool().items(), key=lambda item: -item[1].seconds)
    return {
        "tools": [
            {"tool": name, "calls": one.calls, "errors": one.errors, "seconds": one.seconds, "tokens": one.tokens}
            for name, one in found
        ]
    }


def list_approvals(hands: Hands, _params: Params) -> Params:
    """What waits for an answer."""
    return {"waiting": hands.approvals.all()}


def answer(hands: Hands, params: Params) -> Params:
    """Answer a request as it was shown; says what became of the answer."""
    id, digest = str(params.get("id")), str(params.get("digest"))
    found = next((one for one in hands.approvals.all() if one.id == id), None)
    try:
        given = _read_answer(hands, params, found)
    except ValueError as error:
        return {"state": "refused", "why": str(error)}
    state, why = hands.approvals.answer(id, digest, given)
    return {"state": state, "why": why}


def _read_answer(hands: Hands, params: Params, found: WaitingRequest | None) -> Answer:
    """The answer of these parameters; ValueError if the request cannot be answered so."""
    word, arguments, reason = params.get("answer"), params.get("arguments"), params.get("reason") or ""
    given = read_answer(str(word), str(reason)[:_MAX_REASON_CHARS])
    if isinstance(given, Refusal) or found is None:  # there is nothing to answer: that is said
        return given
    if arguments is not None:
        if given != "once" or not found.editable or not isinstance(arguments, dict):
            raise ValueError("This request cannot be answered with another call. A changed call is allowed once.")
        checked = hands.kit.check(found.tool, arguments)
        if not checked.ok:
            raise ValueError(f"The changed call is not valid: {' '.join(checked.faults)}")
        return read_answer(given, arguments=arguments)
    if given != "once" and not found.lasting:
        raise ValueError("This request can be allowed only once.")
    return given


def number(params: Params, name: str, default: int | None = None) -> int:
    """A parameter that is a number; ValueError if it is missing or no number."""
    found = params.get(name, default)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise ValueError(f"{name!r} is {found!r}. Give a number.")
    return found


def _act(hands: Hands, name: str, params: Params) -> Any:
    """Do what a person has asked of this process; ValueError if it was asked of another one."""
    given = dict(params)
    meant = given.pop("process", None)
    if meant != {"id": hands.id, "started": hands.started}:
        why = "This act names no process" if meant is None else "This act is for another process, or an earlier one"
        raise ValueError(f"{why}. Nothing was done: load the page or the list again.")
    return METHODS[name](hands, given) if name in METHODS else show(hands.kit, name, given)


METHODS: dict[str, Callable[[Hands, Params], Any]] = {
    "hello": hello,
    "calls": list_calls,
    "call_text": call_text,
    "usage": usage,
    "todos": list_todos,
    "approvals": list_approvals,
    "answer": answer,
}


def find_method(name: str) -> Callable[[Hands, Params], Any]:
    """The function of this method; ValueError if there is none."""
    if name in ACTS:
        return lambda hands, params: _act(hands, name, params)
    if name in METHODS:
        return METHODS[name]
    if name not in VIEWS:
        raise ValueError(
            f"There is no method {name!r}. There are: {', '.join(dict.fromkeys((*METHODS, 'subscribe', *VIEWS)))}."
        )
    return lambda hands, params: show(hands.kit, name, params)
