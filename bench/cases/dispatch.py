"""A call of a tool that does nothing, with four typed arguments.

toolroll finds, checks, authorises, runs, renders and records. Peers that run tools on an event loop get an
async tool, which is their fastest way. Of the bad arguments one is missing and one is of the wrong type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from bench import noop
from bench.cases import Settings
from bench.measure import Contestant, Race, awaited, timed
from bench.peers import present

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "deep": {"type": "boolean"},
    },
    "required": ["name", "count", "share", "deep"],
    "additionalProperties": False,
}


def races(settings: Settings) -> Iterator[Race]:
    import jsonschema_rs
    import msgspec

    call, check = (
        noop.toolroll(str(settings.scratch), str(settings.state)),
        jsonschema_rs.validator_for(SCHEMA),
    )
    if call(noop.ARGUMENTS).text != "done" or call(noop.BAD).ok:
        raise RuntimeError("the tool does not answer as it should")
    given, text, bad = noop.ARGUMENTS, noop.JSON, noop.BAD
    yield Race(
        "arguments as dict",
        [
            _ours(call, given),
            *_langchain(given),
            *_on_loop("pydantic-ai-slim", "ToolManager.handle_call", noop.pydantic_ai, given),
            *_on_loop("mcp", "MCPServer.call_tool", noop.mcp, given),
            _floor("plain Python call", lambda: noop.noop(**given)),
            _floor("jsonschema-rs check + call", lambda: check.is_valid(given) and noop.noop(**given)),
        ],
    )

    def decoded() -> None:
        arguments = msgspec.json.decode(text)
        check.validate(arguments)
        noop.noop(**arguments)

    yield Race(
        "arguments as JSON text",
        [
            _ours(call, text),
            *_on_loop("pydantic-ai-slim", "ToolManager.handle_call", noop.pydantic_ai, text),
            *_on_loop("openai-agents", "FunctionTool.on_invoke_tool", noop.openai_agents, text),
            _floor("msgspec decode + jsonschema-rs check + call", decoded),
        ],
    )
    yield Race(
        "bad arguments",
        [
            _ours(call, bad),
            *_langchain(bad),
            _floor("jsonschema-rs, all errors", lambda: list(check.iter_errors(bad))),
        ],
    )


def _ours(call: Callable[[Any], Any], arguments: Any) -> Contestant:
    return Contestant("toolroll kit.call", "ours", timed(lambda: call(arguments)))


def _langchain(arguments: Any) -> list[Contestant]:
    if not present("langchain-core"):
        return []
    invoke = noop.langchain()

    def run() -> None:
        with suppress(ValueError):  # pydantic's ValidationError is one
            invoke(arguments)

    return [Contestant("langchain-core StructuredTool.invoke", "peer", timed(run))]


def _on_loop(name: str, way: str, make: Callable[[], Any], arguments: Any) -> list[Contestant]:
    if not present(name):
        return []
    call = make()
    return [Contestant(f"{name} {way}", "peer", awaited(lambda: call(arguments)))]


def _floor(name: str, function: Callable[[], object]) -> Contestant:
    return Contestant(name, "floor", timed(function))
