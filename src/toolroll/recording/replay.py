"""Run the calls of a recording again, on the files that they began with, and compare the results."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from toolroll import dialects
from toolroll.dialect import Dialect, Relay
from toolroll.formats import wire_text
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError, read_answer
from toolroll.host.files.versions import digest
from toolroll.host.settings import Settings
from toolroll.kit import Kit
from toolroll.policy.secrets import Redaction
from toolroll.recording.changed_paths import changed_paths
from toolroll.recording.recording import WORKSPACE, AnswerRecord, CallRecord, Recording, question_of
from toolroll.recording.start_files import put_back
from toolroll.result import ErrorCode, Result, Suggestion
from toolroll.text.diff import unified
from toolroll.wording import DialectWording

Outcome = Literal["same", "differs", "absent"]
# What is another one in each run, in both texts.
_VARYING = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?", "{time}"),
        (r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} +\d+ \d\d:\d\d:\d\d(?: \w+)? \d{4}", "{time}"),
        (r"\b\w{3} +\d{1,2} \d\d:\d\d\b", "{time}"),
        (r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds?|minutes?)\b", "{duration}"),
        (r"\b[0-9a-f]{40}\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,16}\b", "{id}"),
        (r"\b(pid|PID|process|entry|entries) \d+", r"\1 {number}"),
        (r"/tmp/[\w./-]+", "{temporary}"),
        (r" at 0x[0-9a-f]+", " at {address}"),
    )
)


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One call of a recording, and how its result compares with the recorded one."""

    number: int
    name: str
    outcome: Outcome
    why: str = ""
    """What differs, in a few lines; why a dialect does not have the call."""


def replay(
    recording: Recording, source: str, settings: Settings, dialect: Dialect | None = None
) -> Iterator[ReplayedCall]:
    """Run each call again on a copy of the files that the recording began with, which are removed at the end.

    With another dialect each call is made as a model would make it there, and only status and files are compared.
    """
    with put_back(recording.start, source) as (path, state), ExitStack() as closing:
        make = partial(_make, path, state, recording, settings, closing)
        own = dialects.load(recording.start.dialect)
        run = _Run(path, make(own), None if dialect is None else make(dialect))
        for number, record in enumerate(recording.calls, 1):
            yield run.call(number, record)


class _Run:
    """One replay: the kit of the recording, and that of another dialect."""

    def __init__(self, path: str, own: _ReplayKit, other: _ReplayKit | None) -> None:
        self._path, self._own, self._other = path, own, other

    def call(self, number: int, record: CallRecord) -> ReplayedCall:
        name, arguments = record.name, _replace(record.arguments, WORKSPACE, self._path)
        if self._other is None:
            return self._compare(number, record, self._own, Suggestion(name, arguments))
        found = _translate(self._own.kit, self._other.kit, name, arguments)
        if found is None:
            self._own.call(record, name, arguments)  # later calls need what it does
            return ReplayedCall(number, name, "absent", f"{self._other.kit.dialect.name} has no such call")
        return self._compare(number, record, self._other, found)

    def _compare(self, number: int, record: CallRecord, there: _ReplayKit, call: Suggestion) -> ReplayedCall:
        result, changed = there.call(record, call.name, call.arguments)
        if self._other is not None and result.error is not None and result.error.code is ErrorCode.UNSUPPORTED:
            return ReplayedCall(number, call.name, "absent", result.error.message)
        why = list(_differences(record, result, changed))
        if not why and self._other is None:
            text = _replace(wire_text(result), self._path, WORKSPACE)
            images = [digest(one.data).hex() for one in result.images]
            why = [*_text_differences(record.text, text), *(["other pictures"] if images != record.images else [])]
        return ReplayedCall(number, call.name, "differs" if why else "same", "\n".join(why))


def _translate(own: Kit, other: Kit, name: str, arguments: Any) -> Suggestion | None:
    """The call as a model would make it in another dialect; None if it cannot."""
    meant = _bind(own, name, arguments)
    found = meant and DialectWording(lambda _: other.entries()).suggestion(meant)
    there = found and _bind(other, found.name, found.arguments)
    if meant is None or there is None or there.name != meant.name:
        return None
    return found if {**there.arguments, **meant.arguments} == there.arguments else None


def _bind(kit: Kit, name: str, arguments: Any) -> Suggestion | None:
    """What a call means: the tool, and those of its own arguments that are not the default."""
    checked = kit.check(name, arguments)
    entry = kit.entry(checked.name)
    if not checked.ok or entry is None or isinstance(entry, Relay):
        return None
    view = entry.pick(checked.arguments)
    defaults = {one.name: one.default for one in view.tool.parameters if not one.required}
    bound = view.bind(checked.arguments).items()
    return Suggestion(view.tool.name, dict(one for one in bound if defaults.get(one[0], one) != one[1]))


class _ReplayKit:
    """A kit, and the answers that its user has given. Mode and policy are those of the settings."""

    def __init__(self, path: str, state: str, recording: Recording, settings: Settings, dialect: Dialect) -> None:
        self._answers: dict[str, list[AnswerRecord]] = {}
        for one in recording.answers if recording.signed else ():
            self._answers.setdefault(one.question, []).append(one)
        self._redact = Redaction(os.environ)
        approve, place = self._approve if self._answers else None, f"{state}-{dialect.name}"
        self.kit = Kit(path, dialect, settings=settings, approve=approve, state_dir=place)

    def _approve(self, request: ApprovalRequest) -> Answer:
        """What the user answered the same question then, as often as it was asked; anything else is not answered."""
        known = self._answers.get(question_of(request, self._clean))
        if not known:
            raise CannotAskError("the recording has no answer to this question")
        answer = known.pop(0)
        changed = answer.arguments and _replace(answer.arguments, WORKSPACE, self.kit.workspace)
        return read_answer(answer.answer, answer.reason, changed)

    def _clean(self, text: str) -> str:
        return self._redact(text.replace(self.kit.workspace, WORKSPACE))

    def call(self, record: CallRecord, name: str, arguments: Any) -> tuple[Result, dict[str, str]]:
        """The result, and the paths that the call changed."""
        log = self.kit.journal.log
        before = log.size()
        result = self.kit.call(name, arguments, cwd=record.cwd, tools="all")
        return result, changed_paths(log.entries_from(before)) if log.size() != before else {}


def _make(
    path: str, state: str, recording: Recording, settings: Settings, closing: ExitStack, dialect: Dialect
) -> _ReplayKit:
    opened = _ReplayKit(path, state, recording, settings, dialect)
    closing.callback(opened.kit.close)
    return opened


def _differences(record: CallRecord, result: Result, changed: dict[str, str]) -> Iterator[str]:
    """How status and files differ."""
    if (result.status == "error") != (record.status == "error"):
        yield f"it was {record.code or record.status}, now it is {result.error.code if result.error else result.status}"
    for path in sorted(record.changed.keys() | changed.keys()):
        if path not in changed:
            yield f"{path}: it is not changed now"
        elif record.changed.get(path) != changed[path]:
            yield f"{path}: it has another content now" if path in record.changed else f"{path}: it was not changed"


def _text_differences(was: str, now: str) -> Iterator[str]:
    for pattern, name in _VARYING:
        was, now = pattern.sub(name, was), pattern.sub(name, now)
    if was != now:
        yield unified(was, now)


def _replace(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {name: _replace(one, old, new) for name, one in value.items()}
    return [_replace(one, old, new) for one in value] if isinstance(value, list) else value
