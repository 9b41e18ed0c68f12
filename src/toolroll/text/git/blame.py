"""Parse `git blame --porcelain`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby

from toolroll.result import Status
from toolroll.text.git.names import show_text

_HEAD = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")


@dataclass(frozen=True, slots=True)
class BlameLine:
    """A line, and the commit that it is from."""

    line: int
    commit: str | None
    """Short; None for what is not committed yet."""
    author: str
    date: str
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Blame:
    """Who wrote which line."""

    path: str
    lines: list[BlameLine]
    note: str = ""
    status: Status = "success"

    def __str__(self) -> str:
        """Runs of lines under the commit that they are from."""
        out = []
        for (commit, date, author, subject), run in groupby(self.lines, key=_origin):
            origin = f"{commit} {date[:10]} {show_text(author)}: {show_text(subject)}"
            out.append(origin if commit else "Not committed yet:")
            out += [f"{one.line}\t{one.text}" for one in run]
        return "\n".join(out) or f"No lines of {self.path!r} to blame."


def parse_blame(printed: str, path: str) -> Blame:
    """The lines from what git printed: each commit is described where it comes first."""
    known: dict[str, dict[str, str]] = {}
    lines: list[BlameLine] = []
    commit, number = "", 0
    for row in printed.split("\n"):
        if row.startswith("\t"):
            header = known[commit]
            lines.append(_line(number, commit, header, row[1:]))
        elif found := _HEAD.fullmatch(row):
            commit, number = found[1], int(found[2])
            known.setdefault(commit, {})
        elif commit:
            key, _, value = row.partition(" ")
            known[commit].setdefault(key, value)
    return Blame(path, lines)


def _line(number: int, commit: str, header: Mapping[str, str], text: str) -> BlameLine:
    date = _date(header.get("author-time", "0"), header.get("author-tz", "+0000"))
    if not commit.strip("0"):
        return BlameLine(number, None, "", date, "", text)
    return BlameLine(number, commit[:8], header.get("author", ""), date, header.get("summary", ""), text)


def _origin(line: BlameLine) -> tuple[str | None, str, str, str]:
    return line.commit, line.date, line.author, line.subject


def _date(seconds: str, zone: str) -> str:
    """ISO 8601 from what git keeps; an impossible date becomes the first one."""
    try:
        minutes = int(f"{zone[0]}1") * (int(zone[1:3]) * 60 + int(zone[3:5]))
        return datetime.fromtimestamp(int(seconds), timezone(timedelta(minutes=minutes))).isoformat()
    except (ValueError, OverflowError, OSError, IndexError):
        return datetime.fromtimestamp(0, UTC).isoformat()
