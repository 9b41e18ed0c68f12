"""Lists of the tools, resources and prompts of MCP servers, for the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.mcp.definitions import visible
from toolroll.host.mcp.results import McpResult, ResultContent
from toolroll.result import Looked
from toolroll.text.lines import counted

if TYPE_CHECKING:
    from toolroll.host.mcp.server import McpServer, PinnedTool
    from toolroll.host.mcp.servers import McpServers
    from toolroll.host.runtime.call import Call

_MAX_LINE_CHARS = 200
_MAX_TEXT_CHARS = 300


def list_items(action: str, servers: McpServers, name: str | None, call: Call) -> McpResult:
    """The tools, resources or prompts of a server; without a name of every server, in short form."""
    what = action.removeprefix("list_")
    found, failed = servers.each(name, lambda one: _rows(what, one, call))
    brief = len(found) + len(failed) > 1
    origin = ", ".join(found) or "none"
    notes = [one.message for one in failed.values()]
    content = ResultContent(origin, call.limits.output_chars, lambda text: text, notes=notes)
    for server, rows in found.items():
        lines = [_line(row, brief) for row in rows]
        content.texts.append("\n".join([f"{server}: {len(rows)} {what}", *lines]))
    if brief:
        content.notes.append("With `server`, its list comes in full.")
    structured = [{"server": server, **row} for server, rows in found.items() for row in rows]
    looked = Looked(counted(len(found), "server"), tuple(found), tuple(failed.values()), told=True)
    return replace(content.answer(f"list of {what}", structured), looked=looked)


def _rows(what: str, server: McpServer, call: Call) -> list[dict[str, Any]]:
    if what == "tools":
        return [_tool(name, known) for name, known in server.tools(call.token).items()]
    items = server.resources(call.token) if what == "resources" else server.prompts(call.token)
    return [_item(one) for one in items]


def _tool(name: str, known: PinnedTool) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "description": known.shown.description, "parameters": known.shown.schema}
    if known.now.problem:
        row["problem"] = known.now.problem
    elif known.change:
        row["problem"] = f"the server has changed {known.change} since it was first seen; a call asks the user first"
    return row


def _item(one: Mapping[str, Any]) -> dict[str, Any]:
    """A resource or a prompt, reduced to its known fields."""
    texts = ("uri", "uriTemplate", "name", "title", "description", "mimeType")
    row: dict[str, Any] = {key: visible(one[key], _MAX_TEXT_CHARS) for key in texts if isinstance(one.get(key), str)}
    arguments = one.get("arguments")
    if isinstance(arguments, Sequence) and not isinstance(arguments, str):
        row["arguments"] = [
            f"{visible(str(item.get('name', '')), _MAX_TEXT_CHARS)}{'' if item.get('required') else '?'}"
            for item in arguments
            if isinstance(item, Mapping)
        ]
    return row


def _line(row: Mapping[str, Any], brief: bool) -> str:
    first = row.get("uri") or row.get("uriTemplate") or row.get("name", "")
    about = row.get("description") or row.get("title") or ""
    text = f"- {first}: {' '.join(about.split())}" if about else f"- {first}"
    if brief:
        return visible(text, _MAX_LINE_CHARS)
    if "problem" in row:
        return f"{text}\n  [{row['problem']}]"
    if "arguments" in row:
        return f"{text}\n  arguments: {', '.join(row['arguments'])}"
    schema = row.get("parameters")
    return f"{text}\n  parameters: {_parameters(schema)}" if schema else text


def _parameters(schema: Mapping[str, Any]) -> str:
    """The schema on one line, without redundant keys."""
    shown = {key: value for key, value in schema.items() if key not in ("$schema", "title", "type")}
    return msgspec.json.encode(shown).decode()
