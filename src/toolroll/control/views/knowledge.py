"""What a kit keeps for its model: todos of the session, notes, memories, and the document library."""

from __future__ import annotations

from typing import Any

from toolroll.host.knowledge.memory_store import MemoryStore
from toolroll.host.knowledge.note_store import NoteStore
from toolroll.host.knowledge.todo_store import TodoFile
from toolroll.kit import Kit
from toolroll.text.knowledge.memories import Memory, format_time
from toolroll.text.knowledge.notes import list_notes
from toolroll.text.truncate import bound
from toolroll.tools.knowledge.rag import rag

_MAX_FOUND = 100
_MAX_PASSAGES = 20
_MAX_TEXT_CHARS = 10_000


def list_todos(kit: Kit, session: str | None = None) -> dict[str, Any]:
    """The todo list of a session: by default that of the kit."""
    ctx, session = kit.context(), session or kit.session
    found = TodoFile(ctx.files.state, session, ctx.token).read()
    rows = [{"text": one.content, "status": one.status, "priority": one.priority} for one in found]
    return {"todos": rows, "session": session}


def find_notes(kit: Kit, query: str = "") -> dict[str, Any]:
    """The notes, the last changed first, or those that have words of a query, the best first."""
    ctx = kit.context()
    kept, faults = NoteStore(ctx.files, ctx.token).all()
    found, texts = list_notes(kept, faults, query or None, _MAX_FOUND), {one.id: one.content for one in kept}
    rows = [_note(one.id, f"{one.title}\n\n{texts[one.id]}", [one.type, *one.tags], one.updated) for one in found.notes]
    return {"notes": rows, "more": found.total > len(rows), "faults": found.faults}


def find_memories(kit: Kit, query: str = "") -> dict[str, Any]:
    """The memories, the last changed first, or those that answer a query, the best first."""
    ctx = kit.context()
    store = MemoryStore(ctx.files.state, ctx.token, ctx.meaning)
    kept = {one.id: one for one in sorted(store.all(), key=lambda one: -one.updated)}
    ids = [one.id for one in store.search(query, None, _MAX_FOUND).memories] if query else list(kept)
    rows = [_memory(kept[id]) for id in ids if id in kept]
    return {"notes": rows[:_MAX_FOUND], "more": len(rows) > _MAX_FOUND}


def _memory(one: Memory) -> dict[str, Any]:
    tags = [one.type, f"importance {one.importance:g}", *([f"replaced by m{one.replaced}"] if one.replaced else [])]
    return _note(one.id, one.content, tags, format_time(one.updated))


def _note(id: str, text: str, tags: list[str], time: str) -> dict[str, Any]:
    return {"id": id, "text": bound(text, _MAX_TEXT_CHARS).text, "tags": tags, "time": time}


def search_library(kit: Kit, query: str = "") -> dict[str, Any]:
    """What the library holds, and the passages that answer a query, the best first."""
    ctx = kit.context()
    found = ctx.library.search(query, _MAX_PASSAGES).passages if query else []
    passages = [
        {"source": one.citation, "text": bound(one.text, _MAX_TEXT_CHARS).text, "score": round(one.score, 3)}
        for one in found
    ]
    return {"passages": passages, "stats": str(rag(ctx, action="stats"))}
