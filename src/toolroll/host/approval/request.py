"""The approval request: what an approver is shown, and what it can answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import msgspec

from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, ToolError
from toolroll.text.escape import escape_line, escape_text

MAX_ROWS = 1_000
"""Rows of 80 columns that a question may have: what terminals keep to scroll back to, and more than a person reads."""
_COLUMNS = 80
_MARGIN = "  | "


class CannotAskError(Exception):
    """Raised by an approver that cannot reach a person now; the message says why, as part of a sentence."""


class Consent(StrEnum):
    """The outcome of a request."""

    GIVEN = "given"
    DECLINED = "declined"  # the person said no, or dismissed the question
    NOT_ASKED = "not asked"  # there is no approver, or it could not ask


class Refusal(msgspec.Struct, frozen=True, tag_field="answer", tag="no"):
    """No, for a reason that the model reads."""

    reason: str = ""


class ChangedCall(msgspec.Struct, frozen=True, tag_field="answer", tag="changed"):
    """Yes, once, to the call with these arguments in place of its own."""

    arguments: dict[str, Any]


Grant = Literal["once", "session", "always"]
GRANTS: tuple[Grant, ...] = ("once", "session", "always")
Answer = bool | Grant | Refusal | ChangedCall
"""True is "once"; "session" and "always" also agree to later requests with the same key. All else is no."""


def read_answer(given: Any, reason: str = "", arguments: Mapping[str, Any] | None = None) -> Answer:
    """What a person has answered: a word, with a reason or other arguments, or what was sent by msgspec.

    ValueError for what is no answer.
    """
    if given == "no":
        return Refusal(reason)
    if arguments is not None and given == "once":
        return ChangedCall(dict(arguments))
    try:
        return msgspec.convert(given, Answer)  # type: ignore[no-any-return]  # a union is not a type to mypy
    except msgspec.ValidationError:
        raise ValueError(f"There is no answer {given!r}. There are: {', '.join(GRANTS)}, no.") from None


class CallChangedError(ToolError):
    """The person has changed the call: it ends here, and is made again with these arguments."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(ErrorCode.PERMISSION, "The user has changed this call, which cannot be changed. Ask the user.")
        self.arguments = arguments


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What the approver is asked: the whole call that would run, and all that it would run.

    It is sent and read by msgspec as it is, but for `guard`.
    """

    name: str
    effects: Effect
    arguments: Mapping[str, Any]
    reason: str
    runs: tuple[str, ...] = ()
    """Each text that would be run, whole: of a shell, the words of a program, the code that it is given."""
    key: tuple[str, ...] = ()
    """What "session" and "always" are remembered by, its kind first; without one, every request is asked."""
    covers: str = ""  # what a remembered answer agrees to, in words, such as "every call of 'write'"
    variables: tuple[str, ...] = ()
    """What earlier commands have set and this one would get, each as NAME=value or "unset NAME"."""
    parts: tuple[tuple[str, str], ...] = ()  # of a command: the text of each, and why it is asked about
    predicted: tuple[str, ...] = ()  # what the words of a command tell of its effects
    held: str = ""  # the changes that a command has made in a fork, as a diff
    editable: bool = False  # whether the arguments are those of the whole call, so that it can be changed
    guard: object = field(default=None, repr=False, compare=False)
    """Who asks: a remembered answer covers its other requests with the same key, also those that wait."""

    @property
    def commands(self) -> tuple[str, ...]:
        """What would run, whole: its texts, or the call itself where it runs none."""
        return self.runs or (f"{self.name} {_json(dict(self.arguments), None)}",)

    @property
    def title(self) -> str:
        return escape_line(f"{self.name}: {self.reason}")

    @property
    def body(self) -> str:
        """Every argument and every text that would run, complete.

        Characters that hide or reorder text are escapes. A line of a value of several lines begins with a margin,
        so that no value can look like a line of the question itself.
        """
        given = list(self.arguments.items())
        shown = [value for _, value in given]
        more = [("runs", text) for text in self.runs if text not in shown]
        more += [("with", one) for one in self.variables]
        return "\n".join(line for name, value in (*given, *more) for line in _lines(name, value))

    @property
    def text(self) -> str:
        """The whole question, to be shown as it is."""
        covers = f'\n\n"session" and "always" cover {self.scope}.' if self.key else ""
        return f"{self.title}\n\n{self.body}{self._prediction}{covers}"

    @property
    def _prediction(self) -> str:
        if not self.predicted:
            return ""
        lines = "".join(f"\n- {escape_line(one)}" for one in self.predicted)
        return f"\n\nBy its words it{lines}\nIt may also do other things."

    @property
    def scope(self) -> str:
        """What a remembered answer covers, as it is shown."""
        return escape_line(self.covers)

    @property
    def rows(self) -> int:
        return rows(self.text)


Approver = Callable[[ApprovalRequest], Answer]  # answers a request; raises CannotAskError when no person can be asked


@dataclass(frozen=True, slots=True)
class ParallelApprover:
    """An approver that several threads may ask at once; others are asked one thing at a time."""

    ask: Approver

    def __call__(self, request: ApprovalRequest) -> Answer:
        return self.ask(request)


def rows(text: str) -> int:
    """How many rows of 80 columns a text takes."""
    return sum(max(1, -(-len(line) // _COLUMNS)) for line in text.split("\n"))


def _lines(name: str, value: Any) -> Iterator[str]:
    text = value if isinstance(value, str) else _json(value, 2)
    first, *rest = escape_text(text).split("\n")
    label = escape_line(name)
    if not rest:
        yield f"{label}: {first}"
        return
    yield f"{label}:"
    yield from (f"{_MARGIN}{line}" for line in (first, *rest))


def _json(value: Any, indent: int | None) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=indent, default=repr)
