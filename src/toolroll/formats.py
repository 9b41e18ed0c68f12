"""Definitions, calls and results in the shapes of the model providers and of MCP."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, Result

Format = Literal["openai", "anthropic", "gemini", "mcp"]
Definition = Mapping[str, Any]


def _openai(name: str, description: str, schema: dict[str, Any], _effects: Effect) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def _anthropic(name: str, description: str, schema: dict[str, Any], _effects: Effect) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": schema}


def _gemini(name: str, description: str, schema: dict[str, Any], _effects: Effect) -> dict[str, Any]:
    return {"name": name, "description": description, "parametersJsonSchema": schema}


def _mcp(name: str, description: str, schema: dict[str, Any], effects: Effect) -> dict[str, Any]:
    changes = effects & (Effect.WRITE | Effect.DELETE | Effect.RUN | Effect.SHELL | Effect.STATE)
    annotations: dict[str, Any] = {"readOnlyHint": not changes, "openWorldHint": Effect.NETWORK in effects}
    if changes:
        annotations["destructiveHint"] = bool(effects & (Effect.DELETE | Effect.RUN | Effect.SHELL))
    return {"name": name, "description": description, "inputSchema": schema, "annotations": annotations}


FORMATS: dict[str, Callable[[str, str, dict[str, Any], Effect], dict[str, Any]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
}


def tool_message(call_id: str, result: Result) -> dict[str, Any]:
    """A result as the message that answers an OpenAI tool call."""
    content = result.wire if isinstance(result.wire, str) else msgspec.json.encode(result.wire).decode()
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def mcp_result(result: Result) -> dict[str, Any]:
    """A result as MCP's `tools/call` answers: text, images, structured content."""
    content: list[dict[str, Any]] = [{"type": "text", "text": result.text}]
    content += [
        {"type": "image", "data": base64.b64encode(image.data).decode(), "mimeType": image.mime}
        for image in result.images
    ]
    answer: dict[str, Any] = {"content": content, "isError": not result.ok}
    if isinstance(result.data, dict):
        answer["structuredContent"] = result.data
    return answer


_MAX_MESSAGE_CHARS = 300
_EIGHT = {
    ErrorCode.CONFLICT: ErrorCode.IO,
    ErrorCode.TOO_LARGE: ErrorCode.VALIDATION,
    ErrorCode.UNSUPPORTED: ErrorCode.VALIDATION,
    ErrorCode.CANCELLED: ErrorCode.EXECUTION,
}


def status_object(result: Result) -> dict[str, Any]:
    """A result as `{status, message, data, error: {code, message, details}}`, which knows eight codes."""
    error = result.error
    return {
        "status": result.status,
        "message": _message(result),
        "data": result.data,
        "error": None
        if error is None
        else {"code": str(_EIGHT.get(error.code, error.code)), "message": error.message, "details": error.details},
    }


def _message(result: Result) -> str:
    """A short description: the data holds the output, which is not sent twice."""
    if result.message or result.data is None or len(result.text) <= _MAX_MESSAGE_CHARS:
        return result.message or result.text
    return f"Success: {len(result.text)} characters of output, in data."


def one_glob(patterns: list[str]) -> str | None:
    """Several glob patterns as one."""
    return f"{{{','.join(patterns)}}}" if len(patterns) > 1 else next(iter(patterns), None)


_TYPES = {
    ErrorCode.VALIDATION: ("validation", "INVALID_PARAMETER"),
    ErrorCode.SECURITY: ("security", "ACCESS_DENIED"),
    ErrorCode.PERMISSION: ("security", "ACCESS_DENIED"),
    ErrorCode.TIMEOUT: ("timeout", "EXECUTION_TIMEOUT"),
    ErrorCode.IO: ("system", "EXECUTION_FAILED"),
    ErrorCode.NETWORK: ("system", "EXECUTION_FAILED"),
}


def success_object(result: Result) -> dict[str, Any]:
    """A result as `{success, data, error, metadata}`, errors with their type and code in the metadata."""
    if result.error is None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"success": True, "data": result.data, "metadata": {"executedAt": now, **result.meta}}
    kind, code = _TYPES.get(result.error.code, ("execution", "EXECUTION_FAILED"))
    denied = kind == "security" and "Access denied" not in result.error.message
    message = f"Access denied: {result.error.message}" if denied else result.error.message
    return {"success": False, "error": message, "metadata": {"errorType": kind, "errorCode": code, **result.meta}}
