"""What a call gives back, and the one table that turns an exception into an error the model can act on."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import msgspec

Status = Literal["success", "error", "partial"]
MAX_WHOLE_CHARS = 16 << 20
"""Of a result that a program gets whole."""


class ErrorCode(StrEnum):
    """The kinds of agent error. A program branches on these; a model reads the message."""

    SECURITY = "SecurityError"
    NOT_FOUND = "NotFound"
    PERMISSION = "PermissionDenied"
    IO = "IOError"
    EXECUTION = "ExecutionError"
    TIMEOUT = "TimeoutError"
    NETWORK = "NetworkError"
    VALIDATION = "ValidationError"
    CONFLICT = "Conflict"
    TOO_LARGE = "TooLarge"
    UNSUPPORTED = "Unsupported"
    CANCELLED = "Cancelled"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A ready-to-send call: the name of a tool and its arguments. In an error of a tool the name "" stands for the same
    call, where each value that is a key of `arguments` becomes what that says."""

    name: str
    arguments: Mapping[str, Any]


class ToolError(Exception):
    """An error the model sees and can act on. Names in `backticks` are shown as the dialect calls them."""

    shorter: Callable[[int], ToolError] | None = None
    """Gives the same with so many characters less, where the message holds the output of a command."""

    def __init__(
        self,
        code: ErrorCode | str,
        message: str,
        *,
        details: Any = None,
        suggest: tuple[Suggestion, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = ErrorCode(code)
        self.message = message
        self.details = details
        self.suggest = suggest

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).__new__, (type(self), *self.args), self.__dict__  # its own would call __init__ without a code


class CouldNotLookError(ToolError):
    """Who was asked gave no answer, and why. It is never the same as an answer that nothing was found."""

    def __init__(
        self,
        who: str,
        why: str,
        remedy: str = "",
        *,
        message: str = "",
        code: ErrorCode = ErrorCode.EXECUTION,
        suggest: tuple[Suggestion, ...] = (),
    ) -> None:
        """`who`: the program, grammar or service; `why`: one sentence or its own words; `remedy`: what to do.

        `message` replaces the sentence that is made of these.
        """
        message = message or " ".join(filter(None, [f"{who} could not look: {why.rstrip()}", remedy]))
        super().__init__(code, message, details={"outcome": "could not look", "who": who, "why": why}, suggest=suggest)
        self.who, self.why, self.remedy = who, why, remedy

    @classmethod
    def of(cls, who: str, error: ToolError) -> CouldNotLookError:
        """The error of a program or service that was asked, typed as what it is: no answer."""
        if isinstance(error, cls):
            return error
        made = cls(who, error.message, message=error.message, code=error.code, suggest=error.suggest)
        made.details = {**error.details, **made.details} if isinstance(error.details, dict) else made.details
        made.shorter = error.shorter
        return made


_OF_THE_CALL = (ErrorCode.CANCELLED, ErrorCode.SECURITY, ErrorCode.PERMISSION, ErrorCode.VALIDATION)


@contextmanager
def asking(who: str) -> Iterator[None]:
    """Errors of a program or service that is asked become CouldNotLookError; what ends the call stays as it is."""
    try:
        yield
    except ToolError as error:
        if error.code in _OF_THE_CALL:
            raise
        raise CouldNotLookError.of(who, error) from error


@dataclass(frozen=True, slots=True)
class Looked:
    """What an answer stands on: who looked at what, and who could not."""

    at: str
    """Such as "3 files"."""
    by: tuple[str, ...] = ()
    failed: tuple[CouldNotLookError, ...] = ()
    told: bool = False
    """The answer says itself who could not look."""

    @property
    def note(self) -> str:
        """A line for each that could not look."""
        return "" if self.told else "\n".join(one.message for one in self.failed)

    @property
    def status(self) -> Status:
        return "partial" if self.failed else "success"

    @property
    def data(self) -> dict[str, Any]:
        """The same for programs."""
        failed = [{"who": one.who, "why": one.why, "remedy": one.remedy} for one in self.failed]
        return {"at": self.at, "by": list(self.by), "failed": failed}


@dataclass(frozen=True, slots=True)
class Fault:
    """`result.error`: the code, what to do next, and calls that would work."""

    code: ErrorCode
    message: str
    details: Any = None
    suggest: tuple[Suggestion, ...] = ()


MAX_IMAGE_BYTES = 5_000_000
"""Larger pictures are not shown to a model."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that a tool shows beside its text; in some dialects also a sound or any other file."""

    data: bytes
    mime: str
    path: str = ""
    """Of the file, where a dialect tells it."""


@dataclass(slots=True)
class Result:
    """The outcome of one call, for the model (`text`), for programs (`data`) and for the wire (`wire`)."""

    status: Status
    text: str
    data: Any = None
    error: Fault | None = None
    wire: Any = None
    meta: dict[str, Any] = field(default_factory=dict)
    control: str | None = None
    images: tuple[Image, ...] = ()
    message: str = ""
    """One line about the outcome, without the output itself, where the dialect has one."""

    @property
    def ok(self) -> bool:
        return self.status != "error"

    @property
    def structured(self) -> Any:
        """What programs get: the object in which the dialect writes a result, where it has one, or `data`."""
        return self.wire if isinstance(self.wire, dict) else self.data


def check_whole(result: Result, keep: Callable[[str], str], *, is_bounded: bool) -> Result:
    """The result of a call whose data a program gets, or the error for a part of it: nobody reads a note there.

    `is_bounded`: the program itself wants no more than a part. `keep` keeps a text and returns its handle.
    """
    if not result.ok:
        return result
    if result.data is None:  # the text is what the program works with
        result.data = result.text
    data = result.data if isinstance(result.data, dict) else {}
    is_cut = (result.meta.get("truncated") or result.meta.get("spill") or data.get("truncated")) and not is_bounded
    if is_cut or max(len(result.text), len(msgspec.json.encode(result.data, enc_hook=str))) > MAX_WHOLE_CHARS:
        handle = result.meta.get("spill") or keep(result.text)
        told = next((one for one in result.text[-1_000:].splitlines() if repr(handle) in one), "")
        rest = told or f"The text of all of it is kept: `read` or `grep` {handle!r}."
        text = f"The result has more than {MAX_WHOLE_CHARS} characters: ask for less at once. {rest}"
        return Result("error", text, error=Fault(ErrorCode.TOO_LARGE, text, {"spill": handle}))
    if result.status == "partial" and not (data.get("looked") or {}).get("failed"):
        text = f"The answer is a part of the whole: {result.text.rpartition(chr(10))[2]}"
        return Result("error", text, error=Fault(ErrorCode.TIMEOUT, text))
    return result


# Most specific class first. OSErrors that are in neither table (disk full, too many open files, broken
# hardware) are system errors: nothing the model does mends them, so they are raised.
_BY_CLASS: tuple[tuple[type[Exception], ErrorCode], ...] = (
    (FileNotFoundError, ErrorCode.NOT_FOUND),
    (FileExistsError, ErrorCode.CONFLICT),
    (IsADirectoryError, ErrorCode.VALIDATION),
    (NotADirectoryError, ErrorCode.VALIDATION),
    (PermissionError, ErrorCode.PERMISSION),
    (TimeoutError, ErrorCode.TIMEOUT),
    (ConnectionError, ErrorCode.NETWORK),
)
_BY_ERRNO: dict[int, ErrorCode] = {
    errno.ELOOP: ErrorCode.VALIDATION,
    errno.ENAMETOOLONG: ErrorCode.VALIDATION,
    errno.EINVAL: ErrorCode.VALIDATION,
    errno.ENOTEMPTY: ErrorCode.CONFLICT,
    errno.EBUSY: ErrorCode.CONFLICT,
    errno.ETXTBSY: ErrorCode.CONFLICT,
    errno.EROFS: ErrorCode.PERMISSION,
    errno.EFBIG: ErrorCode.TOO_LARGE,
    errno.ENOSPC: ErrorCode.IO,
    errno.EDQUOT: ErrorCode.IO,
    errno.EIO: ErrorCode.IO,
    errno.EXDEV: ErrorCode.IO,
    errno.ENXIO: ErrorCode.IO,
    errno.ENODEV: ErrorCode.IO,
    errno.ENOTSUP: ErrorCode.UNSUPPORTED,
}
_ROOM = " Free some room on that disk, then try again."
_NEXT = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: " Nothing can be changed on this disk; ask the user for a folder that can be written.",
    errno.EMFILE: " Close kits that are not used, or raise the limit of the process (`ulimit -n`).",
}


def next_step(error: OSError) -> str:
    """What helps against an error of the system, as a sentence after a space; empty if that is not known."""
    return _NEXT.get(error.errno or 0, "")


def as_tool_error(error: Exception) -> ToolError | None:
    """The agent error that this exception stands for, or None if it is a system error and must be raised."""
    if isinstance(error, ToolError):
        return error
    if isinstance(error, UnicodeEncodeError):
        bad = error.object[error.start : error.end]
        return ToolError(ErrorCode.VALIDATION, f"The text holds {bad!r}, which is not valid Unicode. Send it without.")
    if not isinstance(error, OSError):
        return None
    code = next((code for kind, code in _BY_CLASS if isinstance(error, kind)), None)
    code = code or _BY_ERRNO.get(error.errno or 0)
    if code is None:
        return None
    where = f": {error.filename!r}" if isinstance(error.filename, str) else ""
    return ToolError(code, f"{error.strerror or type(error).__name__}{where}.{next_step(error)}")
