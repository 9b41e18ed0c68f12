"""Which tools a model is shown at first, what that costs, and how it reaches the others."""

import msgspec
import pytest

from toolroll import Effect, dialects, tool
from toolroll.catalogue import CALL, CALL_READ, FIND
from toolroll.text.tokens import estimate
from toolroll.text.tool_tasks import TASKS

MOST = 2_500
"""Tokens of all definitions that a native kit shows by itself."""


def names(kit):
    return [one["name"] for one in kit.definitions("anthropic")]


@pytest.mark.parametrize("shape", ["openai", "anthropic", "gemini", "mcp"])
def test_the_native_tools_cost_little(kit, shape):
    for_clients = {"title", "annotations"}  # which MCP clients do not give to their model
    seen = [{key: value for key, value in one.items() if key not in for_clients} for one in kit.definitions(shape)]
    cost = sum(estimate(msgspec.json.encode(one).decode()) for one in seen)
    assert cost <= MOST, "mark what is seldom needed with @tool(..., rare=True)"
    assert cost >= MOST / 2, "there is room to show more"


def test_at_first_a_model_is_shown_the_core_and_the_way_to_the_rest(kit):
    shown = names(kit)
    assert {"read", "write", "edit", "grep", "find", "bash", "finish", FIND, CALL} <= set(shown)
    hidden = [name for name in kit.names() if name not in shown]
    assert {"multiedit", "rename", "profile", "memory"} <= set(hidden)
    finder = next(one for one in kit.definitions("anthropic") if one["name"] == FIND)
    assert finder["description"].endswith(f"There are: {', '.join(hidden)}.")


def test_each_choice_shows_what_it_says_and_allows_the_same(open_kit):
    core, every, lazy, some = (open_kit(tools=choice) for choice in ("core", "all", "lazy", ["read", "stat"]))
    assert names(core) == names(open_kit())
    assert names(every) == every.names()
    assert names(lazy) == [FIND, CALL]
    assert sorted(core.names()) == sorted(lazy.names()) == sorted([*every.names(), FIND, CALL])
    assert names(some) == some.names() == ["read", "stat"]
    with pytest.raises(ValueError, match=r"no choice of tools 'few'. There are: all, core, lazy, or a list of names"):
        open_kit(tools="few")


@pytest.mark.parametrize("dialect", [name for name in dialects.names() if name != "native"])
def test_other_dialects_show_what_their_document_says(open_kit, dialect):
    kit = open_kit(dialect)
    assert names(kit) == kit.names()
    assert names(open_kit(dialect, tools="lazy")) == [FIND, CALL]


def test_everything_can_be_called_by_its_own_name(kit, put):
    put({"a.txt": "hello\n"})
    assert kit.call("stat", {"path": "a.txt"}).data["size"] == 6


def test_a_relayed_call_is_that_call(open_kit, put):
    put({"a.txt": "hello\n"})
    seen = []
    kit = open_kit(observe=seen.append)

    def relayed(name, arguments):
        return kit.call(CALL, {"name": name, "arguments": arguments})

    direct, other = kit.call("stat", {"path": "a.txt"}), relayed("stat", {"path": "a.txt"})
    assert (direct.text, direct.data, direct.wire) == (other.text, other.data, other.wire)
    assert [record.name for record in seen] == ["stat", "stat"]
    assert relayed("stat", '{"path": "a.txt"}').data == direct.data
    assert relayed("finish", {"result": "done"}).control == "finish"
    wrong = relayed("stat", {"path": 7})
    assert (wrong.error.code, "`path` must be a string" in wrong.text) == ("ValidationError", True)
    assert relayed("stat", {"path": "../x"}).error.code == "SecurityError"
    assert kit.call(CALL, {"name": "env"}).ok


def test_tools_that_only_read_have_a_way_of_their_own(kit, put):
    """MCP clients ask about the other one, which can do everything."""
    put({"a.txt": "x"})
    assert kit.call(CALL_READ, {"name": "stat", "arguments": {"path": "a.txt"}}).ok
    refused = kit.call(CALL_READ, {"name": "Delete", "arguments": {"path": "a.txt"}})
    assert (refused.error.code, "only tools that read" in refused.text) == ("ValidationError", True)
    hints = {one["name"]: one["annotations"]["readOnlyHint"] for one in kit.definitions("mcp")}
    assert (hints[CALL_READ], hints[CALL]) == (True, False)
    assert CALL_READ not in names(kit)


def test_what_cannot_be_relayed(kit):
    assert kit.call(CALL, {}).error.code == "ValidationError"
    assert kit.call(CALL, {"name": "stat", "more": 1}).error.code == "ValidationError"
    unknown = kit.call(CALL, {"name": "stats"})
    assert (unknown.error.code, "Did you mean 'stat'" in unknown.text) == ("NotFound", True)
    itself = kit.call(CALL, {"name": CALL, "arguments": {"name": "env"}})
    assert (itself.error.code, f"Did you mean {CALL!r}" in itself.text) == ("NotFound", False)


def test_modes_hold_for_relayed_calls_too(open_kit, put, ws):
    put({"a.txt": "x"})
    kit = open_kit(mode="thinking")
    refused = kit.call(CALL, {"name": "delete", "arguments": {"path": "a.txt"}})
    assert (refused.error.code, (ws / "a.txt").exists()) == ("PermissionDenied", True)
    found = kit.call(FIND, {"query": "delete a file"}).text.splitlines()
    assert [line for line in found if line.startswith("delete:")] == []
    annotations = {one["name"]: one["annotations"] for one in kit.definitions("mcp")}
    assert annotations[CALL]["readOnlyHint"] is True


def test_annotations_of_the_relay_are_those_of_the_worst(kit):
    annotations = {one["name"]: one["annotations"] for one in kit.definitions("mcp")}
    assert annotations[CALL] == {"readOnlyHint": False, "openWorldHint": True, "destructiveHint": True}
    assert annotations[FIND] == {"readOnlyHint": True, "openWorldHint": False}


def test_an_approver_is_asked_about_the_tool_that_is_meant(open_kit, put, ws):
    put({"a.txt": "x"})
    asked = []
    kit = open_kit(policy="ask", approve=lambda request: asked.append((request.name, dict(request.arguments))))
    kit.call(CALL, {"name": "delete", "arguments": {"path": "a.txt"}})
    assert asked == [("delete", {"path": "a.txt"})]
    assert (ws / "a.txt").exists()


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("rename a symbol everywhere", "rename"),
        ("replace text in many files", "multiedit"),
        ("commit my changes with git", "git"),
        ("search the web", "web_search"),
        ("download a page by its url", "fetch"),
        ("find the uses of a symbol", "references"),
        ("measure what is slow", "profile"),
        ("remember something for later", "memory"),
        ("undo the last change", "undo"),
        ("run python code", "python"),
        ("move a file", "move"),
        ("format and lint", "lint"),
        ("multiedit", "multiedit"),
        ("rename a file", "move"),
        ("append a line to a file", "insert"),
        ("remove a directory", "delete"),
        ("take a snapshot", "checkpoint"),
        ("who calls this function", "references"),
    ],
)
def test_tools_are_found_by_what_they_do(kit, query, name):
    result = kit.call(FIND, {"query": query})
    found = [one["name"] for one in result.data["tools"]]
    assert name in found[:2]
    entry = next(entry for entry in kit.entries() if entry.name == name)
    shown = {"name": name, "description": entry.description, "parameters": entry.schema}
    assert shown in result.data["tools"]
    assert f"{name}: {entry.description}\n{msgspec.json.encode(entry.schema).decode()}" in result.text


def test_tools_by_name_and_none_at_all(kit):
    both = kit.call(FIND, {"query": "stat, copy", "limit": 2})
    assert {one["name"] for one in both.data["tools"]} == {"stat", "copy"}
    none = kit.call(FIND, {"query": "xyzzy"})
    assert (none.data["tools"], none.text.startswith("No such tool. There are: ")) == ([], True)


def test_tools_of_ones_own(open_kit):
    @tool(Effect.READ)
    def common() -> str:
        """Often needed."""
        return "common"

    @tool(Effect.READ, rare=True)
    def seldom() -> str:
        """Seldom needed: polishes spoons."""
        return "seldom"

    kit = open_kit()
    changes = []
    stop = kit.watch(lambda: changes.append(kit.names()))
    kit.register(common)
    kit.register(seldom)
    assert ("common" in names(kit), "seldom" in names(kit)) == (True, False)
    assert kit.call(FIND, {"query": "polish a spoon"}).data["tools"][0]["name"] == "seldom"
    assert kit.call(CALL, {"name": "seldom"}).text == kit.call("seldom").text == "seldom"
    kit.unregister("seldom")
    assert kit.call(CALL, {"name": "seldom"}).error.code == "NotFound"
    assert len(changes) == 3
    stop()
    kit.unregister("common")
    assert len(changes) == 3

    @tool(name=FIND)
    def impostor() -> str:
        """Take the name of another."""
        return ""

    with pytest.raises(ValueError, match="already registered"):
        kit.register(impostor)


def test_what_people_ask_for_is_told_of_every_hidden_tool(kit):
    hidden = {entry.name for entry in kit.entries()} - {one["name"] for one in kit.definitions("mcp")}
    assert hidden - {CALL_READ} == set(TASKS)
