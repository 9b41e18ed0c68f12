"""The file of a recording: lines of JSON, the start first, then each call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

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


class Recording(msgspec.Struct, frozen=True):
    """A recording that was read."""

    start: StartState
    calls: list[CallRecord]


def encode_row(row: StartState | CallRecord) -> bytes:
    """A line of the file."""
    return msgspec.json.encode(row) + b"\n"


def read_recording(lines: Iterable[bytes]) -> Recording:
    """The recording of these lines; ToolError for what is none. A last line without an end was cut off by a kill."""
    rows: list[StartState | CallRecord] = []
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            break
        try:
            rows.append(msgspec.json.decode(line, type=StartState | CallRecord))
        except (msgspec.DecodeError, UnicodeError) as error:
            message = f"Line {number} of the recording cannot be read: {error}."
            raise ToolError(ErrorCode.VALIDATION, message) from None
    first = rows[0] if rows else None
    calls = [one for one in rows if isinstance(one, CallRecord)]
    if not isinstance(first, StartState) or len(calls) != len(rows) - 1:
        raise ToolError(ErrorCode.VALIDATION, "This is no recording: it does not begin with one start.")
    if first.version != _VERSION:
        message = f"The recording has version {first.version}; this toolroll reads version {_VERSION}."
        raise ToolError(ErrorCode.UNSUPPORTED, message)
    return Recording(first, calls)
