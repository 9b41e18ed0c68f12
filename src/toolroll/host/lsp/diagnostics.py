"""The problems of files: asked for where a server can be asked, else awaited. Never those of another text."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolroll.host.jsonrpc.connection import LateError, Pending, RefusedError
from toolroll.host.lsp.answers import SEVERITIES, Problem, Range, Severity

if TYPE_CHECKING:
    from toolroll.host.lsp.client import Client, Shown
    from toolroll.host.runtime.cancellation import Token
    from toolroll.text.positions import Positions

AGAIN = frozenset({-32801, -32802})
"""Errors that mean "ask again": the text was changed meanwhile, or the server dropped the question."""
_TRIES = 5
_PAUSE = 0.1
_LOOKED = "\ninfo: Searched in the following paths"  # where ty has looked: much, and the same each time
_QUIET = 1.0  # seconds without news after which a server that does not say what it judged has judged all


Judgement = list[Problem] | str | None
"""The problems of a text, or why the server refuses to tell them; None when it did not tell."""


def check(client: Client, texts: Mapping[str, str], token: Token, deadline: float) -> dict[str, Judgement]:
    """What the server thinks of each of these texts, by path; LateError if it told nothing in time."""
    if client.server.loads and not client.settle(token, deadline):
        raise LateError
    pull = client.offers("diagnosticProvider")
    with client.lock:
        shown = [client.show(path, text) for path, text in texts.items()]
        asked = [(one, one.version, _pull(client, one) if pull else None) for one in shown]
    since = time.monotonic()
    found: dict[str, Judgement] = {}
    for one, version, pending in asked:
        if pending is not None:
            items: list[dict[str, Any]] | str | None = _pulled(client, one, version, pending, token, deadline)
        else:
            items = _pushed(client, one, version, since, token, deadline)
        places = client.positions(texts[one.path])
        found[one.path] = [problem(item, places) for item in items] if isinstance(items, list) else items
    client.trim(texts)
    if time.monotonic() >= deadline and not any(problems is not None for problems in found.values()):
        raise LateError
    return found


def problem(item: Mapping[str, Any], places: Positions) -> Problem:
    """One problem in our terms."""
    severity = item.get("severity") or 1
    code = item.get("code")
    return Problem(
        range=span(item["range"], places),
        severity=_severity(severity),
        message=str(item.get("message", "")).partition(_LOOKED)[0].strip(),
        code="" if code is None else str(code),
        source=str(item.get("source") or ""),
    )


def span(given: Mapping[str, Any], places: Positions) -> Range:
    """A range of the server's in our terms."""
    start = places.position(places.from_server(given["start"]))
    end = places.position(places.from_server(given["end"]))
    return Range(start.line, start.character, end.line, end.character)


def _severity(number: int) -> Severity:
    return SEVERITIES[number - 1] if 1 <= number <= len(SEVERITIES) else "error"


def _pull(client: Client, shown: Shown) -> Pending:
    params: dict[str, Any] = {"textDocument": {"uri": shown.uri}}
    provider = client.can.get("diagnosticProvider")
    if isinstance(provider, dict) and provider.get("identifier"):
        params["identifier"] = provider["identifier"]
    return client.request("textDocument/diagnostic", params)


def _pulled(
    client: Client, shown: Shown, version: int, pending: Pending, token: Token, deadline: float
) -> list[dict[str, Any]] | str | None:
    for _ in range(_TRIES):
        try:
            answer = pending.wait(token, deadline) or {}
        except LateError:
            return None
        except RefusedError as refused:
            if refused.code not in AGAIN:
                return f"{client.server.program} refuses: {refused}"
            client.wait(lambda: False, token, min(deadline, time.monotonic() + _PAUSE))
            with client.lock:
                if not client.is_current(shown, version):
                    return None
                pending = _pull(client, shown)
        else:
            items: list[dict[str, Any]] | None = answer.get("items")
            return items if client.is_current(shown, version) else None
    return None


def _pushed(
    client: Client, shown: Shown, version: int, since: float, token: Token, deadline: float
) -> list[dict[str, Any]] | None:
    def ready() -> bool:
        found = client.published(shown, version)
        if found is None:
            return not client.is_current(shown, version)
        if found.version is not None and not (client.server.loads or client.server.registers):
            return True
        return time.monotonic() - max(found.at, since) >= _QUIET

    client.wait(ready, token, deadline)
    found = client.published(shown, version) if ready() and client.is_current(shown, version) else None
    return None if found is None else found.items
