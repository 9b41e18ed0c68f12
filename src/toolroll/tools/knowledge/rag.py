"""Keep documents in a library and find passages in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from toolroll.host.context import Context
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text.knowledge.passages import RankingMethod
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool

if TYPE_CHECKING:
    from toolroll.host.knowledge.library import Library, LibrarySize
    from toolroll.text.knowledge.passages import Kind

Action = Literal["add_document", "add_text", "ask", "search", "stats", "clear"]
_NEEDS = {"add_document": ("path",), "add_text": ("text",), "ask": ("query",), "search": ("query",)}
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

    def __str__(self) -> str:
        if not self.documents:
            return f"{self.done}: it is empty."
        forms = ", ".join(f"{count} {form}" for form, count in self.forms.items())
        documents, pieces = counted(self.documents, "document"), counted(self.pieces, "piece")
        return f"{self.done}: {documents} ({forms}) in {pieces}, {self.characters} characters."


@dataclass(frozen=True, slots=True)
class Removed:
    """The document that the library no longer holds."""

    source: str

    def __str__(self) -> str:
        return f"Took {self.source!r} out of the library."


@tool(Effect.READ | Effect.STATE, rare=True)
def rag(
    ctx: Context,
    action: Annotated[Action, "What to do."],
    path: Annotated[FilePath | None, "File or folder to add; with clear, only this file."] = None,
    text: Annotated[str | None, "Text to add."] = None,
    title: Annotated[str | None, "What to cite the text as; with clear, only this text."] = None,
    query: Annotated[str | None, "What to ask or search for."] = None,
    limit: Annotated[int, Field(ge=1, le=50), "Most passages."] = 5,
    confirm: Annotated[bool, "Must be true to clear."] = False,
) -> Any:
    """Keep documents in a library outside the workspace, and find passages in them with file and lines to cite.

    Takes text, code, Markdown, HTML, CSV, JSON, notebooks, PDF, Office files, e-books, images and recordings. Adding a
    file again replaces it if it changed.
    """
    from toolroll.host.knowledge.answers import ask
    from toolroll.host.knowledge.library import Library

    given = {"path": path, "text": text, "query": query}
    if missing := [f"`{name}`" for name in _NEEDS.get(action, ()) if not (given[name] or "").strip()]:
        raise ToolError(ErrorCode.VALIDATION, f"Action {action!r} also needs {' and '.join(missing)}.")
    library = Library(ctx.files.state, ctx.token, ctx.meaning)
    ingest = ctx.ingest(library)
    if action in ("add_document", "add_text"):
        added = ingest.add(path or "") if action == "add_document" else ingest.add_text(text or "", title or "")
        added.waiting = library.embed(ctx.progress, _EMBED_SECONDS)
        return added
    if action == "stats":
        lacks = ctx.meaning.unavailable_reason
        ranking = RankingMethod(reason=lacks) if lacks else RankingMethod("meaning and words", library.say_missing())
        return _held("The library", library.stats(), ranking.by, ranking.note)
    if action == "clear":
        return _cleared(library, "/".join(ctx.files.key(path)) if path else "", title or "", confirm)
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
    if not library.drop(kind, source):
        raise ToolError(ErrorCode.NOT_FOUND, f"The library holds no {kind} {source!r}. Search for it to see its name.")
    return Removed(source)


def _held(done: str, stats: LibrarySize, ranking: str = "", note: str = "") -> LibraryStats:
    numbers = (stats.documents, stats.pieces, stats.characters, stats.forms, stats.bytes, stats.waiting)
    return LibraryStats(done, *numbers, ranking, note)
