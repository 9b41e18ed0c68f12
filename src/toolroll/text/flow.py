"""Statements that leave a function, and whether a change of lines loses one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolroll.result import ErrorCode, ToolError

_LEAVES = re.compile(r"\s*(return|yield|raise)\b")


def check_kept(gone: Iterable[str], content: str) -> None:
    """Raise ToolError if the lines that go have a return, yield or raise, and the new ones have none of that kind."""
    had = {found[1] for line in gone if (found := _LEAVES.match(line))}
    has = {found[1] for line in content.split("\n") if (found := _LEAVES.match(line))}
    if content.strip() and (lost := sorted(had - has)):
        raise ToolError(
            ErrorCode.CONFLICT,
            f"These lines hold {' and '.join(map(repr, lost))}, which the new ones lack: nothing was changed. "
            "Take it over into `content`, or replace fewer lines.",
        )
