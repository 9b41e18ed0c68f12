"""MCP resources of a kit: full outputs that were cut, notes, and documents of the library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from toolroll.host.files.spill import PREFIX
from toolroll.mcp.backend import Item, UnknownItemError
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.kit import Kit

_SCHEME = "toolroll://"
_PLAIN, _MARKDOWN = "text/plain", "text/markdown"
_KEPT = "The whole of an output that was too long to show, by its handle without `spill:`."
_DOCUMENT = "The text of a document in the library: of a file by its path, of a text by its title."
TEMPLATES: tuple[Item, ...] = tuple(
    {"uriTemplate": _SCHEME + path, "name": name, "title": title, "description": about, "mimeType": mime}
    for path, name, title, about, mime in (
        ("output/{handle}", "output", "Kept output", _KEPT, _PLAIN),
        ("note/{id}", "note", "Note", "A note of the workspace.", _MARKDOWN),
        ("document/{kind}/{source}", "document", "Document", _DOCUMENT, _PLAIN),
    )
)


def make_link(handle: str, tool: str) -> Item:
    """A resource link to a full output, for the result that was cut."""
    return {"type": "resource_link", **_output(handle, tool)}


def list_resources(kit: Kit, handles: Iterable[tuple[str, str]]) -> list[Item]:
    """The outputs with these (handle, tool) pairs, all notes, and all documents of the library."""
    from toolroll.host.knowledge.note_store import NoteStore

    context = kit.context()
    notes, _ = NoteStore(context.files, context.token).all()
    documents = context.library.documents()
    return [
        *(_output(handle, tool) for handle, tool in handles),
        *(_resource(f"note/{quote(one.id, safe='')}", one.id, one.title, _MARKDOWN) for one in notes),
        *(_resource(f"document/{kind}/{quote(one, safe='')}", one, f"{one} ({form})") for kind, one, form in documents),
    ]


def _resource(path: str, name: str, title: str, mime: str = _PLAIN) -> Item:
    return {"uri": _SCHEME + path, "name": name, "title": title, "mimeType": mime}


def read(kit: Kit, uri: str) -> list[Item]:
    """The text of a resource. Raises UnknownItemError."""
    kind, _, name = uri.removeprefix(_SCHEME).partition("/")
    if uri.startswith(_SCHEME) and kind == "document":
        return [{"uri": uri, "mimeType": _PLAIN, "text": _document(kit, uri, name)}]
    where = _PATHS.get(kind) if uri.startswith(_SCHEME) and name else None
    if where is None:
        raise UnknownItemError(f"There is no resource {uri!r}.")
    path, mime = where(unquote(name))
    try:
        text = kit.context().files.peek(path).text
    except ToolError as error:
        if error.code in (ErrorCode.NOT_FOUND, ErrorCode.SECURITY):
            raise UnknownItemError(f"There is no resource {uri!r}.") from None
        raise UnknownItemError(error.message) from None
    return [{"uri": uri, "mimeType": mime, "text": text}]


def _document(kit: Kit, uri: str, name: str) -> str:
    kind, _, source = name.partition("/")
    text = kit.context().library.text(kind, unquote(source))
    if text is None:
        raise UnknownItemError(f"There is no resource {uri!r}.")
    return text


def list_names(kit: Kit, handles: Iterable[tuple[str, str]], template: str) -> list[str]:
    """Values for the variable of a resource template."""
    start = template.partition("{")[0]
    uris = [one["uri"] for one in list_resources(kit, handles)]
    return [unquote(uri.removeprefix(start)) for uri in uris if uri.startswith(start)]


def _output(handle: str, tool: str) -> Item:
    name = handle.removeprefix(PREFIX)
    return _resource(f"output/{name}", name, f"Whole output of {tool}")


def _output_path(name: str) -> tuple[str, str]:
    return PREFIX + name, _PLAIN


def _note_path(name: str) -> tuple[str, str]:
    from toolroll.host.knowledge.note_store import path
    from toolroll.text.knowledge.notes import check_id

    try:
        return path(check_id(name)), _MARKDOWN
    except ToolError as error:
        raise UnknownItemError(error.message) from None


_PATHS = {"output": _output_path, "note": _note_path}
