"""Definitions, calls and results in the shapes of the model providers and of MCP."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import msgspec

from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, Image, Result

Format = Literal["openai", "responses", "anthropic", "gemini", "mcp"]
"""OpenAI's Chat Completions and Responses, Anthropic's Messages, Gemini, and MCP."""
Schema = dict[str, Any]
Calls = Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""Calls of a provider's answer, or the assistant's message or the answer that holds them."""
_STRICT_DROPS = frozenset({"default", "minLength", "maxLength"})  # keywords that OpenAI's strict mode refuses
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+")  # of a name like read_file, readFile or read-file
_BOUNDS = _STRICT_DROPS | {"minimum", "maximum", "minItems", "maxItems"}  # those of Anthropic's


def _openai(name: str, description: str, schema: Schema, _effects: Effect, strict: bool) -> dict[str, Any]:
    function = {"name": name, "description": description, **_strict_parameters(schema, strict)}
    return {"type": "function", "function": function}


def _responses(name: str, description: str, schema: Schema, _effects: Effect, strict: bool) -> dict[str, Any]:
    # Without `strict` this API takes a schema for a strict one.
    parameters = {"strict": False, **_strict_parameters(schema, strict)}
    return {"type": "function", "name": name, "description": description, **parameters}


def _anthropic(name: str, description: str, schema: Schema, _effects: Effect, strict: bool) -> dict[str, Any]:
    definition: dict[str, Any] = {"name": name, "description": description, "input_schema": schema}
    if strict and _is_closed(schema):
        definition |= {"input_schema": _without(schema, _BOUNDS), "strict": True}
    return definition


def _gemini(name: str, description: str, schema: Schema, _effects: Effect, strict: bool) -> dict[str, Any]:
    """With `strict` in the older field, which takes a part of OpenAPI's schemas."""
    if not strict:
        return {"name": name, "description": description, "parametersJsonSchema": schema}
    return {"name": name, "description": description, "parameters": _without(schema, {"additionalProperties"})}


def _mcp(name: str, description: str, schema: Schema, effects: Effect, _strict: bool) -> dict[str, Any]:
    changes = effects & (Effect.WRITE | Effect.DELETE | Effect.RUN | Effect.SHELL | Effect.STATE)
    annotations: dict[str, Any] = {"readOnlyHint": not changes, "openWorldHint": Effect.NETWORK in effects}
    if changes:
        annotations["destructiveHint"] = bool(effects & (Effect.DELETE | Effect.RUN | Effect.SHELL))
    title = " ".join(_WORDS.findall(name)).capitalize() or name
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "annotations": annotations,
    }


FORMATS: dict[str, Callable[[str, str, Schema, Effect, bool], dict[str, Any]]] = {
    "openai": _openai,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
}


def with_profile(
    found: list[dict[str, Any]], format: Format, api_types: Mapping[str, str], outputs: Mapping[str, Schema]
) -> list[dict[str, Any]]:
    """Definitions with what a dialect's profile says: types that Anthropic's API knows, output schemas of MCP."""
    if format == "anthropic" and api_types:
        typed = {name: {"type": kind, "name": name} for name, kind in api_types.items()}
        return [typed.get(one["name"], one) for one in found]
    if format == "mcp" and outputs:
        return [one | ({"outputSchema": outputs[one["name"]]} if one["name"] in outputs else {}) for one in found]
    return found


def _strict_parameters(schema: Schema, strict: bool) -> dict[str, Any]:
    """Parameters for OpenAI; in strict mode all are required, and those that may be left out may be null.

    Objects whose names are free cannot be strict: tools that take one stay as they are.
    """
    if not strict or not _is_closed(schema):
        return {"parameters": schema}
    return {"parameters": _all_required(_without(schema, _STRICT_DROPS)), "strict": True}


def _is_closed(schema: Schema) -> bool:
    """Whether the names of all objects in a schema are known, and the types of all values."""
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return False
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    inner += [schema["items"]] if "items" in schema else []
    return bool(schema.keys() & {"type", "anyOf", "enum"}) and all(map(_is_closed, inner))


def _without(schema: Any, words: Collection[str]) -> Any:
    """A schema without some keywords; parameters may have names that are keywords."""
    if isinstance(schema, list):
        return [_without(one, words) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {word: _without(value, words) for word, value in schema.items() if word not in words}
    if "properties" in schema:
        kept["properties"] = {name: _without(one, words) for name, one in schema["properties"].items()}
    return kept


def _all_required(schema: Schema) -> Schema:
    if schema.get("type") == "array" and "items" in schema:
        return {**schema, "items": _all_required(schema["items"])}
    if schema.get("type") != "object":
        return schema
    needed = schema.get("required", ())
    inner = {name: _all_required(one) for name, one in schema["properties"].items()}
    properties = {name: one if name in needed else _nullable(one) for name, one in inner.items()}
    return {**schema, "properties": properties, "required": list(properties)}


def _nullable(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    about = {"description": schema["description"]} if "description" in schema else {}
    bare = {word: value for word, value in schema.items() if word != "description"}
    choices = bare["anyOf"] if bare.keys() == {"anyOf"} else [bare]
    return {**about, "anyOf": [*choices, {"type": "null"}]}


_HOLDERS = ("message", "tool_calls", "output", "content", "parts")
_CALL_KEYS = ("function", "functionCall", "call_id")


def find_calls(given: Any) -> list[Mapping[str, Any]]:
    """The calls in a list of calls, in an assistant's message, or in a whole answer of a provider."""
    if hasattr(given, "model_dump"):  # an object of a provider's SDK
        given = given.model_dump(exclude_none=True)
    if isinstance(given, Mapping):
        for key in ("choices", "candidates"):
            if key in given:
                return [call for one in given[key] for call in find_calls(one)]
        inner = next((given[key] for key in _HOLDERS if given.get(key)), ())
        if isinstance(inner, Mapping):
            return find_calls(inner)
        return [] if isinstance(inner, str) else list(filter(_is_call, inner))
    return [one.model_dump(exclude_none=True) if hasattr(one, "model_dump") else one for one in given]


def _is_call(part: Any) -> bool:
    return isinstance(part, Mapping) and (part.get("type") == "tool_use" or any(key in part for key in _CALL_KEYS))


def read_call(format: Format, call: Mapping[str, Any]) -> tuple[str, str, Any]:
    """The id, name and arguments of a call as a provider's API gives it."""
    if format == "openai":
        return call["id"], call["function"]["name"], call["function"].get("arguments")
    if format == "responses":
        return call["call_id"], call["name"], call.get("arguments")
    if format == "anthropic":
        return call["id"], call["name"], call.get("input")
    call = call.get("functionCall", call)  # of Gemini, a part or what it holds
    return call.get("id") or "", call["name"], call.get("args")


def answers(format: Format, calls: Sequence[tuple[str, str]], results: Sequence[Result]) -> list[dict[str, Any]]:
    """Results as a provider's API takes them, in order; `calls` are their ids and names.

    Messages of Chat Completions hold no images for tools: they follow in one message of the user.
    """
    answer = ANSWERS[format]
    found = [answer(id, name, result) for (id, name), result in zip(calls, results, strict=True)]
    if format == "openai" and (images := [image for result in results for image in result.images]):
        parts = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in images]
        found.append({"role": "user", "content": [{"type": "text", "text": _IMAGES_FOLLOW}, *parts]})
    return found


_IMAGES_FOLLOW = "The images of the tool results above, in order."


def _tool_message(call_id: str, _name: str, result: Result) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": wire_text(result)}


def _function_call_output(call_id: str, _name: str, result: Result) -> dict[str, Any]:
    images = [{"type": "input_image", "image_url": data_url(image)} for image in result.images]
    text = wire_text(result)
    output = [{"type": "input_text", "text": text}, *images] if images else text
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _tool_result(call_id: str, _name: str, result: Result) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": wire_text(result)}]
    for image in result.images:
        content.append(
            {"type": "image", "source": {"type": "base64", "media_type": image.mime, "data": base64_data(image)}}
        )
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": not result.ok}


def _function_response(call_id: str, name: str, result: Result) -> dict[str, Any]:
    response: dict[str, Any] = {"name": name, "response": {"output" if result.ok else "error": wire_text(result)}}
    if call_id:
        response["id"] = call_id
    if result.images:
        images = ({"mimeType": image.mime, "data": base64_data(image)} for image in result.images)
        response["parts"] = [{"inlineData": one} for one in images]
    return {"functionResponse": response}


ANSWERS: dict[str, Callable[[str, str, Result], dict[str, Any]]] = {
    "openai": _tool_message,
    "responses": _function_call_output,
    "anthropic": _tool_result,
    "gemini": _function_response,
}


def wire_text(result: Result) -> str:
    """What a model reads of a result."""
    return result.wire if isinstance(result.wire, str) else msgspec.json.encode(result.wire).decode()


def base64_data(image: Image) -> str:
    """The bytes of an image as base64."""
    import base64

    return base64.b64encode(image.data).decode()


def data_url(image: Image) -> str:
    """An image as a `data:` URL."""
    return f"data:{image.mime};base64,{base64_data(image)}"


def joined_text(names: Sequence[str], results: Sequence[Result]) -> str:
    """The results of several calls as one text, as fosscode gives them to a model."""
    lines = ["Executing tools to help with your request...\n"]
    for name, result in zip(names, results, strict=True):
        denied = result.error is not None and result.error.code is ErrorCode.SECURITY
        error = success_object(result)["error"] if denied else result.text
        lines.append(f"{name}: {result.text}" if result.ok else f"❌ {name}: {error}")
    return "\n".join(lines) + "\n"


def mcp_result(result: Result, *, structured: bool = False) -> dict[str, Any]:
    """A result as MCP's `tools/call` answers: text and images.

    Some clients give their model structured content *instead* of the text and the images, so there is none unless it is
    asked for, and never beside an image; then it is the object of the dialect, or data with the text as `answer`.
    """
    content: list[dict[str, Any]] = [{"type": "text", "text": result.text}]
    content += [{"type": "image", "data": base64_data(image), "mimeType": image.mime} for image in result.images]
    answer: dict[str, Any] = {"content": content, "isError": not result.ok}
    if result.error is not None:
        answer["_meta"] = {"code": str(result.error.code)}
    if structured and isinstance(result.structured, dict) and not result.images:
        own = result.structured is result.wire
        answer["structuredContent"] = result.wire if own else {**result.data, "answer": result.text}
    return answer


def mcp_mirror(result: Result) -> dict[str, Any]:
    """A result as the reference filesystem server answers: structured content repeats what the content is."""
    if not result.ok:
        return mcp_result(result)
    blocks = [_file_block(one) for one in result.images]
    content = blocks or [{"type": "text", "text": result.text}]
    return {"content": content, "structuredContent": {"content": blocks or result.text}, "isError": False}


def _file_block(file: Image) -> dict[str, Any]:
    """A file as a block of MCP's content: a picture, a sound, or a resource."""
    kind = file.mime.partition("/")[0]
    if kind in ("image", "audio"):
        return {"type": kind, "data": base64_data(file), "mimeType": file.mime}
    from urllib.parse import quote

    uri = f"file://{quote(file.path)}"
    return {"type": "resource", "resource": {"uri": uri, "mimeType": file.mime, "blob": base64_data(file)}}


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


def file_object(shown: Any) -> dict[str, Any]:
    """Lines or an image as `{type, file}`."""
    if shown.images:
        image = shown.images[0]
        return {"type": "image", "file": {"type": image.mime, "originalSize": len(image.data)}}
    lines = {"numLines": shown.line_count, "startLine": shown.start, "totalLines": shown.total_lines}
    return {"type": "text", "file": {"filePath": shown.path, "content": shown.content, **lines}}


def search_object(matches: Any) -> dict[str, Any]:
    """Matches as `{mode, numFiles, filenames}`, with the lines or their number."""
    names = list(dict.fromkeys(row.path for row in matches.rows))
    mode = {"files": "files_with_matches"}.get(matches.output, matches.output)
    found = {"mode": mode, "numFiles": len(names), "filenames": names}
    if mode == "content":
        return found | {"content": matches.like_ripgrep(), "numLines": len(matches.rows)}
    return found | ({"numMatches": matches.shown} if mode == "count" else {})


def exit_text(ran: Any) -> str:
    """A command that has ended: exit code, time and output."""
    late = f"command timed out after {int(ran.seconds * 1000)} milliseconds\n" if ran.timed_out else ""
    return f"Exit code: {ran.exit_code}\nWall time: {ran.seconds:.1f} seconds\nOutput:\n{late}{ran.output}"


def session_object(run: Any) -> dict[str, Any]:
    """A command or a look at a job as `{wall_time_seconds, exit_code or session_id, output}`."""
    ended = run.exit_code is not None
    state = {"exit_code": run.exit_code} if ended else {"session_id": getattr(run, "job", None) or run.id}
    return {"wall_time_seconds": run.seconds, **state, "output": run.output}


def session_text(run: Any) -> str:
    """The same as text."""
    ended = f"exited with code {run.exit_code}"
    state = ended if run.exit_code is not None else f"running with session ID {session_object(run)['session_id']}"
    return f"Wall time: {run.seconds:.4f} seconds\nProcess {state}\nOutput:\n{run.output}"


def patch_summary(done: Any) -> str:
    """The files of a patch behind A, M or D, in this order."""
    letters = {"create": "A", "copy": "A", "delete": "D"}
    rows = [f"{letters.get(one.kind, 'M')} {one.path}" for one in done.files]
    return "\n".join(["Success. Updated the following files:", *sorted(rows, key=lambda row: "AMD".index(row[0]))])


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
