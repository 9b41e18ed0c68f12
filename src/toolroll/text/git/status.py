"""Parse `git status --porcelain=v2 --branch -z`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolroll.text.git.names import show_path, show_text
from toolroll.text.lines import counted

Kind = Literal["modified", "added", "deleted", "renamed", "copied", "type changed", "conflict"]

_KINDS: dict[str, Kind] = {
    "M": "modified",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type changed",
}
_LETTERS = {kind: letter for letter, kind in _KINDS.items()}
_MAX_LISTED = 100  # of each list


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs, and how."""

    path: str
    kind: Kind
    source: str | None = None
    """Where it was renamed or copied from."""

    def __str__(self) -> str:
        origin = f"{show_path(self.source)} -> " if self.source else ""
        return f"{_LETTERS.get(self.kind, 'U')} {origin}{show_path(self.path)}"


@dataclass(slots=True)
class RepositoryStatus:
    """The branch and what differs from the last commit."""

    branch: str | None = None
    """None when no branch is checked out."""
    commit: str | None = None
    """None before the first one."""
    upstream: str | None = None
    ahead: int = 0
    behind: int = 0
    stashes: int = 0
    ongoing: str | None = None
    """What was begun and is not ended, such as "merge"."""
    staged: list[ChangedFile] = field(default_factory=list)
    unstaged: list[ChangedFile] = field(default_factory=list)
    untracked: list[str] = field(default_factory=list)
    conflicts: list[ChangedFile] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.staged or self.unstaged or self.untracked or self.conflicts)

    @property
    def whole(self) -> Callable[[], str] | None:
        """The complete text, when not all is shown."""
        longest = max(len(self.staged), len(self.unstaged), len(self.untracked), len(self.conflicts))
        return (lambda: self._text(longest)) if longest > _MAX_LISTED else None

    def __str__(self) -> str:
        return self._text(_MAX_LISTED)

    def _text(self, most: int) -> str:
        lists: Iterator[tuple[str, Sequence[object]]] = iter((
            ("Conflicts", self.conflicts),
            ("Staged", self.staged),
            ("Not staged", self.unstaged),
            ("Untracked", [f"? {show_path(path)}" for path in self.untracked]),
        ))  # fmt: skip
        lines = [self._head()]
        for title, rows in lists:
            if rows:
                lines += [f"{title}:", *(f"  {row}" for row in rows[:most])]
                lines += [f"  ... and {len(rows) - most} more"] if len(rows) > most else []
        return "\n".join([*lines, self._nothing()] if self.clean else lines)

    def _nothing(self) -> str:
        if self.ongoing == "merge":
            return "Nothing differs from before the merge. Action `commit` concludes it."
        return "Nothing to commit, the working tree is clean."

    def _head(self) -> str:
        where = f"On branch {show_text(self.branch)}" if self.branch else f"On no branch, at {(self.commit or '')[:10]}"
        parts = [where] if self.commit else [where, "no commits yet"]
        if self.upstream:
            moved = [f"{count} {word}" for count, word in ((self.ahead, "ahead"), (self.behind, "behind")) if count]
            relation = f"{' and '.join(moved)} of" if moved else "up to date with"
            parts.append(f"{relation} {show_text(self.upstream)}")
        if self.stashes:
            parts.append(f"{self.stashes} stashed")
        if self.ongoing:
            parts.append(f"{self.ongoing} in progress")
        if self.conflicts:
            parts.append(counted(len(self.conflicts), "conflict"))
        return ", ".join(parts)


def parse_status(printed: str, prefix: str = "", inside: str = "", ongoing: str = "") -> RepositoryStatus:
    """The status from what git printed; in paths, `inside` takes the place of `prefix`."""

    def placed(path: str) -> str:
        return inside + path.removeprefix(prefix) or "./"

    found = RepositoryStatus(ongoing=ongoing or None)
    records = iter(printed.split("\0"))
    for record in records:
        kind, _, rest = record.partition(" ")
        if kind == "#":
            _head(found, rest)
        elif kind == "?":
            found.untracked.append(placed(rest))
        elif kind == "u":
            found.conflicts.append(ChangedFile(placed(rest.split(" ", 9)[9]), "conflict"))
        elif kind == "1":
            _add(found, rest[:2], placed(rest.split(" ", 7)[7]), None)
        elif kind == "2":
            _add(found, rest[:2], placed(rest.split(" ", 8)[8]), placed(next(records)))
    return found


def _head(found: RepositoryStatus, line: str) -> None:
    name, _, value = line.partition(" ")
    if name == "branch.oid":
        found.commit = None if value == "(initial)" else value
    elif name == "branch.head":
        found.branch = None if value == "(detached)" else value
    elif name == "branch.upstream":
        found.upstream = value
    elif name == "branch.ab":
        ahead, behind = value.split()
        found.ahead, found.behind = int(ahead), -int(behind)
    elif name == "stash":
        found.stashes = int(value)


def _add(found: RepositoryStatus, letters: str, path: str, source: str | None) -> None:
    for letter, rows in zip(letters, (found.staged, found.unstaged), strict=True):
        if letter in _KINDS:
            rows.append(ChangedFile(path, _KINDS[letter], source if letter in "RC" else None))
