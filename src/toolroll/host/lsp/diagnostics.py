"""Diagnostics of files: pulled where the server supports it, else published; only for the current text."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolroll.host.lsp.answers import SEVERITIES, Problem, Range, Severity
from toolroll.host.rpc.channel import LateError, PendingCall, RefusedError

if TYPE_CHECKING:
    from toolroll.host.lsp.client import LspClient, OpenDocument
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.text.positions import Positions

RETRY_CODES = frozenset({-32801, -32802})
"""Errors that mean "ask again": the text changed meanwhile, or the server dropped the request."""
MAX_TRIES = 5
RETRY_PAUSE_S = 0.1
_SEARCH_PATHS = "\ninfo: Searched in the following paths"  # ty appends them: long, and the same each time
_HEADERS = (".h", ".hh", ".hpp", ".hxx")
_QUIET_S = 1.0  # without news a server that sends no versions has checked everything


CheckOutcome = list[Problem] | str | None
"""The problems of a text, or why the server refuses; None without an answer."""


def check(client: LspClient, texts: Mapping[str, str], token: CancelToken, deadline: float) -> dict[str, CheckOutcome]:
    """Check these texts, by path; LateError if the server answered nothing in time."""
    if client.server.loads and not client.settle(token, deadline):
        raise LateError
    pull = client.offers("diagnosticProvider")
    with client.lock:
        headers_first = sorted(texts, key=lambda path: not path.endswith(_HEADERS))  # others are read with them
        shown = [client.show(path, texts[path]) for path in headers_first]
        asked = [(one, one.version, _pull(client, one) if pull else None) for one in shown]
    since = time.monotonic()
    found: dict[str, CheckOutcome] = {}
    for one, version, pending in asked:
        if pending is not None:
            items: list[dict[str, Any]] | str | None = _wait_pulled(client, one, version, pending, token, deadline)
        else:
            items = _wait_published(client, one, version, since, token, deadline)
        places = client.positions(texts[one.path])
        found[one.path] = [_to_problem(item, places) for item in items] if isinstance(items, list) else items
    client.trim(texts)
    if time.monotonic() >= deadline and not any(problems is not None for problems in found.values()):
        raise LateError
    return found


def _to_problem(item: Mapping[str, Any], places: Positions) -> Problem:
    severity = item.get("severity") or 1
    code = item.get("code")
    return Problem(
        range=to_range(item["range"], places),
        severity=_severity(severity),
        message=str(item.get("message", "")).partition(_SEARCH_PATHS)[0].strip(),
        code="" if code is None else str(code),
        source=str(item.get("source") or ""),
    )


def to_range(given: Mapping[str, Any], places: Positions) -> Range:
    """A range of the protocol in our terms."""
    start = places.position(places.from_server(given["start"]))
    end = places.position(places.from_server(given["end"]))
    return Range(start.line, start.character, end.line, end.character)


def _severity(number: int) -> Severity:
    return SEVERITIES[number - 1] if 1 <= number <= len(SEVERITIES) else "error"


def _pull(client: LspClient, shown: OpenDocument) -> PendingCall:
    params: dict[str, Any] = {"textDocument": {"uri": shown.uri}}
    provider = client.can.get("diagnosticProvider")
    if isinstance(provider, dict) and provider.get("identifier"):
        params["identifier"] = provider["identifier"]
    return client.connection.request("textDocument/diagnostic", params)


def _wait_pulled(
    client: LspClient, shown: OpenDocument, version: int, pending: PendingCall, token: CancelToken, deadline: float
) -> list[dict[str, Any]] | str | None:
    for _ in range(MAX_TRIES):
        try:
            answer = pending.wait(token, deadline) or {}
        except LateError:
            return None
        except RefusedError as refused:
            if refused.code not in RETRY_CODES:
                return f"{client.server.program} refuses: {refused}"
            client.wait(lambda: False, token, min(deadline, time.monotonic() + RETRY_PAUSE_S))
            with client.lock:
                if not client.is_current(shown, version):
                    return None
                pending = _pull(client, shown)
        else:
            items: list[dict[str, Any]] | None = answer.get("items")
            return items if client.is_current(shown, version) else None
    return None


def _wait_published(
    client: LspClient, shown: OpenDocument, version: int, since: float, token: CancelToken, deadline: float
) -> list[dict[str, Any]] | None:
    def ready() -> bool:
        found = client.get_published(shown, version)
        if found is None:
            return not client.is_current(shown, version)
        if found.version is not None and not (client.server.loads or client.server.registers):
            return True
        return time.monotonic() - max(found.at, since) >= _QUIET_S

    client.wait(ready, token, deadline)
    found = client.get_published(shown, version) if ready() and client.is_current(shown, version) else None
    return None if found is None else found.items
