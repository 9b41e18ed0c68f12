"""What a look at the structure of a file or of a folder gave, and what was passed over."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from toolroll.host.search.query import Survey
from toolroll.text.search import skipped as survey

T = TypeVar("T")


@dataclass(slots=True)
class Look(Generic[T]):
    """What was seen of a file or of a folder."""

    found: list[tuple[str, T]] = field(default_factory=list)
    """The files that could be parsed, by path, with what was found in each."""
    skipped: Counter[str] = field(default_factory=Counter)
    """The files that could not, by reason."""
    others: Counter[str] = field(default_factory=Counter)
    """The files that were not wanted, by language, or by suffix if that is not known."""
    stopped: bool = False
    """There was no time for all, or there were too many."""
    survey: Survey | None = None
    """If no file holds what was asked for: what was searched for it."""

    def __str__(self) -> str:
        if self.survey is not None:
            return survey.sentence(self.survey.searched, self.survey.skipped, self.survey.elsewhere)
        said = [f"{count} {what}" for what, count in (*sorted(self.skipped.items()), *sorted(self.others.items()))]
        looked = f"Looked at {len(self.found)} file{'s' if len(self.found) != 1 else ''}"
        passed = f"; not at: {', '.join(said)}" if said else ""
        late = " There was no time for all of them: give a narrower `path`." if self.stopped else ""
        return f"{looked}{passed}.{late}"
