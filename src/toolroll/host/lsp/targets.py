"""Resolve the files that a caller names, and find the new problems of a file."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from toolroll.host.files.tree import FileTree
from toolroll.host.lsp.servers import SERVERS, language_of
from toolroll.host.search.search import Scope, Search
from toolroll.result import ErrorCode, ToolError
from toolroll.text import line_shift

if TYPE_CHECKING:
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.lsp.answers import FileReport, Problem
    from toolroll.host.runtime.cancellation import CancelToken

_DEPENDENCY_FOLDERS = ("node_modules", "site-packages")  # skipped unless they are named
_GLOB_CHARS = frozenset("*?[{")
_ENDINGS = tuple(dict.fromkeys(ending for server in SERVERS for ending in server.files))


def resolve_files(
    files: Workspace, search: Search, token: CancelToken, names: Sequence[str], language: str | None, folder: str = "."
) -> list[str]:
    """The real paths of files, of all code in folders, and of the code that globs match; each once.

    Relative names are taken from `folder`.
    """
    if not names:
        raise ToolError(ErrorCode.VALIDATION, "`files` is empty. Name files, folders or globs; '.' is all of them.")
    tree = FileTree(files)
    found: dict[str, None] = {}

    def matching(pattern: str, inside: str) -> Iterable[str]:
        inner, where = search.of(*files.where(inside))
        skip = tuple(one for one in _DEPENDENCY_FOLDERS if one not in pattern)
        listing = inner.find(pattern, Scope(where, skip=skip), sort="path", token=token)
        return (one.path for one in listing.entries if language or language_of(one.path))

    for name in names:
        path = name if folder == "." or name.startswith("/") else f"{folder}/{name}"
        if tree.is_file(path):
            found[files.peek(path).path] = None
        elif _GLOB_CHARS & set(name):
            found |= dict.fromkeys(matching(name, folder))
        else:
            tree.folder(path, 1, token)
            found |= dict.fromkeys(matching(f"*{{{','.join(_ENDINGS)}}}", path))
    if not found:
        raise ToolError(
            ErrorCode.NOT_FOUND, f"There is no code in {', '.join(map(repr, names))}. Use `find` to see what there is."
        )
    return list(found)


def find_new_problems(old: FileReport, new: FileReport) -> list[Problem]:
    """The problems of the new report that the old one does not have, even on lines that moved."""
    before, after = old.problems or [], new.problems or []
    fresh = line_shift.find_new(
        old.text, new.text, [_problem_key(one) for one in before], [_problem_key(one) for one in after]
    )
    return [after[at] for at in fresh]


def _problem_key(problem: Problem) -> tuple[int, Hashable]:
    return problem.range.line, (problem.severity, problem.code, problem.source, problem.message)
