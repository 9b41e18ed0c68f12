"""Our capabilities for a language server, and the answers to its requests."""

from __future__ import annotations

from typing import Any

from toolroll.host.lsp.servers import LanguageServer

_CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
    "textDocument": {
        "synchronization": {"dynamicRegistration": False}, "publishDiagnostics": {"versionSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]}, "definition": {"linkSupport": True}, "references": {},
        "rename": {"prepareSupport": False},
    },
    "workspace": {
        "configuration": True, "workspaceFolders": True, "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "didChangeConfiguration": {"dynamicRegistration": False}, "applyEdit": False,
    },
    "window": {"workDoneProgress": True},
}  # fmt: skip
_ACKNOWLEDGED = frozenset({
    "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
    "window/showMessageRequest",
})  # fmt: skip


def make_initialize_params(server: LanguageServer, uri: str) -> dict[str, Any]:
    """The parameters of `initialize`, for a workspace with this URI."""
    asked = {"dynamicRegistration": server.registers, "relatedDocumentSupport": False}
    texts = {**_CAPABILITIES["textDocument"], "diagnostic": asked}
    return {
        # Not our process id: in a sandbox it means another process or none, and the server would end itself.
        "processId": None,
        "clientInfo": {"name": "toolroll"},
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": "workspace"}],
        "capabilities": {**_CAPABILITIES, "textDocument": texts},
        "initializationOptions": next(iter(server.settings.values())) if len(server.settings) == 1 else None,
    }


def read_registrations(params: Any) -> dict[str, Any]:
    """The capabilities that a server registers after its start."""
    asked = {"textDocument/diagnostic": "diagnosticProvider"}
    given = (one for one in params.get("registrations", ()) if one.get("method") in asked)
    return {asked[one["method"]]: one.get("registerOptions") or {} for one in given}


def answer_request(server: LanguageServer, uri: str, method: str, params: Any) -> Any:
    """The result of a request from the server; KeyError for an unknown method."""
    if method == "workspace/configuration":
        return [_section(server, item.get("section")) for item in params.get("items", ())]
    if method == "workspace/applyEdit":
        return {"applied": False, "failureReason": "Files are changed by tools only."}
    if method == "workspace/workspaceFolders":
        return [{"uri": uri, "name": "workspace"}]
    if method == "window/showDocument":
        return {"success": False}
    if method in _ACKNOWLEDGED or method.endswith("/refresh"):
        return None
    raise KeyError(method)


def _section(server: LanguageServer, section: str | None) -> Any:
    """A section of the settings by its dotted name."""
    found: Any = server.settings
    for name in (section or "").split("."):
        if name == "":
            break
        found = found.get(name) if isinstance(found, dict) else None
    return found or None
