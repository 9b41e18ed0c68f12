"""What we tell a server of ourselves, and how its own requests are answered."""

from __future__ import annotations

from typing import Any

from toolroll.host.lsp.servers import Server

_CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
    "textDocument": {
        "synchronization": {"dynamicRegistration": False},
        "publishDiagnostics": {"versionSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "definition": {"linkSupport": True},
        "references": {},
        "rename": {"prepareSupport": False},
    },
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "didChangeConfiguration": {"dynamicRegistration": False},
        "applyEdit": False,
    },
    "window": {"workDoneProgress": True},
}


def ask_for(server: Server, uri: str) -> dict[str, Any]:
    """The first request's parameters, for a workspace at this address."""
    asked = {"dynamicRegistration": server.registers, "relatedDocumentSupport": False}
    texts = {**_CAPABILITIES["textDocument"], "diagnostic": asked}
    return {
        # Without our number: in a sandbox it means another process, or none, and the server would end itself.
        "processId": None,
        "clientInfo": {"name": "toolroll"},
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": "workspace"}],
        "capabilities": {**_CAPABILITIES, "textDocument": texts},
        "initializationOptions": next(iter(server.settings.values())) if len(server.settings) == 1 else None,
    }


def registered(params: Any) -> dict[str, Any]:
    """What a server offers from now on, in the terms of its capabilities."""
    asked = {"textDocument/diagnostic": "diagnosticProvider"}
    given = (one for one in params.get("registrations", ()) if one.get("method") in asked)
    return {asked[one["method"]]: one.get("registerOptions") or {} for one in given}


def reply(server: Server, uri: str, method: str, params: Any) -> Any:
    """The result of a request of the server's; KeyError for one that is not known."""
    if method == "workspace/configuration":
        return [_section(server, item.get("section")) for item in params.get("items", ())]
    if method == "workspace/applyEdit":
        return {"applied": False, "failureReason": "Files are changed by tools only."}
    if method == "workspace/workspaceFolders":
        return [{"uri": uri, "name": "workspace"}]
    if method == "window/showDocument":
        return {"success": False}
    if method in _NOTED or method.endswith("/refresh"):
        return None
    raise KeyError(method)


_NOTED = frozenset(
    {
        "client/registerCapability",
        "client/unregisterCapability",
        "window/workDoneProgress/create",
        "window/showMessageRequest",
    }
)


def _section(server: Server, section: str | None) -> Any:
    """A part of the settings by its dotted name."""
    found: Any = server.settings
    for name in (section or "").split("."):
        if name == "":
            break
        found = found.get(name) if isinstance(found, dict) else None
    return found or None
