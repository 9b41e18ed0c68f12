"""Results of a server for the model: cleaned, bounded, and fenced as untrusted data."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolroll.result import MAX_IMAGE_BYTES, ErrorCode, Image, Looked, ToolError
from toolroll.text.terminal import clean
from toolroll.text.truncate import bound

_RESERVED_CHARS = 4_000  # for everything around the text
_MAX_ERROR_CHARS = 4_000
_MAX_STRUCTURED_CHARS = 1_000_000
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True)
class McpResult:
    """The result of a request. `text` is the server's; the model sees it fenced, with its origin."""

    server: str
    """The name of the server; several names for a list over servers."""
    subject: str
    """What it is: "tool 'add'", "list of tools" ..."""
    text: str
    structured: Any = None
    note: str = ""
    whole: Callable[[], str] | None = None
    images: tuple[Image, ...] = ()
    looked: Looked | None = None

    def __str__(self) -> str:
        if not self.text:
            what = "a picture" if self.images else "nothing to read"
            return f"The {self.subject} of the MCP server {self.server!r} gave {what}."
        return _fence(self.text, self.subject, self.server)


def _fence(text: str, subject: str, server: str) -> str:
    from toolroll.host.web.page import fence

    return fence(text, f"the {subject} of the MCP server {server!r}")


@dataclass(slots=True)
class ResultContent:
    """Collects blocks of content, for a model that sees at most `most` characters."""

    server: str
    most: int
    hide: Callable[[str], str]
    """Replaces secrets in a text."""
    texts: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, block: Any) -> None:
        if not isinstance(block, Mapping):
            self.notes.append("A part of the answer is not of the protocol, and is left out.")
            return
        match block.get("type"):
            case "text":
                self.texts.append(str(block.get("text", "")))
            case "image":
                self._blob(block.get("data"), block.get("mimeType"))
            case "resource_link":
                self.texts.append(f"[resource {block.get('name', '')}: {block.get('uri', '')}]")
            case "resource" if isinstance(block.get("resource"), Mapping):
                self.resource(block["resource"])
            case kind:
                self.notes.append(f"A part of type {str(kind)[:40]!r} is not shown.")

    def resource(self, one: Any) -> None:
        if not isinstance(one, Mapping):
            self.add(one)
        elif isinstance(text := one.get("text"), str):
            self.texts.append(text)
        else:
            self._blob(one.get("blob"), one.get("mimeType"))

    def _blob(self, data: Any, mime: Any) -> None:
        try:
            found = base64.b64decode(data, validate=True) if isinstance(data, str) else None
        except (binascii.Error, ValueError):
            found = None
        if found is None:
            self.notes.append("A part of the answer is damaged, and is not shown.")
        elif mime in _IMAGE_TYPES and len(found) <= MAX_IMAGE_BYTES:
            self.images.append(Image(found, mime))
        else:
            self.notes.append(f"A part of type {str(mime)[:40]!r} with {len(found)} bytes is not shown.")

    def _bound_structured(self, written: str) -> Any:
        """The structured part for programs, unless it is too large."""
        with suppress(msgspec.DecodeError):  # a hidden secret may have been a number
            if len(written) <= _MAX_STRUCTURED_CHARS:
                return msgspec.json.decode(written)
        self.notes.append(f"A structured part with {len(written)} characters is left out.")
        return None

    def answer(self, subject: str, structured: Any = None) -> McpResult:
        hide, server = self.hide, self.server
        text = hide(clean_text("\n\n".join(self.texts)))
        if structured is not None:
            written = hide(msgspec.json.encode(structured).decode())
            text = text or hide(clean_text(msgspec.json.format(msgspec.json.encode(structured), indent=2).decode()))
            structured = self._bound_structured(written)
        shown = bound(text, max(_RESERVED_CHARS, self.most - _RESERVED_CHARS))
        notes = " ".join(dict.fromkeys(self.notes))
        whole = (lambda: _fence(text, subject, server)) if shown.cut else None
        return McpResult(server, subject, shown.text, structured, notes, whole, tuple(self.images))


def clean_text(text: str) -> str:
    """The text without escape sequences and control characters."""
    return clean(text.encode("utf-8", "replace"))


def tool_result(result: Mapping[str, Any], content: ResultContent, tool: str) -> McpResult:
    """The result of a tool call; ToolError when the tool reports an error."""
    for block in _blocks(result.get("content")):
        content.add(block)
    subject, server = f"tool {tool!r}", content.server
    if result.get("isError") is True:
        text = content.hide(clean_text("\n".join(content.texts)))
        text = text if len(text) <= _MAX_ERROR_CHARS else f"{text[:_MAX_ERROR_CHARS]} [cut]"
        quoted = f"\n{_fence(text, subject, server)}" if text else ""
        raise ToolError(ErrorCode.EXECUTION, f"The {subject} of the MCP server {server!r} reports an error.{quoted}")
    return content.answer(subject, result.get("structuredContent"))


def resource_result(result: Mapping[str, Any], content: ResultContent, uri: str) -> McpResult:
    """The contents of a resource."""
    for one in _blocks(result.get("contents")):
        content.resource(one)
    return content.answer(f"resource {uri!r}")


def prompt_result(result: Mapping[str, Any], content: ResultContent, name: str) -> McpResult:
    """The messages of a prompt."""
    for one in _blocks(result.get("messages")):
        if isinstance(one, Mapping):
            content.texts.append(f"[{one.get('role', 'user')}]")
            content.add(one.get("content"))
    return content.answer(f"prompt {name!r}")


def _blocks(found: Any) -> Iterable[Any]:
    return found if isinstance(found, list) else ()
