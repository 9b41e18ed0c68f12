"""Outputs, notes and documents of a kit as resources."""

import pytest

from toolroll import Effect, Kit, tool
from toolroll.mcp import resources
from toolroll.mcp.backend import UnknownItemError


@tool(Effect.READ)
def at_length() -> str:
    """Say more than is shown."""
    return "word " * 20_000


@pytest.fixture
def kit(ws, tmp_path):
    with Kit(ws, state_dir=tmp_path / "state") as made:
        made.register(at_length)
        made.call("note", {"action": "create", "title": "Über alles", "content": "text"})
        made.call("note", {"action": "create", "title": "Plan", "content": "text"})
        made.call("rag", {"action": "add_text", "title": "Soup of the day", "text": "Lentils."})
        yield made


def test_everything_is_listed_in_order(kit):
    assert resources.list_resources(kit, [("spill:abc", "bash")]) == [
        {
            "uri": "toolroll://output/abc",
            "name": "abc",
            "title": "Whole output of bash",
            "mimeType": "text/plain",
        },
        {"uri": "toolroll://note/plan", "name": "plan", "title": "Plan", "mimeType": "text/markdown"},
        {
            "uri": "toolroll://note/%C3%BCber-alles",
            "name": "über-alles",
            "title": "Über alles",
            "mimeType": "text/markdown",
        },
        {
            "uri": "toolroll://document/text/Soup%20of%20the%20day",
            "name": "Soup of the day",
            "title": "Soup of the day (markdown)",
            "mimeType": "text/plain",
        },
    ]


def test_each_kind_is_read_with_its_type(kit):
    handle = kit.call("at_length", {}).meta["spill"]
    output = resources.make_link(handle, "at_length")
    assert output["type"] == "resource_link"
    found = {one["uri"]: resources.read(kit, one["uri"]) for one in resources.list_resources(kit, [(handle, "x")])}
    assert [(uri, one["mimeType"]) for uri, (one,) in found.items()] == [
        (output["uri"], "text/plain"),
        ("toolroll://note/plan", "text/markdown"),
        ("toolroll://note/%C3%BCber-alles", "text/markdown"),
        ("toolroll://document/text/Soup%20of%20the%20day", "text/plain"),
    ]
    assert all(one["uri"] == uri for uri, (one,) in found.items())
    assert found[output["uri"]][0]["text"] == "word " * 20_000
    assert found["toolroll://note/plan"][0]["text"].endswith("text\n")
    assert found["toolroll://document/text/Soup%20of%20the%20day"][0]["text"] == "Lentils."


@pytest.mark.parametrize(
    "uri",
    [
        "toolroll://note/none",
        "toolroll://note/..%2F..%2Fsecret",
        "toolroll://note/",
        "toolroll://output/none",
        "toolroll://output/..%2F..%2Fgrants%2Fgrants.json",
        "toolroll://output/%2Fetc%2Fpasswd",
        "toolroll://document/text/Bread",
        "toolroll://document/",
        "toolroll://file/a.txt",
        "note/plan",
        "document/text/Soup%20of%20the%20day",
        "file:///etc/passwd",
        "",
    ],
)
def test_nothing_else_can_be_read(kit, put, uri):
    put({"secret.md": "secret", "a.txt": "a"})
    with pytest.raises(UnknownItemError):
        resources.read(kit, uri)


def test_the_names_of_a_template(kit):
    handles = [("spill:abc", "bash"), ("spill:def", "bash")]
    templates = {one["name"]: one["uriTemplate"] for one in resources.TEMPLATES}
    assert resources.list_names(kit, handles, templates["output"]) == ["abc", "def"]
    assert resources.list_names(kit, handles, templates["note"]) == ["plan", "über-alles"]
    assert resources.list_names(kit, handles, templates["document"]) == ["text/Soup of the day"]
    assert resources.list_names(kit, handles, "other://{x}") == []


def test_what_cannot_be_read_says_why_but_not_what_is_outside(kit, ws):
    with pytest.raises(UnknownItemError, match=r"^There is no resource 'toolroll://note/none'\.$"):
        resources.read(kit, "toolroll://note/none")
    (note,) = ws.rglob("plan.md")
    note.unlink()
    note.mkdir()
    with pytest.raises(UnknownItemError, match=r"plan\.md' is a directory"):
        resources.read(kit, "toolroll://note/plan")
