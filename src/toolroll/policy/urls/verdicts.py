"""May this URL be fetched, and at which addresses? Every hop of a redirect is judged from the start."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolroll.policy import decision
from toolroll.policy.urls import addresses, names, ports
from toolroll.policy.urls.target import Target, check_characters, parse

MAX_REDIRECTS = 5

Resolve = Callable[[str], Sequence[str]]
"""From a name to its addresses, as text."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class UrlVerdict(decision.Verdict):
    """A decision about a URL. An allowed one is fetched from one of `addresses` and nowhere else."""

    addresses: tuple[str, ...] = ()
    target: Target | None = None
    named: bool = False
    """The operator has allowed this very host."""


def judge(url: str, resolve: Resolve, allow: Sequence[str] = ()) -> UrlVerdict:
    """Whether a URL may be fetched. `resolve` is called at most once.

    `allow` holds hosts that the operator has opened although they are not public, each as `host` (at the scheme's own
    port) or `host:port`.
    """
    try:
        target = parse(url)
    except ValueError as error:
        return UrlVerdict("deny", str(error))
    named = _is_named(target, allow)
    reason = "" if named else ports.reason(target.port)
    if not reason and not named and names.is_inside(target.host) and not names.is_address(target.host):
        reason = f"{target.host!r} is a name inside a machine or a network, not a public one"
    if reason:
        return UrlVerdict("deny", reason, target=target)
    return _judge_addresses(target, resolve, named)


def redirect(url: str, location: str) -> str:
    """The URL that a redirect leads to; ValueError if it is not one that could be fetched at all."""
    if not location:
        raise ValueError("the redirect names no place")
    check_characters(location)
    if _SCHEME.match(location):
        found = location
    elif location.startswith("//"):
        found = f"{parse(url).scheme}:{location}"
    else:
        from urllib.parse import urljoin

        found = urljoin(url, location)
    parse(found)
    return found


def _judge_addresses(target: Target, resolve: Resolve, named: bool) -> UrlVerdict:
    if names.is_address(target.host):
        found: tuple[str, ...] = (target.host.strip("[]"),)
        good = named or addresses.is_plain_public(found[0])
    else:
        found = tuple(resolve(target.host))
        if not found:
            return UrlVerdict("deny", f"{target.host!r} has no address", target=target)
        fits = addresses.may_be_trusted if named else addresses.is_public
        good = all(map(fits, found))
    if not good:
        return UrlVerdict("deny", f"{target.host!r} is not at a public address", target=target)
    return UrlVerdict("allow", "", found, target, named)


def _is_named(target: Target, allow: Sequence[str]) -> bool:
    wanted = {target.authority, f"{target.host}:{target.port}"}
    return any(one.strip().lower() in wanted for one in allow)
