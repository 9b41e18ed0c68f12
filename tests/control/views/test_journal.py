"""The journal as the console shows it: entries, diffs, undo, rewind, checkpoints, blame."""

from __future__ import annotations

import resource
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.control.acts import act
from toolroll import Kit, ToolError
from toolroll.control.views import show
from toolroll.tool import Effect


@pytest.fixture
def ask(kit: Kit) -> Callable[..., dict[str, Any]]:
    """Ask a view, or act on what it shows."""
    acts = ("undo", "rewind", "checkpoint")
    return lambda method, **params: act(kit, method, **params) if method in acts else show(kit, method, params)


def test_entries_come_in_pages_newest_first_with_their_diffs(kit: Kit, ask: Any) -> None:
    kit.call("write", {"path": "a.txt", "content": "one\n"}, message="m1")
    kit.call("edit", {"path": "a.txt", "old": "one", "new": "two"})
    kit.call("bash", {"command": "printf 'x\\0y' > b.bin; mv a.txt c.txt"})
    assert ask("checkpoint", name="here")["ok"]
    page = ask("journal", limit=2)
    assert [(one["number"], one["tool"], one["checkpoint"], one["message"]) for one in page["entries"]] == [
        (4, "checkpoint", "here", "console"),
        (3, "bash", None, ""),
    ]
    assert page["entries"][1]["said"].startswith("printf")
    assert page["more"]
    rest = ask("journal", before=3, limit=2)
    assert [(one["number"], one["message"], one["paths"], one["total"]) for one in rest["entries"]] == [
        (2, "", ["a.txt"], 1),
        (1, "m1", ["a.txt"], 1),
    ]
    assert not rest["more"]
    (edited,) = ask("journal_entry", number=2)["files"]
    assert (edited["path"], edited["kind"], edited["diff"]) == ("a.txt", "modified", "@@ -1,1 +1,1 @@\n-one\n+two")
    files = {one["path"]: one for one in ask("journal_entry", number=3)["files"]}
    assert (files["b.bin"]["kind"], files["b.bin"]["binary"], files["b.bin"]["diff"]) == ("created", True, "")
    assert (files["c.txt"]["kind"], files["c.txt"]["origin"], files["c.txt"]["binary"]) == ("renamed", "a.txt", False)


@pytest.mark.parametrize(
    ("dialect", "options"), [("pigo", {}), ("native", {"tools": ["read", "write"]}), ("claude-code", {})]
)
def test_undo_and_rewind_are_entries_of_the_console_in_every_dialect(
    open_kit: Callable[..., Kit], ws: Path, dialect: str, options: dict[str, Any]
) -> None:
    kit = open_kit(dialect, **options)
    for text in (b"one\n", b"two\n", b"three\n"):
        kit.write_bytes("a.txt", text)
    assert act(kit, "undo", number=3)["ok"]
    assert (ws / "a.txt").read_text() == "two\n"
    last = show(kit, "journal", {"limit": 3})["entries"]
    assert [(one["number"], one["tool"], one["message"], one["undo"], one["undone"]) for one in last] == [
        (4, "undo", "console", True, False),
        (3, "write_bytes", "", False, True),
        (2, "write_bytes", "", False, False),
    ]
    preview = show(kit, "rewind_preview", {"to": 1})
    assert (preview["entries"], preview["refused"]) == ([2], [])
    assert [(one["path"], one["diff"]) for one in preview["files"]] == [("a.txt", "@@ -1,1 +1,1 @@\n-two\n+one")]
    assert show(kit, "rewind", {"to": 1, "digest": preview["digest"]})["ok"]
    assert (ws / "a.txt").read_text() == "one\n"
    assert show(kit, "rewind_preview", {"to": 0})["files"][0]["kind"] == "deleted"


def test_what_a_person_takes_back_is_not_asked_about(open_kit: Callable[..., Kit], ws: Path) -> None:
    asked: list[str] = []

    def approve(request: Any) -> bool:
        asked.append(request.name)
        return request.name == "write"

    kit = open_kit(policy="ask", approve=approve)
    for text in ("one", "two"):
        kit.call("write", {"path": "a.txt", "content": text})
    assert act(kit, "checkpoint", name="here")["ok"]
    assert act(kit, "undo", number=2)["ok"]
    assert act(kit, "rewind", to=0)["ok"]
    assert (asked, (ws / "a.txt").exists()) == (["write", "write"], False)
    assert not kit.call("undo").ok  # a model's is
    denied = open_kit(policy=replace(kit.policy, deny=Effect.WRITE))
    assert not act(denied, "undo", number=1)["ok"]


def test_a_preview_follows_moves(kit: Kit, ask: Any) -> None:
    kit.call("write", {"path": "a.txt", "content": "one\n"})
    kit.call("move", {"source": "a.txt", "target": "b.txt"})
    assert [(one["path"], one["kind"], one["origin"]) for one in ask("rewind_preview", to="1")["files"]] == [
        ("a.txt", "renamed", "b.txt")
    ]


def test_a_conflict_is_refused_with_the_text_of_the_tool(kit: Kit, ask: Any, ws: Path) -> None:
    kit.call("write", {"path": "a.txt", "content": "one\n"})
    (ws / "a.txt").write_text("by hand\n")
    refused = ask("undo", number=1)
    assert not refused["ok"]
    assert refused["text"] == kit.call("undo").text
    assert "was changed since entry 1 (write)" in refused["text"]
    assert ask("rewind_preview", to=0)["refused"] == ["'a.txt' (changed by others since entry 1, write)"]
    assert not ask("rewind", to="0")["ok"]
    assert (ws / "a.txt").read_text() == "by hand\n"


def test_an_undo_waits_for_a_call_on_the_same_path(kit: Kit, ask: Any, ws: Path) -> None:
    kit.call("write", {"path": "a.txt", "content": "one\n"})
    reached, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def write(ctx: Any) -> None:
        ctx.files.write("a.txt", b"two\n")
        reached.set()
        assert go_on.wait(10)

    def undo() -> None:
        answers.append(ask("undo", number=1))
        done.set()

    answers: list[dict[str, Any]] = []
    call = threading.Thread(target=kit._run, args=("slow", Effect.WRITE, write, "a.txt"))
    click = threading.Thread(target=undo)
    call.start()
    assert reached.wait(10)
    click.start()
    assert not done.wait(0.1)
    go_on.set()
    call.join(10)
    click.join(10)
    assert "was changed since entry 1" in answers[0]["text"]  # the call has ended, and its change is another entry
    assert (ws / "a.txt").read_text() == "two\n"


def test_blame_names_the_entry_of_each_line(kit: Kit, ask: Any, ws: Path) -> None:
    (ws / "a.txt").write_text("old\n")
    kit.call("insert", {"path": "a.txt", "line": 1, "content": "new"})
    assert ask("blame", path="a.txt")["lines"] == [
        {"line": 1, "number": 1, "text": "new"},
        {"line": 2, "number": 0, "text": "old"},
    ]


def test_names_are_shown_as_text(kit: Kit, ask: Any) -> None:
    kit.exec("printf 'x\\n' | tee $'a\\xff.txt' > $'b\\e.txt'")
    shown = ["a\\udcff.txt", "b\\x1b.txt"]
    assert ask("journal")["entries"][0]["paths"] == shown
    assert [one["path"] for one in ask("journal_entry", number=1)["files"]] == shown
    assert ask("blame", path=shown[1])["lines"] == [{"line": 1, "number": 1, "text": "x"}]


def test_answers_are_bounded(kit: Kit, ask: Any, ws: Path) -> None:
    kit.exec("for i in $(seq 300); do echo $i > f$i; done")
    shown = ask("journal_entry", number=1)
    assert (len(shown["files"]), shown["more"]) == (200, True)
    row = ask("journal")["entries"][0]
    assert (len(row["paths"]), row["total"]) == (20, 300)
    (ws / "long.txt").write_text("x" * 9_000 + "\n" + "y\n" * 6_000)
    lines = ask("blame", path="long.txt")
    assert (len(lines["lines"]), len(lines["lines"][0]["text"]), lines["more"]) == (5_000, 500, True)


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("journal_entry", {"number": 9}, "The journal has no entry 9."),
        ("journal_entry", {"number": "9"}, "Expected `int`, got `str`"),
        ("journal", {"limit": 0}, "Expected `int` >= 1"),
        ("journal", {"wrong": 1}, "unknown field `wrong`"),
        ("undo", {"digest": ""}, "missing required field `number`"),
        ("rewind_preview", {"to": "nowhere"}, "The journal has no point 'nowhere'."),
        ("blame", {"path": "none.txt"}, "none.txt"),
        ("blame", {"path": "../x"}, "outside"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(ask: Any, method: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError, match=said.replace("(", "\\(")) as caught:
        ask(method, **params)
    assert caught.value.message.endswith((".", "?"))


def test_a_workspace_that_was_deleted_loses_nothing(kit: Kit, ask: Any, ws: Path) -> None:
    kit.call("write", {"path": "sub/a.txt", "content": "one\n"})
    kit.call("write", {"path": "sub/a.txt", "content": "two\n"})
    shutil.rmtree(ws)
    assert [one["number"] for one in ask("journal")["entries"]] == [2, 1]
    assert ask("journal_entry", number=1)["files"][0]["path"] == "sub/a.txt"
    assert not ask("undo", number=2)["ok"], "what was there before would come back to a folder that is gone"
    for method in ("forks", "jobs", "todos", "notes", "memory", "library"):
        assert ask(method)
    with pytest.raises(ToolError, match=r"a\.txt"):
        ask("blame", path="sub/a.txt")


def test_a_full_disk_is_a_sentence_and_changes_nothing(kit: Kit, ask: Any, ws: Path) -> None:
    kit.call("write", {"path": "a.txt", "content": "one\n"})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        answers = [ask("undo", number=1), ask("rewind", to=0), ask("checkpoint", name="here")]
        entries = ask("journal")["entries"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert answers == [{"ok": False, "text": "File too large."}] * 3
    assert ([one["number"] for one in entries], (ws / "a.txt").read_text()) == ([1], "one\n")
    assert ask("undo", number=1)["ok"]


def test_an_act_on_what_was_not_shown_is_refused(kit: Kit, ask: Any, ws: Path) -> None:
    for text in ("one", "two"):
        kit.call("write", {"path": "a.txt", "content": text})
    first = ask("journal_entry", number=1)["digest"]
    state = ask("journal")["digest"]
    kit.call("write", {"path": "b.txt", "content": "new"})
    for method, params in (
        ("undo", {"number": 2, "digest": first}),
        ("undo", {"number": 2, "digest": ""}),
        ("rewind", {"to": 0, "digest": state}),
        ("checkpoint", {"name": "here", "digest": state}),
    ):
        with pytest.raises(ToolError, match=r"is not what was shown\. Nothing was done"):
            ask(method, **params)
    with pytest.raises(ToolError, match="missing required field `digest`"):
        show(kit, "undo", {"number": 2})
    assert ((ws / "a.txt").read_text(), len(ask("journal")["entries"])) == ("two", 3)


def test_a_kit_that_was_closed_answers_nothing(kit: Kit, ask: Any) -> None:
    kit.close()
    with pytest.raises(ToolError, match="has closed its workspace"):
        ask("notes")
