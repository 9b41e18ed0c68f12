"""What differs between the versions of the protocol."""

from __future__ import annotations

from typing import Any

from toolroll.mcp.backend import Item, Offer
from toolroll.mcp.wire import INVALID_PARAMS, WRONG_VERSION, RpcError

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Begun with `initialize`; a newer client is answered in the last of these."""
STATELESS = ("2026-07-28",)
"""Every request says its version and what the client can."""
BATCHES = "2025-03-26"
"""The one version with batches."""
LINKS = "2025-06-18"
"""The first with links to resources in results."""

_META = "io.modelcontextprotocol/"
VERSION, CLIENT_CAN, SERVER, SUBSCRIPTION = (
    _META + name for name in ("protocolVersion", "clientCapabilities", "serverInfo", "subscriptionId")
)
_CACHED = ("tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list")
_CACHED_TOO = ("server/discover",)


def negotiated(params: Item) -> str:
    """The version for a session whose client asks with these parameters of `initialize`."""
    asked = params.get("protocolVersion")
    if not isinstance(asked, str):
        raise RpcError(INVALID_PARAMS, "`protocolVersion` is missing.")
    return asked if asked in HANDSHAKE else HANDSHAKE[-1]


def envelope(params: Item) -> Item | None:
    """What a stateless request says of its client; None for a request of a session. Raises RpcError."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or VERSION not in meta:
        return None
    if (asked := meta[VERSION]) not in STATELESS:
        raise RpcError(
            WRONG_VERSION, f"Protocol {asked!r} is not spoken here.", {"supported": SPOKEN, "requested": asked}
        )
    if not isinstance(meta.get(CLIENT_CAN), dict):
        raise RpcError(INVALID_PARAMS, f"`_meta` has no {CLIENT_CAN!r}.")
    return meta


SPOKEN = [*STATELESS]


def about(offer: Offer) -> Item:
    """Who the server is."""
    return {"name": offer.name, "title": offer.title, "version": offer.version}


def initialized(offer: Offer, version: str) -> Item:
    """The result of `initialize`."""
    can = capabilities(logging=True)
    return {
        "protocolVersion": version,
        "capabilities": can,
        "serverInfo": about(offer),
        "instructions": offer.instructions,
    }


def discovered(offer: Offer) -> Item:
    """The result of `server/discover`."""
    return {"supportedVersions": SPOKEN, "capabilities": capabilities(), "instructions": offer.instructions}


def capabilities(*, logging: bool = False) -> dict[str, Any]:
    """What the server can."""
    changes = {"listChanged": True}
    can = {"tools": changes, "resources": changes, "prompts": changes, "completions": {}}
    return {**can, "logging": {}} if logging else can


def complete(method: str, result: Item, offer: Offer) -> Item:
    """A result with what a stateless answer says besides."""
    whole = {"resultType": "complete", **result}
    whole["_meta"] = {**result.get("_meta", {}), SERVER: about(offer)}
    if method in (*_CACHED, *_CACHED_TOO):
        whole |= {"ttlMs": 0, "cacheScope": "private"}
    return whole


def without_links(result: Item) -> Item:
    """The result of a call for clients that know no links to resources."""
    if not any(one["type"] == "resource_link" for one in result.get("content", ())):
        return result
    return {**result, "content": [one for one in result["content"] if one["type"] != "resource_link"]}
