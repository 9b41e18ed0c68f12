"""Differences between the versions of the protocol."""

from __future__ import annotations

from typing import Any

from toolroll.mcp.backend import Backend, Item
from toolroll.mcp.wire import INVALID_PARAMS, WRONG_VERSION, RpcError

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions with `initialize`; a newer client gets the last of these."""
STATELESS = ("2026-07-28",)
"""Versions in which every request carries its version and the client's capabilities."""
BATCHES = "2025-03-26"
"""The only version with batches."""
LINKS = "2025-06-18"
"""The first version with resource links in results."""

_META = "io.modelcontextprotocol/"
VERSION, CLIENT, CLIENT_CAN, SERVER, SUBSCRIPTION = (
    _META + name for name in ("protocolVersion", "clientInfo", "clientCapabilities", "serverInfo", "subscriptionId")
)
_CACHEABLE = frozenset(
    ("tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list", "server/discover")
)


def negotiate(params: Item) -> str:
    """The version of a session, by the parameters of `initialize`."""
    asked = params.get("protocolVersion")
    if not isinstance(asked, str):
        raise RpcError(INVALID_PARAMS, "`protocolVersion` is missing.")
    return asked if asked in HANDSHAKE else HANDSHAKE[-1]


def read_envelope(params: Item) -> Item | None:
    """The metadata of a stateless request; None for a request of a session. Raises RpcError."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or VERSION not in meta:
        return None
    check_version(meta[VERSION])
    if not isinstance(meta.get(CLIENT_CAN), dict):
        raise RpcError(INVALID_PARAMS, f"`_meta` has no {CLIENT_CAN!r}.")
    return meta


def check_version(asked: Any) -> None:
    """Raise RpcError for a stateless version that is not spoken here."""
    if asked not in STATELESS:
        known = {"supported": [*STATELESS], "requested": asked}
        raise RpcError(WRONG_VERSION, f"Protocol {asked!r} is not spoken here.", known)


def server_info(backend: Backend) -> Item:
    """Name, title and version of the server."""
    return {"name": backend.name, "title": backend.title, "version": backend.version}


def initialize_result(backend: Backend, version: str) -> Item:
    """The result of `initialize`."""
    said = {"serverInfo": server_info(backend), "instructions": backend.instructions}
    return {"protocolVersion": version, "capabilities": capabilities(logging=True), **said}


def discover_result(backend: Backend) -> Item:
    """The result of `server/discover`."""
    return {"supportedVersions": [*STATELESS], "capabilities": capabilities(), "instructions": backend.instructions}


def capabilities(*, logging: bool = False) -> dict[str, Any]:
    """The capabilities of the server."""
    changes = {"listChanged": True}
    can = {"tools": changes, "resources": changes, "prompts": changes, "completions": {}}
    return {**can, "logging": {}} if logging else can


def complete_result(method: str, result: Item, backend: Backend) -> Item:
    """A result with the fields that stateless answers need in addition."""
    whole = {"resultType": "complete", **result}
    whole["_meta"] = {**result.get("_meta", {}), SERVER: server_info(backend)}
    if method in _CACHEABLE:
        whole |= {"ttlMs": 0, "cacheScope": "private"}
    return whole


def without_links(result: Item) -> Item:
    """The result of a call without resource links, for clients of older versions."""
    if not any(one["type"] == "resource_link" for one in result.get("content", ())):
        return result
    return {**result, "content": [one for one in result["content"] if one["type"] != "resource_link"]}
