"""Which files are meant by what a caller names, and which of their problems are new."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from toolroll.host.lsp.servers import SERVERS, language_of
from toolroll.host.search.search import Scope
from toolroll.result import ErrorCode, ToolError
from toolroll.text import line_shift as shift

if TYPE_CHECKING:
    from toolroll.host.context import Context
    from toolroll.host.lsp.answers import Problem, Report

_FOREIGN = ("node_modules", "site-packages")  # they would be most of it, where nothing ignores them
_MARKS = frozenset("*?[{")
_ENDINGS = tuple(dict.fromkeys(ending for server in SERVERS for ending in server.files))


def meant(ctx: Context, names: Sequence[str], language: str | None, folder: str = ".") -> list[str]:
    """The real paths of files, of all code in folders, and of the code that globs match; each once.

    Relative names are taken from `folder`.
    """
    if not names:
        raise ToolError(ErrorCode.VALIDATION, "`files` is empty. Name files, folders or globs; '.' is all of them.")
    found: dict[str, None] = {}
    for name in names:
        path = name if folder == "." or name.startswith("/") else f"{folder}/{name}"
        if ctx.tree.is_file(path):
            found[ctx.files.peek(path).path] = None
        elif _MARKS & set(name):
            found |= dict.fromkeys(_matching(ctx, name, folder, language))
        else:
            ctx.tree.folder(path, 1, ctx.token)
            found |= dict.fromkeys(_matching(ctx, f"*{{{','.join(_ENDINGS)}}}", path, language))
    if not found:
        raise ToolError(
            ErrorCode.NOT_FOUND, f"There is no code in {', '.join(map(repr, names))}. Use `find` to see what there is."
        )
    return list(found)


def _matching(ctx: Context, pattern: str, folder: str, language: str | None) -> Iterable[str]:
    search, where = ctx.searching(folder)
    skip = tuple(name for name in _FOREIGN if name not in pattern)
    listing = search.find(pattern, Scope(where, skip=skip), sort="path", token=ctx.token)
    return (one.path for one in listing.entries if language or language_of(one.path))


def unseen(old: Report, new: Report) -> list[Problem]:
    """The problems that were not there before, also not in another line that has moved."""
    before, after = old.problems or [], new.problems or []
    fresh = shift.find_new(old.text, new.text, [_known_by(one) for one in before], [_known_by(one) for one in after])
    return [after[at] for at in fresh]


def _known_by(problem: Problem) -> tuple[int, Hashable]:
    return problem.range.line, (problem.severity, problem.code, problem.source, problem.message)
