"""Parse `git diff -z --numstat --patch`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from toolroll.text.escape import escape_text
from toolroll.text.git.names import show_path
from toolroll.text.lines import counted

# The lines of a patch that name files: git quotes line breaks in them, and not all that hides.
_HEADERS = re.compile(r"^(?:diff |--- |\+\+\+ |rename |copy |Binary )[^\n]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileCounts:
    """How many lines of a file differ; None for a file that has no lines."""

    path: str
    added: int | None
    deleted: int | None
    source: str | None = None
    """Where it was renamed or copied from."""

    def __str__(self) -> str:
        origin = f"{show_path(self.source)} -> " if self.source else ""
        lines = "binary" if self.added is None else f"+{self.added} -{self.deleted}"
        return f"{origin}{show_path(self.path)} {lines}"


@dataclass(frozen=True, slots=True)
class DiffPart:
    """One comparison."""

    title: str
    files: list[FileCounts]
    patch: str

    def __str__(self) -> str:
        listed = [f"  {one}" for one in self.files] if len(self.files) > 1 else []
        return "\n".join([f"{self.title}: {describe_total(self.files)}", *listed, self.patch.rstrip("\n")])


@dataclass(frozen=True, slots=True)
class Diff:
    """What differs, in one or two comparisons; those without a difference are left out."""

    parts: list[DiffPart] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(map(str, self.parts)) or "No differences. (Untracked files are not compared.)"


def describe_total(files: list[FileCounts]) -> str:
    """The sum in words, such as "2 files, +3 -1"."""
    added, deleted = sum(one.added or 0 for one in files), sum(one.deleted or 0 for one in files)
    return f"{counted(len(files), 'file')}, +{added} -{deleted}"


def parse_part(title: str, printed: str, inside: str = "") -> DiffPart | None:
    """One comparison from what git printed; None when nothing differs."""
    files, patch = parse_counts(printed, inside)
    return DiffPart(title, files, patch) if files else None


def parse_counts(printed: str, inside: str = "") -> tuple[list[FileCounts], str]:
    """The files with their counts, and the patch that follows them; `inside` is put before paths."""
    files: dict[str, FileCounts] = {}  # one in conflict comes twice, first without its counts
    rest = printed
    while rest and not rest.startswith("\0"):
        record, end, rest = rest.partition("\0")
        counts = record.split("\t", 2)
        if not end or len(counts) < 3:
            break
        source = None
        if not counts[2]:
            source, counts[2], rest = rest.split("\0", 2)
            source = inside + source
        path = inside + counts[2]
        files[path] = FileCounts(path, _number(counts[0]), _number(counts[1]), source)
    return list(files.values()), _HEADERS.sub(lambda line: escape_text(line[0], keep="\t"), rest.removeprefix("\0"))


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
