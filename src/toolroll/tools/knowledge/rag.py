"""Keep documents in a library and find passages in them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from toolroll.host.context import Context
from toolroll.host.runtime.call import go_on_from
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text.knowledge.passages import Kind, RankingMethod
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool

if TYPE_CHECKING:
    from toolroll.host.knowledge.library import Library, LibrarySize, LibrarySource

Action = Literal["add_document", "add_text", "sync", "ask", "search", "stats", "clear"]
_NEEDS = {"add_document": ("path",), "sync": ("path",), "add_text": ("text",), "ask": ("query",), "search": ("query",)}
_MAX_SOURCES = 20  # that stats shows
_EMBED_SECONDS = 3.0  # that a call which adds waits for vectors: a few are made by then


@dataclass(frozen=True, slots=True)
class LibraryStats:
    """What the library holds, or held before it was cleared."""

    done: str
    documents: int
    pieces: int
    characters: int
    forms: dict[str, int]
    bytes: int
    waiting: int
    """Pieces that no vector was made of yet."""
    ranking: str
    note: str
    sources: list[LibrarySource] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.documents:
            return f"{self.done}: it is empty."
        forms = ", ".join(f"{count} {form}" for form, count in self.forms.items())
        documents, pieces = counted(self.documents, "document"), counted(self.pieces, "piece")
        said = f"{self.done}: {documents} ({forms}) in {pieces}, {self.characters} characters."
        return "\n".join([said, *map(_show_source, self.sources[:_MAX_SOURCES])])


def _show_source(one: LibrarySource) -> str:
    when = datetime.datetime.fromtimestamp(int(one.added), datetime.UTC).strftime("%Y-%m-%d %H:%M")
    return (
        f"  {one.name}: {counted(one.documents, 'document')} in {counted(one.pieces, 'piece')}, last added {when} UTC"
    )


@dataclass(frozen=True, slots=True)
class Removed:
    """The documents that the library no longer holds."""

    source: str
    documents: int = 1

    def __str__(self) -> str:
        what = repr(self.source) if self.documents == 1 else f"{self.documents} documents of {self.source!r}"
        return f"Took {what} out of the library."


@tool(Effect.READ | Effect.STATE, rare=True, asks=("the library", "its documents"))
def rag(
    ctx: Context,
    action: Annotated[Action, "What to do."],
    path: Annotated[FilePath | None, "File or folder to add or sync; with clear, only this."] = None,
    text: Annotated[str | None, "Text to add."] = None,
    title: Annotated[str | None, "What to cite the text as; with clear, only this text."] = None,
    query: Annotated[str | None, "What to ask or search for."] = None,
    limit: Annotated[int, Field(ge=1, le=50), "Maximum number of passages."] = 5,
    confirm: Annotated[bool, "Must be true to clear."] = False,
) -> Any:
    """Keep documents in a library outside the workspace, and find passages in them with file and lines to cite.

    Takes text, code, Markdown, HTML, CSV, JSON, notebooks, PDF, Office files, e-books, images and recordings. Adding a
    file again replaces it if it changed; sync also removes what is gone.
    """
    from toolroll.host.knowledge.answers import ask

    given = {"path": path, "text": text, "query": query}
    if missing := [f"`{name}`" for name in _NEEDS.get(action, ()) if not (given[name] or "").strip()]:
        raise ToolError(ErrorCode.VALIDATION, f"Action {action!r} also needs {' and '.join(missing)}.")
    library = ctx.library
    ingest = ctx.ingest(library)
    if action in ("add_document", "add_text", "sync"):
        add = ingest.sync if action == "sync" else ingest.add
        added = ingest.add_text(text or "", title or "") if action == "add_text" else add(path or "")
        added.waiting = library.embed(go_on_from(ctx.progress, added.steps), _EMBED_SECONDS)
        return added
    if action == "stats":
        lacks = ctx.meaning.unavailable_reason
        ranking = RankingMethod(reason=lacks) if lacks else RankingMethod("meaning and words", library.say_missing())
        held = library.stats()
        ctx.progress(held.pieces - held.waiting, held.pieces, "vectors")
        return replace(_held("The library", held, ranking.by, ranking.note), sources=library.sources())
    if action == "clear":
        return _cleared(library, "/".join(ctx.files.key(path)) if path else "", title or "", confirm)
    ctx.secrets.notice_kept()
    if action == "search":
        return ingest.search(query or "", limit)
    return ask(ingest, query or "", limit, http=ctx.http, environment=ctx.environment, token=ctx.token)


def _cleared(library: Library, path: str, title: str, confirm: bool) -> LibraryStats | Removed:
    if not confirm:
        what = repr(path or title) if path or title else "everything in the library"
        raise ToolError(ErrorCode.VALIDATION, f"This forgets {what}. Set `confirm` to true if the user wants that.")
    if not (path or title):
        return _held("Cleared the library", library.clear())
    kind: Kind = "file" if path else "text"
    source = path or title
    dropped = [one for one in (library.beneath(path) if path else [title]) if library.drop(kind, one)]
    if not dropped:
        raise ToolError(ErrorCode.NOT_FOUND, f"The library holds no {kind} {source!r}. Search for it to see its name.")
    return Removed(source, len(dropped))


def _held(done: str, stats: LibrarySize, ranking: str = "", note: str = "") -> LibraryStats:
    numbers = (stats.documents, stats.pieces, stats.characters, stats.forms, stats.bytes, stats.waiting)
    return LibraryStats(done, *numbers, ranking, note)
