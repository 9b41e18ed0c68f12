"""The client's user as the approver: asked through the client, where it can ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from toolroll.mcp.offer import Item, Peer

if TYPE_CHECKING:
    from toolroll.host.guard import Answer, Request

_CHARS = 2_000  # of the arguments that a question shows
_ESCAPE = 8  # characters that one can become which would not be seen
_GRANTS: tuple[Literal["once", "session", "always"], ...] = ("once", "session", "always")
_ANSWERS = {
    "once": "Allow it this once",
    "session": "Allow it until the server ends",
    "always": "Always allow it in this workspace",
    "deny": "Do not allow it",
}
_FORM: Item = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "What the agent may do.",
            "enum": list(_ANSWERS),
            "enumNames": list(_ANSWERS.values()),
        }
    },
    "required": ["decision"],
}


def ask(request: Request, peer: Peer | None) -> Answer:
    """What the user says to a request; no where nobody can be asked."""
    if peer is None or not peer.can("elicitation"):
        return False
    params = {"mode": "form", "message": question(request), "requestedSchema": _FORM}
    answer = peer.request("elicitation/create", params)
    content = answer.get("content")
    decision = content.get("decision") if answer.get("action") == "accept" and isinstance(content, dict) else None
    for granted in _GRANTS:
        if decision == granted:
            return granted
    return False


def question(request: Request) -> str:
    """What the user reads: exactly the call that would run, with nothing hidden in it."""
    import msgspec

    from toolroll.host.remote.definitions import visible

    if request.commands:
        what = "\n".join(request.commands)
    else:
        what = msgspec.json.format(msgspec.json.encode(dict(request.arguments)), indent=2).decode()
    shown = what if len(what) <= _CHARS else f"{what[:_CHARS]}\n[{len(what) - _CHARS} more characters]"
    whole = f"May the agent use {request.name!r}? ({request.reason})\n\n{shown}"
    return visible(whole, len(whole) * _ESCAPE)
