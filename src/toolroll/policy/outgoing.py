"""Decide which requests could carry a secret out, after one was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toolroll.policy.network import PACKAGES, ports_of

LOOKING = frozenset({"GET", "HEAD"})
"""Methods that ask a server for something and change nothing there."""
MAX_CARRIED_CHARACTERS = 300
"""Characters of a path, a query and headers that a request may have after a secret was read."""


def objection(method: str, url: str, headers: Mapping[str, str], *, body: bool) -> str:
    """What of a request could carry a secret; empty if nothing can."""
    if method not in LOOKING or body:
        return f"a {method} request can carry it"
    return objection_to_text(f"{url.partition('//')[2]} {' '.join(headers.values())}")


def objection_to_text(text: str) -> str:
    """What of a text that is sent could carry a secret; empty if nothing can."""
    if len(text) > MAX_CARRIED_CHARACTERS:
        return f"this one has {len(text)} characters of address and headers, which could hold it"
    return ""


def is_named(host: str, port: int, names: Iterable[str]) -> bool:
    """Whether the user has named a host, among those that commands reach or that are fetched from."""
    return port in ports_of((one for one in names if one != PACKAGES), host)
