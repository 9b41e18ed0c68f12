"""The file of a recording: lines of JSON, the start first, then each call."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from toolroll.host.approval.request import ApprovalRequest
from toolroll.host.recordings.recording_file import read_key, sign, split_signature
from toolroll.result import ErrorCode, ToolError

WORKSPACE = "{workspace}"
"""What stands for the path of the workspace in a recording."""
_VERSION = 1


class StartState(msgspec.Struct, frozen=True, tag="start", tag_field="type"):
    """What a recording began with: the kit, and its files as a commit and what differed from it."""

    toolroll: str
    dialect: str
    mode: str
    commit: str = ""
    branch: str = ""
    deleted: list[str] = []
    """Files of the commit that were not there."""
    files: bytes = b""
    """A tar, compressed by gzip: what differed from the commit; all files where there is no commit."""
    version: int = _VERSION


class CallRecord(msgspec.Struct, frozen=True, tag="call", tag_field="type"):
    """A call, and what came of it."""

    name: str
    arguments: Any
    status: str
    text: str
    """What the model read."""
    code: str = ""
    cwd: str = "."
    images: list[str] = []
    """The digests of the pictures."""
    changed: dict[str, str] = {}
    """The paths that it changed: what is there then, as a digest with its kind; empty where nothing is."""


class AnswerRecord(msgspec.Struct, frozen=True, tag="answer", tag_field="type"):
    """A question of the policy, and what the user answered."""

    question: str
    answer: Literal["once", "session", "no"]
    reason: str = ""
    arguments: dict[str, Any] | None = None
    """Those of the call as the user has changed it."""


class Recording(msgspec.Struct, frozen=True):
    """A recording that was read."""

    start: StartState
    calls: list[CallRecord]
    answers: list[AnswerRecord] = []
    signed: bool = False
    """Whether each row has the signature of this user, in this order."""


def question_of(request: ApprovalRequest, clean: Callable[[str], str]) -> str:
    """All that a request shows, by which its answer is known again; `clean` takes out secrets and the workspace."""
    return clean(f"{request.text}\n{request.held}".rstrip())


def encode_row(row: StartState | CallRecord | AnswerRecord) -> bytes:
    """A row of the file, without its signature."""
    return msgspec.json.encode(row)


def read_recording(lines: Iterable[bytes]) -> Recording:
    """The recording of these lines; ToolError for what is none. A last line without an end was cut off by a kill."""
    rows: list[StartState | CallRecord | AnswerRecord] = []
    key, before = read_key(), b""
    signed = bool(key)
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            break
        row, signature = split_signature(line)
        signed = signed and hmac.compare_digest(signature, sign(key, before, row))
        before = signature
        try:
            rows.append(msgspec.json.decode(line, type=StartState | CallRecord | AnswerRecord))
        except (msgspec.DecodeError, UnicodeError) as error:
            message = f"Line {number} of the recording cannot be read: {error}."
            raise ToolError(ErrorCode.VALIDATION, message) from None
    first = rows[0] if rows else None
    calls = [one for one in rows if isinstance(one, CallRecord)]
    answers = [one for one in rows if isinstance(one, AnswerRecord)]
    if not isinstance(first, StartState) or len(calls) + len(answers) != len(rows) - 1:
        raise ToolError(ErrorCode.VALIDATION, "This is no recording: it does not begin with one start.")
    if first.version != _VERSION:
        message = f"The recording has version {first.version}; this toolroll reads version {_VERSION}."
        raise ToolError(ErrorCode.UNSUPPORTED, message)
    return Recording(first, calls, answers, signed)
