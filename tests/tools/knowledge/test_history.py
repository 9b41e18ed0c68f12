"""Search earlier calls and notes, documents, and guidance."""

import pytest

from tests.host.models.embedding.served import REAL
from toolroll.host.knowledge import history as past
from toolroll.policy.rules import MODES

NOTE = (
    "Ranked by words alone: what is said in other words may be missed. "
    "To rank by meaning too, run `toolroll models fetch`."
)


def history(kit, query, source="calls", **more):
    return kit.call("history", {"query": query, "source": source, **more})


def cited(result):
    return [row["citation"] for row in result.data["passages"]]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("calls", "Nothing in the history of this workspace answers this."),
        ("documents", "No document answers this."),
        ("guidance", "No guidance answers this."),
    ],
)
def test_nothing_is_an_answer_too(kit, tmp_path, source, said):
    assert history(kit, "zebra crossing", source).text == f"{said}\n{NOTE}"
    assert not (tmp_path / "state/library").exists()


def test_calls_and_notes(open_kit):
    kit = open_kit(session="monday")
    kit.call("write", {"path": "src/engine.py", "content": "x = 1\n"}, message="Give the engine its first value.")
    kit.call("write", {"path": "README.md", "content": "# Hi\n"})
    kit.call("note", {"action": "create", "title": "Engine choice", "content": "We took the small motor.\n\n## Why\n\nIt is quiet.", "type": "conclusion", "tags": ["design"]})  # fmt: skip
    found = history(kit, "what was done to the engine")
    note = ".toolroll/notes/engine-choice.md"
    assert sorted(cited(found)) == [note, note, "call 1", "call 3"]
    (first,) = (row["text"] for row in found.data["passages"] if row["citation"] == "call 1")
    assert first.endswith(" write: src/engine.py; in session monday\nGive the engine its first value.")
    assert history(kit, "quiet design").data["passages"][0]["title"] == "conclusion note #design: Engine choice > Why"
    assert cited(history(kit, "readme")) == ["call 2"]
    kit.undo(path="src/engine.py")  # which also takes back the folder that was made for it
    texts = {row["citation"]: row["text"] for row in history(kit, "engine", limit=9).data["passages"]}
    assert "; undone since\n" in texts["call 1"]
    assert " undo: src/engine.py, taking back 1" in texts["call 4"]


def test_without_a_query_it_shows_the_last_calls(kit):
    kit.call("write", {"path": "a.txt", "content": "one\n"})
    kit.call("write", {"path": "a.txt", "content": "two\n"})
    kit.call("bash", {"command": "echo hi"})
    rows = kit.call("history", {"limit": 2, "diff": True}).data["calls"]
    assert [(row["entry"], row["tool"], row["said"]) for row in rows] == [(2, "write", ""), (None, "bash", "echo hi")]
    assert rows[0]["changes"] == [{"path": "a.txt", "kind": "modified", "added": 1, "removed": 1}]
    assert rows[0]["diff"] == "a.txt (+1 -1)\n@@ -1,1 +1,1 @@\n-one\n+two"


def test_another_session_finds_them(open_kit):
    open_kit(session="one").call("write", {"path": "tulip.txt", "content": "x"})
    assert cited(history(open_kit(session="two"), "tulip")) == ["call 1"]


def test_documents(kit, put):
    put({"guide.md": "# Deploy\n\nKeys rotate.\n"})
    kit.call("rag", {"action": "add_document", "path": "guide.md"})
    assert history(kit, "rotate", "documents").text == f"[1] guide.md:1-3 (Deploy)\n# Deploy\n\nKeys rotate.\n{NOTE}"
    put({"guide.md": "# Changed\n"})
    assert history(kit, "rotate", "documents").text == f"No document answers this.\n{NOTE}"


GUIDANCE = [
    ("how do I edit a file safely", "edit-a-file"),
    ("my edit was refused", "edit-a-file"),
    ("change a name in many files", "change-many-files"),
    ("take back the last change", "undo-a-change"),
    ("start a server in the background", "background-jobs"),
    ("run only the tests that matter", "run-tests"),
    ("where should I put a fact for a later session", "remember"),
    ("search with a regular expression", "search-text"),
    ("how do I read a very long output", "read-large-files"),
    ("commit my work with git", "use-git"),
    ("what does a Conflict error mean", "handle-errors"),
    ("find a definition in an unknown code base", "find-code"),
    ("read a page from the web", "fetch-pages"),
    ("add a document to the library and cite it", "ask-the-library"),
    ("what to check before the task is done", "finish-well"),
    ("type errors after an edit", "check-code"),
    ("run a shell command with a timeout", "run-commands"),
]


@pytest.mark.parametrize(("query", "name"), GUIDANCE)
def test_guidance_answers_what_is_asked(kit, query, name):
    assert f"guidance/{name}" in cited(history(kit, query, "guidance", limit=2))


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": "documents"},
        {"query": "", "source": "guidance"},
        {"query": "?"},
        {"query": "a", "source": "dreams"},
        {"query": "a", "limit": 0},
        {"query": "\ud800"},
    ],
)
def test_bad_input(kit, arguments):
    assert kit.call("history", arguments).error.code == "ValidationError"


@pytest.mark.parametrize("mode", sorted(MODES))
def test_it_only_reads(open_kit, mode):
    assert "history" in open_kit(mode=mode).names()


@REAL
def test_by_meaning(real_weights, open_kit, put):
    kit = open_kit()
    kit.call("note", {"action": "create", "title": "Choice", "content": "The automobile is quiet.", "type": "general"})
    kit.call("write", {"path": "a.txt", "content": "x"}, message="Prepare lunch for the guests.")
    found = history(kit, "which car was chosen")
    assert cited(found)[0] == ".toolroll/notes/choice.md"
    assert found.text.endswith("Ranked by meaning and words.")
    assert cited(history(kit, "food")) == ["call 2"]
    kit.call("rag", {"action": "add_text", "text": "Bananas are rich in potassium.", "title": "Fruit"})
    assert cited(history(kit, "healthy nutrition", "documents")) == ["Fruit:1"]


@REAL
def test_when_time_is_short_the_latest_are_ranked_by_meaning(real_weights, open_kit, monkeypatch):
    monkeypatch.setattr(past, "_EMBED_SECONDS", 0)
    kit = open_kit()
    for number in range(10):
        kit.call("write", {"path": f"f{number}", "content": "x"}, message="Prepare lunch." if number in (0, 9) else "")
    found = history(kit, "food")
    assert cited(found) == ["call 10"]
    assert found.text.endswith("Ranked by meaning and words: 2 of 10 by words alone, for now.")
    assert sorted(cited(history(kit, "food"))) == ["call 1", "call 10"]


def test_broken_weights_leave_the_words(open_kit, tmp_path):
    (tmp_path / "no-models/all-MiniLM-L6-v2").mkdir(parents=True)
    kit = open_kit()
    kit.call("write", {"path": "tulip.txt", "content": "x"})
    found = history(kit, "tulip")
    assert (cited(found), "Run `toolroll models fetch`." in found.text) == (["call 1"], True)


def test_what_was_said_is_found_by_a_later_kit(open_kit):
    kit = open_kit(session="monday")
    kit.add_turn("user", "Make the zebra crossing wider.")
    kit.add_turn("assistant", "I made the crossing four metres wide.")
    kit.close()
    found = open_kit("koopa").call("searchHistory", {"query": "zebra"})
    assert "user: Make the zebra crossing wider.; in session monday" in found.text
    assert "four metres" not in found.text


def test_what_an_edit_replaced_is_found_by_its_words(kit, put):
    put({"menu.txt": "".join(f"dish {number}\n" for number in range(30)) + "roasted pumpkin\n"})
    kit.call("read", {"path": "menu.txt"})
    kit.call("write", {"path": "menu.txt", "content": "fish\n"})
    kit.call("write", {"path": "other.txt", "content": "nothing\n"})
    found = history(kit, "pumpkin")
    assert cited(found) == ["call 1"]
    first, *lines = found.data["passages"][0]["text"].splitlines()
    assert " write: menu.txt; in session " in first
    assert lines == ["-roasted pumpkin", "... 31 more lines"]
    assert cited(history(kit, "fish")) == ["call 1"]
