"""Todos, notes, memories and the library as the console shows them."""

from __future__ import annotations

from collections.abc import Callable

from toolroll import Kit
from toolroll.control.views import show


def test_todos_of_the_session(kit: Kit) -> None:
    kit.call("todo_write", {"todos": [{"content": "one", "status": "completed"}, {"content": "two"}]})
    assert show(kit, "todos", {})["todos"] == [
        {"text": "one", "status": "completed", "priority": "medium"},
        {"text": "two", "status": "pending", "priority": "medium"},
    ]


def test_notes_and_memories_with_search(kit: Kit) -> None:
    kit.call("note", {"action": "create", "title": "Ports", "content": "The server is on 8080.", "tags": ["net"]})
    kit.call("note", {"action": "create", "title": "Long", "content": "y " * 9_000})
    kit.call("memory", {"action": "add", "content": "The user likes tabs", "type": "semantic"})
    kit.call("memory", {"action": "add", "content": "The build takes a minute"})
    (note,) = show(kit, "notes", {"query": "server"})["notes"]
    assert (note["id"], note["text"], note["tags"]) == ("ports", "Ports\n\nThe server is on 8080.", ["general", "net"])
    long = next(one for one in show(kit, "notes", {})["notes"] if one["id"] == "long")
    assert len(long["text"]) <= 10_000
    assert "characters left out" in long["text"]
    assert [one["id"] for one in show(kit, "memory", {})["notes"]] == ["m2", "m1"]
    (memory,) = show(kit, "memory", {"query": "tabs"})["notes"]
    assert (memory["text"], memory["tags"]) == ("The user likes tabs", ["semantic", "importance 0.5"])


def test_the_library(kit: Kit, put: Callable[..., None]) -> None:
    assert show(kit, "library", {}) == {"passages": [], "stats": "The library: it is empty."}
    put({"guide.md": "# Guide\n\nTurn the red valve to stop the pump.\n"})
    kit.call("rag", {"action": "add_document", "path": "guide.md"})
    found = show(kit, "library", {"query": "stop the pump"})
    assert found["stats"].startswith("The library: 1 document")
    assert found["passages"][0]["source"].startswith("guide.md")
    assert "red valve" in found["passages"][0]["text"]
    assert show(kit, "library", {"query": "zebra"})["passages"] == []
