"""Keep documents and find passages in them."""

import json
import os

import pytest

from tests.host.models.embedding.served import REAL
from toolroll.host.knowledge import ingest as documents

GUIDE = "# Deploy\n\nThe deployment key rotates every ninety days.\n\n# Lunch\n\nSoup is served at noon.\n"
NOTE = (
    "Ranked by words alone: what is said in other words may be missed. "
    "To rank by meaning too, run `toolroll models fetch`."
)
CODE = '"""Doc."""\n\n\ndef rotate(key):\n    """Make a key anew."""\n    return key[::-1]\n'
NOTEBOOK = {"cells": [{"cell_type": "markdown", "source": ["# Orchids\n", "They need light."]}, {"cell_type": "code", "source": "water()", "outputs": []}]}  # fmt: skip


def rag(kit, action, **arguments):
    return kit.call("rag", {"action": action, **arguments})


def cited(result):
    return [row["citation"] for row in result.data["passages"]]


def test_a_document_from_adding_to_clearing(kit, put, ws):
    put({"guide.md": GUIDE})
    added = rag(kit, "add_document", path="guide.md")
    assert added.text == "Added guide.md (2 pieces)."
    assert added.data == {
        "added": ["guide.md"],
        "replaced": [],
        "unchanged": [],
        "removed": [],
        "skipped": {},
        "left": [],
        "pieces": 2,
        "stopped": False,
        "remarks": [],
        "waiting": "",
        "looked": {"at": "guide.md", "by": ["the library"], "failed": []},
    }
    found = rag(kit, "search", query="how often are credentials renewed for deployment", limit=1)
    assert found.text == f"[1] guide.md:1-3 (Deploy)\n# Deploy\n\nThe deployment key rotates every ninety days.\n{NOTE}"
    assert found.data["passages"] == [
        {
            "citation": "guide.md:1-3",
            "source": "guide.md",
            "start": 1,
            "end": 3,
            "title": "Deploy",
            "text": "# Deploy\n\nThe deployment key rotates every ninety days.",
            "score": found.data["passages"][0]["score"],
            "page": 0,
        }
    ]
    assert (found.data["total"], found.data["ranking"]) == (1, "words")
    first, source, note = rag(kit, "stats").text.splitlines()
    assert (first, note) == ("The library: 1 document (1 markdown) in 2 pieces, 87 characters.", NOTE)
    assert source.startswith("  .: 1 document in 2 pieces, last added ")
    refused = rag(kit, "clear")
    assert (refused.error.code, "`confirm`" in refused.text) == ("ValidationError", True)
    assert rag(kit, "stats").data["documents"] == 1
    assert rag(kit, "clear", confirm=True).text.startswith("Cleared the library: 1 document ")
    assert rag(kit, "stats").text == f"The library: it is empty.\n{NOTE}"
    assert (os.listdir(ws), kit.journal.entries()) == (["guide.md"], [])


def test_ask_gives_passages_and_says_so(kit):
    assert rag(kit, "ask", query="Is soup served?").text.startswith(
        "No passage answers this: the library does not know."
    )
    rag(kit, "add_text", text="Bananas are rich in potassium.", title="Fruit")
    asked = rag(kit, "ask", query="What is rich in potassium?")
    assert asked.text.startswith("No language model is set up here, so here are the passages.")
    assert "[1] Fruit:1\nBananas are rich in potassium." in asked.text


def test_a_text_by_its_title(kit):
    assert rag(kit, "add_text", text="one fish", title="Fish").text == "Added Fish (1 piece)."
    assert rag(kit, "add_text", text="one fish", title="Fish").text == "Unchanged: Fish."
    assert rag(kit, "add_text", text="two fish", title="Fish").text == "Replaced Fish (1 piece)."
    names = [rag(kit, "add_text", text=text).data["added"][0] for text in ("red fish", "blue fish")]
    assert names[0] != names[1]
    assert sorted(cited(rag(kit, "search", query="fish"))) == sorted(f"{name}:1" for name in ("Fish", *names))
    assert rag(kit, "clear", title="Fish").error.code == "ValidationError"
    assert rag(kit, "clear", title="Fish", confirm=True).text == "Took 'Fish' out of the library."
    assert rag(kit, "clear", title="Fish", confirm=True).error.code == "NotFound"
    assert rag(kit, "stats").data["documents"] == 2


def test_unchanged_costs_nothing_and_changed_is_replaced(kit, put):
    put({"guide.md": GUIDE})
    rag(kit, "add_document", path="guide.md")
    assert rag(kit, "add_document", path="./guide.md").text == "Unchanged: guide.md."
    put({"guide.md": GUIDE.replace("noon", "one")})
    assert rag(kit, "add_document", path="guide.md").text == "Replaced guide.md (2 pieces)."
    found = rag(kit, "search", query="soup")
    assert found.text == f"[1] guide.md:5-7 (Lunch)\n# Lunch\n\nSoup is served at one.\n{NOTE}"
    assert rag(kit, "clear", path="guide.md", confirm=True).ok
    assert rag(kit, "stats").data["documents"] == 0


FORMS = [
    ("a.txt", "Tulips bloom.\n\nIn spring.", "tulips", "text", "a.txt:1-3"),
    ("a.rst", "Tulips\n======\n", "tulips", "text", "a.rst:1-2"),
    ("a.md", "Tulips\n======\n\nbloom", "tulips", "markdown", "a.md:1-4"),
    ("a.py", CODE, "rotate", "code", "a.py:1-6"),
    ("run", "#!/bin/sh\necho tulips\n", "tulips", "code", "run:1-2"),
    ("a.csv", "name,colour\ntulip,red\n", "tulips", "table", "a.csv:1-2"),
    ("a.json", '{\n  "tulip": 1\n}\n', "tulips", "text", "a.json:1-3"),
    ("a.html", "<html><head><title>T</title></head><body><h1>Tulips</h1><p>They bloom.</p></body></html>", "tulips", "html", "a.html:1-3 of its text"),
    ("a.ipynb", json.dumps(NOTEBOOK), "orchids", "notebook", "a.ipynb cell 1"),
    ("latin.txt", "Die Tulpen blühen schön, und größer werden sie auch für üble Gärtner.".encode("cp1252"), "Tulpen", "text", "latin.txt:1"),
    ("wide.txt", "Tulips".encode("utf-16"), "tulips", "text", "wide.txt:1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "query", "form", "citation"), FORMS, ids=[row[0] for row in FORMS])
def test_forms(kit, put, name, content, query, form, citation):
    put({name: content})
    added = rag(kit, "add_document", path=name)
    assert added.ok, added.text
    assert rag(kit, "stats").data["forms"] == {form: 1}
    assert cited(rag(kit, "search", query=query)) == [citation]


def test_a_notebook_is_cited_by_the_lines_that_read_shows(kit, put):
    put({"a.ipynb": json.dumps(NOTEBOOK)})
    rag(kit, "add_document", path="a.ipynb")
    (row,) = rag(kit, "search", query="orchids").data["passages"]
    shown = kit.call("read", {"path": "a.ipynb", "offset": row["start"], "limit": row["end"] - row["start"] + 1})
    assert shown.data["content"] == row["text"]


def test_a_folder(kit, put):
    put({"docs/a.md": GUIDE, "docs/sub/b.txt": "Tulips", "docs/c.pdf": b"%PDF-1.4", "docs/empty.md": "", "docs/d.bin": b"\0\1", ".gitignore": "x\n", "docs/x": "ignored"})  # fmt: skip
    seen = []
    added = kit.call("rag", {"action": "add_document", "path": "docs"}, progress=lambda *one: seen.append(one))
    assert (added.data["added"], added.data["pieces"]) == (["docs/a.md", "docs/sub/b.txt"], 3)
    assert added.data["skipped"] == {"of a type that cannot be added": 1, "without text that can be read": 2}
    assert added.text.startswith(
        "Added 2 documents (3 pieces).\nNot added: 1 of a type that cannot be added (docs/d.bin), "
        "2 without text that can be read (docs/empty.md, docs/c.pdf)."
    )
    assert added.data["left"] == ["docs/d.bin", "docs/empty.md", "docs/c.pdf"]
    assert (seen[0], seen[-1][:2]) == ((0, 5, "docs/a.md"), (5, 5))
    put({"docs/sub/b.txt": "Roses"})
    again = kit.call("rag", {"action": "add_document", "path": "sub"}, cwd="docs")
    assert again.data["replaced"] == ["docs/sub/b.txt"]
    assert rag(kit, "add_document", path="docs").data["unchanged"] == ["docs/a.md", "docs/sub/b.txt"]


def test_a_folder_of_too_many_files_says_so(kit, put, monkeypatch):
    monkeypatch.setattr(documents, "MAX_FILES", 2)
    put({f"docs/{name}.txt": name for name in "abc"})
    assert "Only the first 2 files were looked at" in rag(kit, "add_document", path="docs").text


def test_another_session_finds_it(open_kit, put):
    rag(open_kit(session="one"), "add_text", text="Bananas", title="Fruit")
    assert cited(rag(open_kit(session="two"), "search", query="banana")) == ["Fruit:1"]


BAD = [
    ({}, "ValidationError", ""),
    ({"action": "sing"}, "ValidationError", ""),
    ({"action": "add_document"}, "ValidationError", "also needs `path`"),
    ({"action": "add_document", "path": "guid.md"}, "NotFound", "Did you mean 'guide.md'"),
    ({"action": "add_document", "path": "gone.pdf"}, "NotFound", "gone.pdf"),
    ({"action": "add_document", "path": "../outside.md"}, "SecurityError", ""),
    ({"action": "add_document", "path": "empty.md"}, "ValidationError", "is empty"),
    ({"action": "add_document", "path": "blank.html"}, "ValidationError", "has no text in it"),
    ({"action": "add_document", "path": "paper.pdf"}, "ValidationError", "cannot be read as a PDF"),
    ({"action": "add_document", "path": "data.bin"}, "Unsupported", "binary file, not text. Export it as text"),
    ({"action": "add_document", "path": "noise"}, "Unsupported", "no text in any known encoding"),
    ({"action": "add_document", "path": "bad.ipynb"}, "ValidationError", "not a readable notebook"),
    ({"action": "add_document", "path": "none"}, "ValidationError", "No file in 'none' can be added."),
    ({"action": "add_text"}, "ValidationError", "also needs `text`"),
    ({"action": "add_text", "text": " \n"}, "ValidationError", "also needs `text`"),
    ({"action": "add_text", "text": "a\0b"}, "ValidationError", "NUL"),
    ({"action": "add_text", "text": "\ud800 bad"}, "ValidationError", "not valid Unicode"),
    ({"action": "add_text", "text": "a", "title": "x" * 201}, "ValidationError", "`title`"),
    ({"action": "search"}, "ValidationError", "also needs `query`"),
    ({"action": "search", "query": "?"}, "ValidationError", "has no word in it"),
    ({"action": "ask", "query": " "}, "ValidationError", "also needs `query`"),
    ({"action": "search", "query": "a", "limit": 0}, "ValidationError", ""),
    ({"action": "clear", "confirm": False}, "ValidationError", "Set `confirm` to true"),
    ({"action": "clear", "path": "gone.md", "confirm": True}, "NotFound", "The library holds no file 'gone.md'"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "said"), BAD)
def test_bad_input_changes_nothing(kit, put, arguments, code, said):
    noise = bytes((at * 73 + at * at * 31) % 255 + 1 for at in range(4000))
    put({"guide.md": GUIDE, "empty.md": " \n", "blank.html": "<html><body> </body></html>", "paper.pdf": b"%PDF-1.4",
         "data.bin": b"a\0b", "noise": noise, "bad.ipynb": "{}", "none/a.bin": b"\0"})  # fmt: skip
    rag(kit, "add_document", path="guide.md")
    before = rag(kit, "stats").data
    result = kit.call("rag", arguments)
    assert result.error.code == code, result.text
    assert said in result.text
    assert rag(kit, "stats").data == before


def test_too_large(kit, put, monkeypatch):
    monkeypatch.setattr(documents, "MAX_DOCUMENT_BYTES", 1000)
    put({"big.txt": "word " * 201})
    assert rag(kit, "add_document", path="big.txt").error.code == "TooLarge"
    assert rag(kit, "add_text", text="word " * 201).error.code == "TooLarge"
    assert rag(kit, "add_text", text="word " * 200).ok


@REAL
def test_by_meaning(real_weights, open_kit, put):
    kit = open_kit()
    put({"guide.md": GUIDE})
    seen = []
    added = kit.call("rag", {"action": "add_document", "path": "guide.md"}, progress=lambda *one: seen.append(one))
    assert (added.text, seen[-1]) == ("Added guide.md (2 pieces).", (5, 5, "vectors"))
    put({"docs/a.md": "Tea.", "docs/b.md": "Milk."})
    seen.clear()
    kit.call("rag", {"action": "sync", "path": "docs"}, progress=lambda *one: seen.append(one))
    vectors = next(at for at, one in enumerate(seen) if one[2] == "vectors")
    assert max(seen[:vectors])[0] < seen[vectors][0]  # clients are told growing values only
    rag(kit, "clear", path="docs", confirm=True)
    found = rag(kit, "search", query="when can I eat something")
    assert found.text == "[1] guide.md:5-7 (Lunch)\n# Lunch\n\nSoup is served at noon.\nRanked by meaning and words."
    assert (found.data["total"], found.data["ranking"]) == (1, "meaning and words")
    assert cited(rag(kit, "search", query="renewing credentials")) == ["guide.md:1-3"]
    assert rag(kit, "search", query="volcanoes of Iceland").text.startswith("No passage answers this.\n")
    seen.clear()
    stats = kit.call("rag", {"action": "stats"}, progress=lambda *one: seen.append(one))
    assert (stats.data["ranking"], stats.data["waiting"], seen) == ("meaning and words", 0, [(2, 2, "vectors")])
    assert stats.text.endswith("UTC\nRanked by meaning and words.")


def test_broken_weights_are_told_and_nothing_is_kept(open_kit, put, tmp_path):
    (tmp_path / "no-models/all-MiniLM-L6-v2").mkdir(parents=True)
    kit = open_kit()
    put({"guide.md": GUIDE})
    added = rag(kit, "add_document", path="guide.md")
    assert (added.error.code, "Run `toolroll models fetch`" in added.text) == ("IOError", True)
    assert rag(kit, "stats").data["documents"] == 0
