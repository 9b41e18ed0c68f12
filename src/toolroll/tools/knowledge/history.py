"""Search what was done, what was added, and how to use these tools."""

from __future__ import annotations

from typing import Annotated, Literal

from toolroll.host.context import Context
from toolroll.host.knowledge.timeline import Timeline, read_timeline
from toolroll.schema import Field
from toolroll.text.knowledge.passages import PassageResults
from toolroll.tool import Effect, tool

Source = Literal["calls", "documents", "guidance"]
_NONE = {
    "calls": "Nothing in the history of this workspace answers this.",
    "documents": "No document answers this.",
    "guidance": "No guidance answers this.",
}


@tool(Effect.READ, rare=True, asks=("the history", "earlier calls, notes and guidance"))
def history(
    ctx: Context,
    query: Annotated[str, "What to look for. Without it, the last calls in order of time."] = "",
    source: Annotated[
        Source,
        "calls: what was said and done, and notes; documents: those in the library; guidance: how to use the tools.",
    ] = "calls",
    limit: Annotated[int, Field(ge=1, le=50), "Maximum number of passages or calls."] = 5,
    diff: Annotated[bool, "Without a query: show what each call changed."] = False,
) -> PassageResults | Timeline:
    """Search what was said and done here, the documents in the library, or guidance on these tools."""
    if source != "guidance":
        ctx.secrets.notice_kept()
    if not query and source == "calls":
        return read_timeline(ctx.journal, ctx.history.call_log, limit, diffs=diff)
    if source == "documents":
        return ctx.ingest(ctx.library).search(query, limit, none=_NONE[source])
    from toolroll.host.knowledge.history import guidance
    from toolroll.text.knowledge import passages

    past = ctx.history
    known = guidance() if source == "guidance" else past.notes() + past.calls()
    return passages.show_hits(past.search(known, query, limit), none=_NONE[source])
