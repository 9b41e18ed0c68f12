"""A knowledge store of the program, in place of the library of the workspace."""

import threading

import pytest

from toolroll import Kit, KnowledgeStore, Passage
from toolroll.host.knowledge import program_library


class Store:
    """Keeps texts in memory; `failure` is raised, and while `silent` is unset, a search waits for it."""

    def __init__(self):
        self.texts, self.failure, self.silent = {}, None, threading.Event()
        self.silent.set()

    def add(self, source, text):
        if self.failure:
            raise self.failure
        self.texts[source] = text

    def search(self, query, limit):
        if self.failure:
            raise self.failure
        self.silent.wait(60)
        return [Passage(source, "", text, 1.0) for source, text in self.texts.items() if query in text][:limit]


@pytest.fixture
def store():
    made = Store()
    yield made
    made.silent.set()


@pytest.fixture
def kit(tmp_path, store):
    (tmp_path / "d.md").write_text("# Staging\n\nThe database is called blueberry.\n")
    with Kit(tmp_path, dialect="koopa", knowledge=store) as kit:
        yield kit


def test_documents_are_added_and_found_in_the_store(kit, store, tmp_path):
    assert isinstance(store, KnowledgeStore)
    assert kit.add_document("d.md").ok
    assert kit.add_document(text="The port is 5433.", title="ports").ok
    assert {name: text.strip() for name, text in store.texts.items()} == {
        "d.md": "# Staging\n\nThe database is called blueberry.",
        "ports": "The port is 5433.",
    }
    found = kit.call("searchDocuments", {"query": "blueberry"})
    assert found.ok
    assert "blueberry" in str(found.wire["data"])
    with Kit(tmp_path, knowledge=store) as native:
        assert "5433" in native.call("rag", {"action": "search", "query": "5433"}).text
        refused = native.call("rag", {"action": "stats"})
        assert (refused.error.code, "a program's own" in refused.text) == ("Unsupported", True)


def test_without_a_store_the_library_of_the_workspace_takes_documents(tmp_path):
    (tmp_path / "d.md").write_text("The staging database is called blueberry.\n")
    with Kit(tmp_path, dialect="koopa", state_dir=tmp_path / "state") as kit:
        assert kit.add_document("d.md").ok
        assert "blueberry" in str(kit.call("searchDocuments", {"query": "staging database"}).wire["data"])


def test_a_store_that_raises_or_hangs_is_one_error_and_the_kit_goes_on(kit, store, monkeypatch):
    store.failure = RuntimeError("no connection")
    for result in (kit.call("searchDocuments", {"query": "blueberry"}), kit.add_document("d.md")):
        assert (result.error.code, result.text) == (
            "ExecutionError",
            "The knowledge store failed: RuntimeError: no connection",
        )
    store.failure = None
    store.silent.clear()
    monkeypatch.setattr(program_library, "ANSWER_SECONDS", 0.1)
    late = kit.call("searchDocuments", {"query": "blueberry"})
    assert (late.error.code, "gave no answer in 0.1 seconds" in late.text) == ("TimeoutError", True)
    store.silent.set()
    assert kit.call("searchDocuments", {"query": "blueberry"}).ok
    assert kit.call("readFile", {"path": "d.md"}).ok
