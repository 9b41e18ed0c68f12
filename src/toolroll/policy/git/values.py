"""Check values before they become words of a git command: no option, no path elsewhere, no second word."""

from __future__ import annotations

import re
from typing import Literal

from toolroll.policy.paths import climbs
from toolroll.result import ErrorCode, ToolError

Kind = Literal["ref", "branch", "path", "message"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_IN_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|$)|(?:^|/)\.|[./]$|^/|^-|^@$")


def check_value(name: str, value: str, kind: Kind = "ref") -> None:
    """Raise ToolError if `value`, given for the parameter `name`, is not what its kind says.

    A "ref" is a revision or a range of them; a "branch" is a new or existing name; a "path" lies in the repository
    and is passed behind `--`; a "message" is any text that is passed as the value of an option.
    """
    fault = _FAULTS[kind](value)
    if fault is not None:
        raise ToolError(ErrorCode.VALIDATION, f"`{name}`: {value!r} {fault}")


def _ref(value: str) -> str | None:
    if not value.strip():
        return "is empty. Give a commit, branch or tag."
    if _CONTROL.search(value):
        return "holds a line break or control character. Give one commit, branch or tag."
    if any(side.startswith("-") for side in re.split(r"\.\.\.?", value)):
        return "starts like an option. Give a commit, branch or tag."
    return None


def _branch(value: str) -> str | None:
    if not value or value == "HEAD" or _BAD_IN_BRANCH.search(value):
        return "is not a legal branch name. Use letters, digits, '-', '_' and '/'."
    return None


def _path(value: str) -> str | None:
    if not value or "\0" in value or "\n" in value or "\r" in value:
        return "is not a path. Give one path relative to the repository."
    if value.startswith(":"):
        return "is a pattern of git's own. Give a plain path; './' before it takes the ':' literally."
    if value.startswith("/") or climbs(value):
        return "is outside the repository. Give a path relative to it."
    return None


def _message(value: str) -> str | None:
    if not value.strip() or "\0" in value:
        return "is not a message. Say what changed and why, without NUL."
    return None


_FAULTS = {"ref": _ref, "branch": _branch, "path": _path, "message": _message}
