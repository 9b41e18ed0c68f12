"""The tool `mcp`: what it needs for each action, and how it looks in the dialect that has it as a bundle."""

import pytest

from tests.host.mcp.conftest import hostile
from toolroll.result import ErrorCode, ToolError
from toolroll.tools.session.mcp import mcp

ACTIONS = ["list_tools", "call_tool", "list_resources", "read_resource", "list_prompts", "get_prompt"]


@pytest.mark.parametrize(
    ("action", "needed"), [("call_tool", "name"), ("read_resource", "uri"), ("get_prompt", "name")]
)
def test_what_an_action_needs(open_kit, action, needed):
    kit = open_kit(mcp={"h": hostile()})
    with pytest.raises(ToolError, match=f"`action` '{action}' also needs `{needed}`"):
        mcp(kit.context(), action)
    assert kit.remote.server("h")._lifecycle.session is None, "nothing is started for a call that cannot be made"


@pytest.mark.parametrize("action", ACTIONS)
def test_without_any_server(open_kit, action):
    with pytest.raises(ToolError, match="No MCP server is set up") as raised:
        mcp(open_kit(mcp={}).context(), action, name="x", uri="x:y")
    assert raised.value.code == ErrorCode.UNSUPPORTED


def test_all_actions_in_the_coding_agent_dialect(open_kit):
    kit = open_kit("coding-agent", mcp={"h": hostile()})
    entry = next(one for one in kit.entries() if one.name == "mcp")
    assert entry.schema["properties"]["action"]["enum"] == ACTIONS
    given = {
        "list_tools": {},
        "call_tool": {"name": "echo", "arguments": {"text": "hello"}},
        "list_resources": {},
        "read_resource": {"uri": "note://a"},
        "list_prompts": {},
        "get_prompt": {"name": "greet", "arguments": {"who": "you"}},
    }
    told = {action: kit.call("mcp", {"action": action, **more}).text for action, more in given.items()}
    wanted = ["- echo: Say it again.", "hello", "- note://b", "the text of note://a", "- greet: Greets", "Greet you."]
    assert [one in told[action] for action, one in zip(ACTIONS, wanted, strict=True)] == [True] * 6
    assert kit.call("mcp", {"action": "call_tool"}).text == "Action 'call_tool' also needs `name`."


def test_thinking_hides_the_call_in_the_coding_agent_dialect(open_kit):
    kit = open_kit("coding-agent", mode="thinking", mcp={"h": hostile()})
    entry = next(one for one in kit.entries() if one.name == "mcp")
    assert entry.schema["properties"]["action"]["enum"] == [one for one in ACTIONS if one != "call_tool"]
    called = kit.call("mcp", {"action": "call_tool", "name": "echo", "arguments": {"text": "a"}})
    assert called.error.code == ErrorCode.PERMISSION
