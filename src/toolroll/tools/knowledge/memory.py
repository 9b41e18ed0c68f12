"""Remember things from one session to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from toolroll.host.context import Context
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text.knowledge.memories import (
    MIN_PROMOTED_IMPORTANCE,
    EvictionPlan,
    Memory,
    MemoryRow,
    Strategy,
    Type,
    describe_count,
    list_memories,
    show_memory,
)
from toolroll.tool import Effect, tool

if TYPE_CHECKING:
    from toolroll.host.knowledge.memory_store import MemoryStore

Action = Literal["add", "search", "summary", "update", "remove", "forget", "consolidate"]
Rows = Sequence[Memory]
Share = Annotated[float, Field(ge=0, le=1)]
_NEEDS = {"add": ("content",), "search": ("query",), "update": ("id",), "remove": ("id",)}
_DEFAULT_FOUND, _DEFAULT_SUMMARISED, _DEFAULT_KEPT = 5, 10, 1000  # `limit` of search, summary, forget
_DEFAULT_THRESHOLD, _DEFAULT_DAYS = 0.1, 30


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One memory as it is now, or was when it is removed, and the working memories that made room for it."""

    done: str
    memory: MemoryRow
    dropped: list[str]
    promoted: list[str]
    replaced: list[str]  # older memories that this one contradicts

    @property
    def note(self) -> str:
        rows = [("Dropped {}", self.dropped), ("Made {} semantic, being important", self.promoted)]
        said = [f"It contradicts {one}, which is older: the newer one counts." for one in self.replaced]
        said += [f"{done.format(', '.join(ids))}: there were too many working memories." for done, ids in rows if ids]
        return "\n".join(said)

    def __str__(self) -> str:
        return f"{self.done} {self.memory.brief}"


@dataclass(frozen=True, slots=True)
class ForgottenMemories:
    """What is gone, and how much is left."""

    forgotten: list[str]
    left: int
    lines: list[str]

    def __str__(self) -> str:
        return "\n".join([f"Forgot {describe_count(len(self.forgotten))}; {self.left} left.", *self.lines])


@dataclass(frozen=True, slots=True)
class MergedMemories:
    """What lasts from now on, and what said the same as another one."""

    promoted: list[str]
    merged: dict[str, str]
    """The id of each that is gone, and of the one that stays."""
    lines: list[str]

    def __str__(self) -> str:
        if not (self.promoted or self.merged):
            return "Nothing to consolidate."
        merged = [f"{gone} said the same as {kept} and is gone." for gone, kept in self.merged.items()]
        lead = f"Made {describe_count(len(self.promoted))} semantic, merged {len(self.merged)}."
        return "\n".join([lead, *self.lines, *merged])


@tool(Effect.STATE, rare=True)
def memory(
    ctx: Context,
    action: Annotated[Action, "What to do."],
    content: Annotated[str | None, "What to remember, for add or update."] = None,
    query: Annotated[str | None, "What to search for."] = None,
    id: Annotated[str | None, "Of the memory to update or remove."] = None,
    type: Annotated[Type | None, "Of the memory (working), or only these in other actions."] = None,
    importance: Annotated[Share | None, "Of the memory, 0 to 1 (0.5)."] = None,
    strategy: Annotated[Strategy, "What to forget: the unimportant, the old, or the least valuable."] = "importance",
    threshold: Annotated[Share | None, "Forget below it (0.1); consolidate from it on (0.7)."] = None,
    days: Annotated[float, Field(ge=0), "Forget by time: what did not change for so long."] = _DEFAULT_DAYS,
    limit: Annotated[
        int | None,
        Field(ge=1, le=10_000),
        "Most to find (5) or sum up (10); forget by capacity: how many to keep (1000).",
    ] = None,
) -> Any:
    """Remember facts and events across sessions, and find them again.

    Types: working (the task at hand, 100 at most), episodic (what happened), semantic (lasting facts), perceptual
    (what was seen or heard). consolidate makes important working and episodic ones semantic and merges duplicates.
    """
    from toolroll.host.knowledge.memory_store import MemoryStore

    given = {"content": content, "query": query, "id": id}
    if missing := [f"`{name}`" for name in _NEEDS.get(action, ()) if not (given[name] or "").strip()]:
        raise ToolError(ErrorCode.VALIDATION, f"Action {action!r} also needs {' and '.join(missing)}.")
    kept = MemoryStore(ctx.files.state, ctx.token, ctx.meaning)
    if action == "search":
        return kept.search(query or "", type, _DEFAULT_FOUND if limit is None else limit)
    if action == "summary":
        return kept.summary(type, _DEFAULT_SUMMARISED if limit is None else limit)
    if action == "forget":
        least, most = _DEFAULT_THRESHOLD if threshold is None else threshold, _DEFAULT_KEPT if limit is None else limit
        gone, left = kept.forget(strategy, type, threshold=least, days=days, keep=most)
        return ForgottenMemories([one.id for one in gone], left, list_memories(gone))
    if action == "consolidate":
        return _consolidated(kept, MIN_PROMOTED_IMPORTANCE if threshold is None else threshold, type)
    if action == "add":
        made, new, room = kept.add(content or "", type or "working", 0.5 if importance is None else importance)
        return _remembered("Remembered" if new else "Known already:", made, room, kept.replaced_by(made))
    if action == "remove":
        return _remembered("Removed", kept.remove(id or ""))
    return _updated(kept, id or "", content or None, type, importance)


def _updated(
    kept: MemoryStore, id: str, content: str | None, type: Type | None, importance: Share | None
) -> StoredMemory:
    if content is None and type is None and importance is None:
        raise ToolError(ErrorCode.VALIDATION, "Nothing to update: give `content`, `type` or `importance`.")
    made, room = kept.update(id, content, type, importance)
    return _remembered("Updated", made, room, kept.replaced_by(made))


def _remembered(done: str, memory: Memory, room: EvictionPlan | None = None, old: Rows = ()) -> StoredMemory:
    dropped, promoted = ([one.id for one in room.dropped], [one.id for one in room.promoted]) if room else ([], [])
    return StoredMemory(done, show_memory(memory), dropped, promoted, [show_memory(one).brief for one in old])


def _consolidated(kept: MemoryStore, threshold: float, type: Type | None) -> MergedMemories:
    made = kept.consolidate(threshold, type)
    merged = {f"m{gone}": f"m{into}" for gone, into in made.merged.items()}
    return MergedMemories([one.id for one in made.promoted], merged, list_memories(made.promoted))
