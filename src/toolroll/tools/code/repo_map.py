"""Show which files matter, and what is in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated

from toolroll.host.context import Context
from toolroll.result import ErrorCode, Looked, Status, Suggestion, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text.lines import counted
from toolroll.text.tokens import estimate
from toolroll.tool import Effect, tool

if TYPE_CHECKING:
    from toolroll.host.code.map_builder import BuiltMap
    from toolroll.text.code.map.file_facts import Mark

_MIN_TOKENS = 64  # room for a file, and for a note on what is left out
_SPARE_TOKENS = 8  # for a note that a dialect words a little longer


@dataclass(frozen=True, slots=True)
class MappedDefinition:
    """A definition and the line that it starts in."""

    line: int
    kind: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A file, its score (1 for the best), and the definitions shown."""

    path: str
    score: float
    definitions: list[MappedDefinition]


@dataclass(frozen=True, slots=True)
class RepoMap:
    """Files by relevance. `ranked` counts all files, `read` those that were read for this call."""

    files: list[MappedFile]
    ranked: int
    read: int
    form: str
    note: str
    status: Status = "success"
    looked: Looked | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.form


@tool(Effect.READ)
def repo_map(
    ctx: Context,
    query: Annotated[str, "What it is about: a task, an error, names. Without: what the code builds on."] = "",
    max_tokens: Annotated[int, Field(ge=_MIN_TOKENS, le=100_000), "Most tokens to show."] = 2048,
    path: Annotated[FilePath, "Folder."] = ".",
    *,
    files: Annotated[tuple[str, ...], Field(path=True), "Files you know: shows what they build on, not them."] = (),
) -> RepoMap:
    """Map the code base: the files that matter for a task, best first, with definitions and their lines."""
    from toolroll.text.code.map.ranking import FileRanker
    from toolroll.text.code.map.show import MapLayout, render

    where = ctx.structure.resolve_path(ctx.files, path)
    if ctx.structure.is_file(where):
        raise ToolError(
            ErrorCode.VALIDATION,
            f"`path` {path!r} is a file. Name a folder, or use `outline` for a file.",
            suggest=(Suggestion("outline", {"path": path}),),
        )
    for one in files:
        ctx.structure.is_file(ctx.structure.resolve_path(ctx.files, one))  # raises if there is no such file
    play = {"/".join(ctx.files.key(one)) for one in files}
    query = query.strip()
    past = ctx.repo_maps.commit_history(ctx.repository, path) if query else None
    rank = partial(FileRanker.by_question, text=query, past=past, play=play)
    with ctx.repo_maps.build(where, ctx.token, ctx.progress, rank if query else None) as built:
        ranker = built.ranker
        ranking = rank(ranker) if query else ranker.by_graph(play)
        matched = bool(ranking.files)
        if not matched:
            ranking = ranker.by_graph(play)
        ranked = len(ranking.files)
        layout = MapLayout(ranking.files, ranker.marks, lambda one: ranker.values(one, ranking), max_tokens)
        longest = _note(built, max(0, ranked - 1), ranked, matched, max_tokens)
        parts = layout.parts(estimate(f"{_first_line(built)}\n{longest}") + _SPARE_TOKENS)
    return RepoMap(
        files=[MappedFile(part.path, part.score, list(map(_definition, part.marks))) for part in parts],
        ranked=ranked,
        read=built.read,
        form=_first_line(built) + "\n".join(render(parts))
        or ("No file fits." if ranked else "There is nothing to map."),
        note=_note(built, len(parts), ranked, matched, max_tokens),
        status="partial" if built.left or built.failed or not built.whole else "success",
        looked=Looked(counted(built.files, "file"), ("syntax",), built.failed),
    )


def _definition(mark: Mark) -> MappedDefinition:
    return MappedDefinition(mark.line, mark.kind, mark.path, mark.text)


def _first_line(built: BuiltMap) -> str:
    """What of the tree the map does not have yet; empty if it has all."""
    if not built.left:
        return ""
    return f"({built.left} of {counted(built.files, 'file')} are not read yet: call again for a map of more of them.)\n"


def _note(built: BuiltMap, shown: int, ranked: int, matched: bool, most: int) -> str:
    """A note on what is shown and what is not, within half of the budget."""
    notes = []
    if not built.whole:
        notes.append("There are too many files: name a folder in `path`.")
    if ranked and not matched:
        notes.append("Nothing matches the query; these are the files that others build on.")
    more = "more with a larger `max_tokens`" if shown < ranked else "`outline` shows all of a file"
    notes.append(f"{shown} of {counted(ranked, 'file')}; {more}.")
    if built.unreadable:
        notes.append(f"{built.unreadable} files cannot be read.")
    while len(notes) > 1 and estimate(" ".join(notes)) > most // 2:
        notes.pop()
    return f"({' '.join(notes)})"
