"""Requests about a position in a file: hover, definition, references, rename."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolroll.host.lsp.answers import FileEdits, HoverText, Location, Range
from toolroll.host.lsp.diagnostics import MAX_TRIES, RETRY_CODES, RETRY_PAUSE_S, to_range
from toolroll.host.rpc.channel import RefusedError
from toolroll.result import ErrorCode, ToolError
from toolroll.text.edit.text_edits import Edit
from toolroll.text.positions import Positions

if TYPE_CHECKING:
    from toolroll.host.lsp.client import LspClient
    from toolroll.host.runtime.cancellation import CancelToken

Read = Callable[[str], str | None]
"""Returns the current text of a file; None when it has none."""


class PositionQuery:
    """Requests about one position of one text to one server."""

    def __init__(
        self, client: LspClient, path: str, text: str, offset: int, token: CancelToken, deadline: float
    ) -> None:
        self._client = client
        self._texts = {path: text}
        self._path = path
        self._offset = offset
        self._token = token
        self._deadline = deadline

    @property
    def word(self) -> str:
        """The name at the position, or right before it."""
        places = Positions(self._texts[self._path], dollar=self._client.server.language == "typescript")
        at = places.position(self._offset)
        return places.word(at.line, at.character)

    def hover(self) -> HoverText | None:
        answer = self._ask("hover")
        text = _markdown(answer.get("contents")) if answer else ""
        if not text:
            return None
        places = self._client.positions(self._texts[self._path])
        return HoverText(text, to_range(answer["range"], places) if answer.get("range") else None)

    def definition(self, read: Read, what: str = "definition") -> list[Location]:
        return self._locations(self._ask(what), read)

    def references(self, read: Read) -> list[Location]:
        """All references to the symbol, its definition included."""
        return self._locations(self._ask("references", context={"includeDeclaration": True}), read)

    def rename(self, new: str, read: Read) -> list[FileEdits]:
        """The edits that rename the symbol; nothing is changed."""
        for _ in range(MAX_TRIES):
            answer = self._ask("rename", newName=new)
            edits = self._by_file(answer or {})
            unseen = [path for path in edits if path not in self._texts]
            if not unseen:
                return [self._to_file_edits(path, found) for path, found in edits.items() if found]
            # Ask again with these files open: then the edits are for texts that we know.
            for path in unseen:
                text = read(path)
                if text is None:
                    raise ToolError(ErrorCode.CONFLICT, f"{path!r} cannot be read and would change. Nothing was done.")
                self._texts[path] = text
        raise ToolError(ErrorCode.EXECUTION, f"{self._name} names other files each time it is asked. Try again.")

    @property
    def _name(self) -> str:
        return self._client.server.program

    def _ask(self, what: str, **more: Any) -> Any:
        if not self._client.offers(f"{what}Provider"):
            raise ToolError(ErrorCode.UNSUPPORTED, f"{self._name} cannot do this: it offers no {what}.")
        for _ in range(MAX_TRIES):
            with self._client.lock:
                shown = [self._client.show(path, text) for path, text in reversed(self._texts.items())][-1]
                place = self._client.positions(shown.text).to_server(self._offset)
                params = {"textDocument": {"uri": shown.uri}, "position": place, **more}
                pending = self._client.connection.request(f"textDocument/{what}", params)
            try:
                return pending.wait(self._token, self._deadline)
            except RefusedError as refused:
                if refused.code not in RETRY_CODES:
                    raise ToolError(ErrorCode.VALIDATION, f"{self._name} refuses: {refused}") from None
                self._client.wait(lambda: False, self._token, min(self._deadline, time.monotonic() + RETRY_PAUSE_S))
        raise ToolError(ErrorCode.CONFLICT, f"The files change faster than {self._name} can answer. Try again.")

    def _locations(self, answer: Any, read: Read) -> list[Location]:
        given = answer if isinstance(answer, list) else [answer] if answer else []
        texts: dict[str, str | None] = dict(self._texts)
        found = []
        for one in given:
            path, inside = self._client.path(one.get("targetUri") or one["uri"])
            place = one.get("targetSelectionRange") or one["range"]
            if inside and path not in texts:
                texts[path] = read(path)
            text = texts.get(path) if inside else None
            if text is None:
                line = place["start"]["line"] + 1
                found.append(Location(path, Range(line, 1, line, 1), inside))
            else:
                found.append(Location(path, to_range(place, self._client.positions(text))))
        return list(dict.fromkeys(found))

    def _by_file(self, answer: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
        by_uri: dict[str, list[Mapping[str, Any]]] = {}
        for change in answer.get("documentChanges") or ():
            if "kind" in change:
                raise ToolError(
                    ErrorCode.UNSUPPORTED,
                    f"This rename would also {change['kind']} files, which is not done here. "
                    "Nothing was changed: use `move` for the file, and `multiedit` for its name.",
                )
            by_uri.setdefault(change["textDocument"]["uri"], []).extend(change["edits"])
        if not answer.get("documentChanges"):
            by_uri = {uri: list(edits) for uri, edits in (answer.get("changes") or {}).items()}
        by_path = {self._client.path(uri): edits for uri, edits in by_uri.items()}
        for path, inside in by_path:
            if not inside:
                message = f"This rename would change {path!r}, outside the workspace. Nothing was changed."
                raise ToolError(ErrorCode.SECURITY, message)
        return {path: edits for (path, _), edits in by_path.items()}

    def _to_file_edits(self, path: str, edits: list[Mapping[str, Any]]) -> FileEdits:
        places = self._client.positions(self._texts[path])
        at = places.from_server
        found = [Edit(at(one["range"]["start"]), at(one["range"]["end"]), one["newText"]) for one in edits]
        return FileEdits(path, self._texts[path], found)


def _markdown(contents: Any) -> str:
    """Hover contents as Markdown; the protocol has three forms."""
    if isinstance(contents, list):
        return "\n\n".join(filter(None, map(_markdown, contents)))
    if isinstance(contents, dict):
        value = str(contents.get("value", ""))
        return f"```{contents['language']}\n{value}\n```" if contents.get("language") else value
    return str(contents or "")
