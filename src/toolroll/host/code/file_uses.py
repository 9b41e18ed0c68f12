"""Find what still names a file or folder that is gone or moved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolroll.host.files.root import Root
from toolroll.host.search.query import Query, Scope
from toolroll.result import CouldNotLookError, Looked, ToolError
from toolroll.text.file_mentions import find_mentions, is_test, stem_of
from toolroll.text.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolroll.host.files.workspace import Workspace
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.search.search import Search

_SECONDS = 2.0
_MAX_FILES = 200
_SHOWN = 10


@dataclass(slots=True)
class FileUses:
    """The places that name a path, those that may name another one, and the tests among their files."""

    path: str
    named: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    looked: Looked | None = None

    def __str__(self) -> str:
        said = [f"{self.path} is still named in {_few(self.named)}."] * bool(self.named)
        said += [f"{_few(self.unknown)} may mean it."] * bool(self.unknown)
        return "\n".join([*([f"({' '.join(said)})"] if said else []), *describe_tests(self.tests)])


def find_file_uses(path: str, files: Workspace, search: Search, token: CancelToken) -> FileUses:
    """What names a path, in a few seconds; `looked` says what was not looked at."""
    uses, stem = FileUses(path), stem_of(path)
    if not stem or type(files.root) is not Root:  # files that are elsewhere are not all read for this
        return uses
    try:
        found = search.grep(
            Query(stem, literal=True, whole_word=True), Scope(), sort="path", token=token.within(_SECONDS)
        )
    except ToolError as error:
        token.check()
        uses.looked = Looked("0 files", failed=(CouldNotLookError.of("The search for what names it", error),))
        return uses
    paths = list(dict.fromkeys(row.path for row in found.rows if f"{row.path}/".find(f"{path}/") != 0))
    for other in paths[:_MAX_FILES]:
        try:
            mentions = find_mentions(path, other, files.at(".").peek(other).text)
        except (ToolError, OSError):
            continue
        uses.named += [f"{other}:{line}" for line, sure in mentions if sure]
        uses.unknown += [f"{other}:{line}" for line, sure in mentions if not sure]
        uses.tests += [other] * (bool(mentions) and is_test(other))
    failed: tuple[CouldNotLookError, ...] = ()
    if not found.complete or len(paths) > _MAX_FILES:
        why = f"{counted(len(paths), 'file')} or more have the word {stem!r}, and {_MAX_FILES} were looked at."
        failed = (CouldNotLookError("The search for what names it", why, "Use `grep` for the rest."),)
    uses.looked = Looked(counted(min(len(paths), _MAX_FILES), "file"), ("text",), failed)
    return uses


def find_tests(
    changed: Iterable[str], defining: str, files: Workspace, search: Search, token: CancelToken
) -> list[str]:
    """The tests among files that have a symbol, and those that name the file which defines it."""
    return sorted({*filter(is_test, changed), *find_file_uses(defining, files, search, token).tests})


def describe_tests(tests: list[str]) -> list[str]:
    """A line that offers the tests, if there are any."""
    return [f"(Tests that name it: {_few(tests)}. Run them with `tests`.)"] * bool(tests)


def _few(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + f" and {len(names) - _SHOWN} more" * (len(names) > _SHOWN)
