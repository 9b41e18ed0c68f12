"""Errors of conversion: a child names the reason, the text here says what to do next."""

from __future__ import annotations

from toolroll.host.convert import limits
from toolroll.host.convert.formats import Extra, Format
from toolroll.result import CouldNotLookError, ErrorCode, ToolError

_TOO_MUCH = "Split it, or save its text and use that."
_MESSAGES: dict[str, tuple[ErrorCode, str]] = {
    "damaged": (
        ErrorCode.VALIDATION,
        "cannot be read as {what}: it is damaged, cut off, or something else. Open it in its own program and save it "
        "again.",
    ),
    "password": (ErrorCode.PERMISSION, "is protected. Save a copy of it without a password and use that."),
    "empty": (ErrorCode.VALIDATION, "is {what} without any text in it: there is nothing to read."),
    "silent": (ErrorCode.VALIDATION, "is a recording in which no speech was recognised: there is nothing to read."),
    "pages": (ErrorCode.TOO_LARGE, "has {number} parts; at most {pages} are read. Split it."),
    "entries": (ErrorCode.TOO_LARGE, "is an archive of more than {entries} files, as no document is. Save it again."),
    "unpacked": (ErrorCode.TOO_LARGE, "unpacks to more than is read. Split it, or take large pictures out of it."),
    "ratio": (
        ErrorCode.TOO_LARGE,
        "unpacks to far more than its size, as no document does. Save its text and use that.",
    ),
    "deep": (ErrorCode.TOO_LARGE, "is nested too deep to be read. Save it again in its own program."),
    "entities": (
        ErrorCode.VALIDATION,
        "declares entities of XML, which no such document needs and no text is made from. Save it again.",
    ),
    "output": (ErrorCode.TOO_LARGE, "holds more text than is read at once. Split it."),
    "pixels": (ErrorCode.TOO_LARGE, "has {number} pixels; at most {pixels} are read. Make it smaller."),
    "minutes": (ErrorCode.TOO_LARGE, "lasts {number} minutes; at most {minutes} are converted. Cut it into parts."),
    "encoding": (
        ErrorCode.UNSUPPORTED,
        "is in an encoding that cannot be decoded here: convert it to WAV (PCM, 16 bit), or install ffmpeg.",
    ),
    "much": (ErrorCode.TOO_LARGE, f"takes too much memory to be converted. {_TOO_MUCH}"),
    "time": (ErrorCode.TOO_LARGE, f"takes too long to be converted. {_TOO_MUCH}"),
    "crash": (ErrorCode.TOO_LARGE, f"is too much for its converter, which broke down on it. {_TOO_MUCH}"),
}


def make_error(name: str, number: int, path: str, format: Format) -> ToolError:
    """The error for what a child has named; a name that is not known is a broken child."""
    code, words = _MESSAGES.get(name) or _MESSAGES["crash"]
    text = words.format(
        what=format.what,
        number=number,
        pages=limits.PAGES,
        entries=limits.ENTRIES,
        pixels=limits.PIXELS,
        minutes=limits.MINUTES,
    )
    return ToolError(code, f"{path!r} {text}")


def make_missing_error(path: str, what: str, extra: Extra) -> ToolError:
    """The error for a file whose converter is not installed."""
    from toolroll.host.requirement import add_extra

    why = f"{path!r} is {what}, which takes an extra that is not installed."
    remedy = f"To add it: {add_extra(extra)}. Or convert it to text or Markdown and use that."
    return CouldNotLookError("The converter", why, message=f"{why} {remedy}", code=ErrorCode.UNSUPPORTED)


def make_refusal(path: str, what: str, better: str) -> ToolError:
    """The error for a file of a kind that has no converter."""
    return ToolError(
        ErrorCode.UNSUPPORTED,
        f"{path!r} is {what} of a kind that is not converted here. Save it as {better} and use that.",
    )
