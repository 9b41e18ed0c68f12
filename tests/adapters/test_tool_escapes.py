"""Attempts to get out of the workspace by the tools of a kit, as each agent framework calls them: `make adapters`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("agno") is None:
    pytest.skip("make adapters runs it, with all frameworks", allow_module_level=True)

from tests.host.sandbox.test_probes import MUST_NOT, SECRET, Ground, ground, untouched
from toolroll import Kit

Call = Callable[[str, dict[str, Any]], str]
"""Calls a tool by its name, as a framework does; gives what the model would read."""

COMMANDS = (
    "read a secret",
    "read by a link",
    "write beside the workspace",
    "write by a link",
    "link a file in",
    "TCP",
    "a socket by its path",
    "kill another process",
)


def by_langchain(kit: Kit) -> Call:
    from toolroll.adapters.langchain import tools

    named = {one.name: one for one in tools(kit)}
    return lambda name, args: str(
        named[name].invoke({"type": "tool_call", "id": "1", "name": name, "args": args}).content
    )


def by_pydantic_ai(kit: Kit) -> Call:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from toolroll.adapters.pydantic_ai import toolset

    def call(name: str, args: dict[str, Any]) -> str:
        def answer(messages: list[Any], _info: Any) -> ModelResponse:
            if len(messages) == 1:
                return ModelResponse([ToolCallPart(name, args)])
            return ModelResponse([TextPart(str(messages[-1].parts[0].content))])

        return Agent(FunctionModel(answer), toolsets=[toolset(kit)]).run_sync("go").output

    return call


def by_openai_agents(kit: Kit) -> Call:
    from agents.tool_context import ToolContext

    from toolroll.adapters.openai_agents import tools

    named = {one.name: one for one in tools(kit)}

    def call(name: str, args: dict[str, Any]) -> str:
        text = json.dumps(args)
        ctx: Any = ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=text)
        return str(asyncio.run(named[name].on_invoke_tool(ctx, text)))

    return call


def by_anthropic(kit: Kit) -> Call:
    from toolroll.adapters.anthropic import ToolError, tools

    named = {one.name: one for one in tools(kit)}

    def call(name: str, args: dict[str, Any]) -> str:
        try:
            return "".join(one["text"] for one in named[name].call(args))
        except ToolError as error:
            return str(error.content)

    return call


def by_smolagents(kit: Kit) -> Call:
    from toolroll.adapters.smolagents import ToolError, tools

    named = {one.name: one for one in tools(kit)}

    def call(name: str, args: dict[str, Any]) -> str:
        try:
            return str(named[name](**args))
        except ToolError as error:
            return str(error)

    return call


def by_agno(kit: Kit) -> Call:
    from agno.tools.function import FunctionCall

    from toolroll.adapters.agno import tools

    named = {one.name: one for one in tools(kit)}

    def call(name: str, args: dict[str, Any]) -> str:
        done = FunctionCall(function=named[name], arguments=args, call_id="1").execute()
        return done.error or str(done.result.content)

    return call


def by_google_genai(kit: Kit) -> Call:
    from google.genai import types

    from toolroll.adapters.google_genai import answers

    def call(name: str, args: dict[str, Any]) -> str:
        parts = [{"function_call": {"name": name, "args": args}}]
        (part,) = answers(kit, types.GenerateContentResponse(candidates=[{"content": {"parts": parts}}]))
        return "".join(part.function_response.response.values())

    return call


def find_escapes(here: Ground, call: Call) -> set[str]:
    """Which attempts had their effect."""
    words = "".join(f"export {name}={value}\n" for name, value in here.words().items())
    run = lambda script: call("bash", {"command": words + script}) + "\n"  # noqa: E731
    happened = {trial for trial in COMMANDS if MUST_NOT[trial][1](here, run(MUST_NOT[trial][0]))}
    run("ln -s $FOLDER/home/.ssh/id made; ln -s $FOLDER/sibling made-out")
    for path in (f"{here.home}/.ssh/id", "../home/.ssh/id", "key", "made"):
        happened |= {f"read {path}"} if SECRET in call("read", {"path": path}) else set()
    for path in (f"{here.home}/.bashrc", "../sibling/c", "out/c", "made-out/c", str(here.tmp)):
        call("write", {"path": path, "content": "x"})
    if list(here.sibling.iterdir()) or here.tmp.exists() or not untouched(here.home / ".bashrc"):
        happened.add("write a file")
    return happened


FRAMEWORKS = [by_langchain, by_pydantic_ai, by_openai_agents, by_anthropic, by_smolagents, by_agno, by_google_genai]


@pytest.mark.parametrize("offer", FRAMEWORKS, ids=lambda one: one.__name__.removeprefix("by_"))
def test_no_attempt_gets_out(tmp_path, offer):
    with ground(tmp_path / "ground") as here, Kit(here.ws, state_dir=tmp_path / "state") as kit:
        call = offer(kit)
        call("write", {"path": "inside", "content": "kept\n"})
        assert "kept" in call("read", {"path": "inside"})
        assert "kept" in call("bash", {"command": "cat inside"})
        assert find_escapes(here, call) == set()
