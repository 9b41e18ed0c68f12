"""What servers have to offer, as a list to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.mcp.definitions import visible
from toolroll.host.mcp.results import Answer, Content

if TYPE_CHECKING:
    from toolroll.host.mcp.server import Known, Remote
    from toolroll.host.mcp.servers import Remotes
    from toolroll.host.runtime.call import Call

_LINE = 200
_NAME = 300


def show(action: str, remotes: Remotes, name: str | None, call: Call) -> Answer:
    """The tools, resources or prompts of a server; without a name of every server, and more briefly."""
    what = action.removeprefix("list_")
    found, failed = remotes.each(name, lambda one: _rows(what, one, call))
    brief = len(found) + len(failed) > 1
    content = Content(notes=[f"{error.message}" for error in failed])
    for server, rows in found.items():
        lines = [_line(row, brief) for row in rows]
        content.texts.append("\n".join([f"{server}: {len(rows)} {what}", *lines]))
    if brief:
        content.notes.append("With `server`, its list comes in full.")
    structured = [{"server": server, **row} for server, rows in found.items() for row in rows]
    origin = ", ".join(found) or "none"
    return content.answer(origin, f"list of {what}", structured, call.limits.output_chars, lambda text: text)


def _rows(what: str, remote: Remote, call: Call) -> list[dict[str, Any]]:
    if what == "tools":
        return [_tool(name, known) for name, known in remote.tools(call.token).items()]
    items = remote.resources(call.token) if what == "resources" else remote.prompts(call.token)
    return [_item(one) for one in items]


def _tool(name: str, known: Known) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "description": known.shown.description, "parameters": known.shown.schema}
    if known.now.problem:
        row["problem"] = known.now.problem
    elif known.change:
        row["problem"] = f"the server has changed {known.change} since it was first seen; a call asks the user first"
    return row


def _item(one: Mapping[str, Any]) -> dict[str, Any]:
    """A resource or a prompt, with what is worth knowing of it."""
    texts = ("uri", "uriTemplate", "name", "title", "description", "mimeType")
    row: dict[str, Any] = {key: visible(one[key], _NAME) for key in texts if isinstance(one.get(key), str)}
    arguments = one.get("arguments")
    if isinstance(arguments, Sequence) and not isinstance(arguments, str):
        row["arguments"] = [
            f"{visible(str(item.get('name', '')), _NAME)}{'' if item.get('required') else '?'}"
            for item in arguments
            if isinstance(item, Mapping)
        ]
    return row


def _line(row: Mapping[str, Any], brief: bool) -> str:
    first = row.get("uri") or row.get("uriTemplate") or row.get("name", "")
    about = row.get("description") or row.get("title") or ""
    text = f"- {first}: {' '.join(about.split())}" if about else f"- {first}"
    if brief:
        return visible(text, _LINE)
    if "problem" in row:
        return f"{text}\n  [{row['problem']}]"
    if "arguments" in row:
        return f"{text}\n  arguments: {', '.join(row['arguments'])}"
    schema = row.get("parameters")
    return f"{text}\n  parameters: {_parameters(schema)}" if schema else text


def _parameters(schema: Mapping[str, Any]) -> str:
    """The schema on one line, without what says nothing."""
    shown = {key: value for key, value in schema.items() if key not in ("$schema", "title", "type")}
    return msgspec.json.encode(shown).decode()
