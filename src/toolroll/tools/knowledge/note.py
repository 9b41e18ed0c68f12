"""Keep notes in the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from toolroll.host.context import Context
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text.knowledge.notes import FOREIGN, Note, Origin, Type, describe_note
from toolroll.tool import Effect, tool

Action = Literal["create", "read", "update", "delete", "list", "search"]
_NEEDS = {"create": ("title", "content"), "search": ("query",), "read": ("id",), "update": ("id",), "delete": ("id",)}
_DONE = {"create": "Created", "update": "Updated"}


@dataclass(frozen=True, slots=True)
class ShownNote:
    """One note as it is now."""

    action: str
    id: str
    path: str
    title: str
    type: str
    tags: list[str]
    created: str
    updated: str
    content: str
    faults: list[str]
    origin: Origin

    @property
    def note(self) -> str:
        return "\n".join(self.faults)

    def __str__(self) -> str:
        if self.action in _DONE:
            return f"{_DONE[self.action]} note {self.id!r} ({self.path})."
        foreign = f"\n{FOREIGN}" if self.origin == "files" else ""
        about = describe_note(self.type, self.tags, self.updated)
        return f"# {self.title}\n{about} {self.path}{foreign}\n\n{self.content}"


@dataclass(frozen=True, slots=True)
class DeletedNote:
    """The note that is gone."""

    id: str
    path: str

    def __str__(self) -> str:
        return f"Deleted note {self.id!r} ({self.path})."


@tool(Effect.READ | Effect.WRITE, rare=True)
def note(
    ctx: Context,
    action: Annotated[Action, "What to do."],
    id: Annotated[str | None, "Of the note to read, update or delete."] = None,
    title: Annotated[str | None, "Of a new or updated note."] = None,
    content: Annotated[str | None, "Its Markdown text."] = None,
    type: Annotated[Type | None, "Of the note (general), or of those to list or search."] = None,
    tags: Annotated[tuple[str, ...] | None, "Of the note, or that those to list or search have."] = None,
    query: Annotated[str | None, "Words to search for in title, tags and content."] = None,
    limit: Annotated[int, Field(ge=1, le=1000), "Most notes to list."] = 20,
) -> Any:
    """Keep findings, decisions, blockers and next steps as notes, Markdown files in .toolroll/notes/."""
    from toolroll.host.knowledge.note_store import NoteStore
    from toolroll.text.knowledge.notes import check_id, filter_notes, list_notes

    given = {"id": id, "title": title, "content": content, "query": query}
    if missing := [f"`{name}`" for name in _NEEDS.get(action, ()) if not (given[name] or "").strip()]:
        raise ToolError(ErrorCode.VALIDATION, f"Action {action!r} also needs {' and '.join(missing)}.")
    kept = NoteStore(ctx.files, ctx.token)
    if action == "create":
        return _noted(action, kept.create(title or "", content or "", type or "general", tags or ()))
    if action in ("list", "search"):
        found, faults = kept.all()
        return list_notes(filter_notes(found, type, tags or ()), faults, query if action == "search" else None, limit)
    name = check_id(id or "")
    if action == "update":
        changes = (title or None, content or None, type, tags)  # models fill in what they do not need
        if changes == (None,) * 4:
            raise ToolError(ErrorCode.VALIDATION, "Nothing to update: give `title`, `content`, `type` or `tags`.")
        return _noted(action, kept.update(name, *changes))
    if action == "delete":
        return DeletedNote(name, kept.delete(name))
    return _noted(action, kept.read(name))


def _noted(action: str, found: Note) -> ShownNote:
    from toolroll.host.knowledge.note_store import path

    return ShownNote(
        action,
        found.id,
        path(found.id),
        found.title,
        found.type,
        list(found.tags),
        found.created,
        found.updated,
        found.content,
        list(found.faults),
        found.origin,
    )
