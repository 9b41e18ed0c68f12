"""Passages that a server judges once more."""

import json
import threading

import pytest

from tests.host.http.web import Asked, Server, reply
from tests.host.models.embedding.served import KEY, answer
from toolroll import ToolError
from toolroll.host.http.client import Client
from toolroll.host.models.embedding.server import Reranker
from toolroll.host.runtime.cancellation import CancelToken

URL = "TOOLROLL_RERANK_URL"
WORDS = (
    "Ranked by words alone: what is said in other words may be missed. "
    "To rank by meaning too, run `toolroll models fetch`."
)


def by_length(asked: Asked) -> bytes:
    """The longer a text, the better; the best first, with the texts, as vLLM does."""
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return reply("secret words", "401 Unauthorized")
    body = json.loads(asked.body)
    if (asked.method, asked.path, body["model"]) != ("POST", "/v1/rerank", "by-length"):
        return reply("{}", "404 Not Found")
    rows = [
        {"index": at, "document": {"text": text}, "relevance_score": len(text) / 1_000_000}
        for at, text in enumerate(body["documents"])
    ]
    rows.sort(key=lambda one: -one["relevance_score"])
    return answer({"id": "1", "model": "by-length", "results": rows[: body["top_n"]]})


def rows(*pairs):
    return answer({"results": [{"index": at, "relevance_score": score} for at, score in pairs]})


def remote(server, key=KEY, model="by-length"):
    return Reranker(Client(), server.url("/v1/"), model, key)


def test_scores_in_the_order_of_the_texts():
    with Server(by_length) as server:
        made = remote(server)
        assert made.scores("soup", ["bb", "a", "cccc"], CancelToken()) == [2e-6, 1e-6, 4e-6]
        assert json.loads(server.asked[0].body) == {
            "model": "by-length",
            "query": "soup",
            "documents": ["bb", "a", "cccc"],
            "top_n": 3,
        }
        assert made.scores("soup", [], CancelToken()) == []
        assert len(server.asked) == 1


def test_long_texts_are_cut_and_no_model_is_the_servers_own(monkeypatch):
    monkeypatch.setattr("toolroll.host.models.embedding.server._MAX_TEXT_CHARS", 4)
    with Server(rows((0, 1))) as server:
        assert remote(server, key="", model="").scores("a long question", ["a long text"], CancelToken()) == [1.0]
        asked = server.asked[0]
        assert json.loads(asked.body) == {"query": "a lo", "documents": ["a lo"], "top_n": 1}
        assert "authorization" not in asked.headers


def test_a_server_without_time_is_asked_once_more(monkeypatch):
    monkeypatch.setattr("toolroll.host.models.embedding.server._RERANK_DELAYS", (0.01,))
    answers = [reply("{}", "503 Later"), rows((0, 0.5))]
    with Server(lambda _asked: answers.pop(0)) as server:
        assert remote(server).scores("q", ["a"], CancelToken()) == [0.5]
    with Server(reply("{}", "429 Slow Down")) as server:
        with pytest.raises(ToolError, match="status 429"):
            remote(server).scores("q", ["a"], CancelToken())
        assert len(server.asked) == 2


BAD = [
    (reply("secret words", "401 No"), "PermissionDenied", "refuses (401). Check TOOLROLL_RERANK_KEY"),
    (reply("secret words", "404 No"), "NetworkError", "status 404. Check TOOLROLL_RERANK_URL and TOOLROLL_RERANK_MODEL"),
    (reply("", "302 Found", location="http://127.0.0.1/"), "NetworkError", "status 302"),
    (reply("secret words"), "NetworkError", "cannot be read"),
    (reply("[" * 100_000), "NetworkError", "cannot be read"),
    (answer([1]), "NetworkError", "cannot be read"),
    (answer({"results": None}), "NetworkError", "cannot be read"),
    (answer({"results": [{"relevance_score": 1}, {"relevance_score": 2}]}), "NetworkError", "cannot be read"),
    (answer({"results": [{"index": 0}, {"index": 1}]}), "NetworkError", "cannot be read"),
    (rows((0, 1.0), (2, 1.0)), "NetworkError", "every passage once"),
    (rows((-1, 1.0), (0, 1.0)), "NetworkError", "every passage once"),
    (rows((0, 1.0), (0, 2.0)), "NetworkError", "every passage once"),
    (rows((False, 1.0), (True, 2.0)), "NetworkError", "every passage once"),
    (rows(("0", 1.0), ([], 2.0)), "NetworkError", "every passage once"),
    (rows((0, 1.0)), "NetworkError", "every passage once"),
    (rows((0, 1.0), (1, 1.0), (2, 1.0)), "NetworkError", "every passage once"),
    (rows((0, "secret"), (1, 1.0)), "NetworkError", "not numbers"),
    (rows((0, None), (1, 1.0)), "NetworkError", "not numbers"),
    (rows((0, float("nan")), (1, 1.0)), "NetworkError", "not numbers"),
    (rows((0, 10**400), (1, 1.0)), "NetworkError", "not numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "code", "said"), BAD)
def test_a_server_that_judges_none(told, code, said):
    with Server(told) as server, pytest.raises(ToolError) as caught:
        remote(server).scores("q", ["a", "b"], CancelToken())
    assert caught.value.code == code
    assert said in caught.value.message
    assert "secret" not in caught.value.message
    assert KEY not in caught.value.message


def test_an_answer_without_end(monkeypatch):
    monkeypatch.setattr("toolroll.host.models.embedding.server._MAX_RERANK_BYTES", 1000)
    with Server(reply("x" * 2000)) as server, pytest.raises(ToolError, match="more than 1000 bytes") as caught:
        remote(server).scores("q", ["a"], CancelToken())
    assert caught.value.code == "TooLarge"


@pytest.fixture
def silent():
    with Server(b"") as server:
        server.answer = lambda _asked: server.closing.wait(10) and b""
        yield server


def test_a_server_that_takes_too_long(silent, monkeypatch):
    monkeypatch.setattr("toolroll.host.models.embedding.server._RERANK_SECONDS", 0.2)
    with pytest.raises(ToolError, match=r"judged no passages: it did not answer within 0\.2 s") as caught:
        remote(silent).scores("q", ["a"], CancelToken())
    assert caught.value.code == "TimeoutError"


def test_a_call_that_is_cancelled_or_late_is_told_so(silent):
    token = CancelToken()
    threading.Timer(0.1, token.cancel).start()
    with pytest.raises(ToolError, match=r"The call was cancelled\."):
        remote(silent).scores("q", ["a"], token)
    with pytest.raises(ToolError, match="The call took longer than its time limit"):
        remote(silent).scores("q", ["a"], CancelToken(0.1))


def test_a_server_that_is_not_there():
    with Server(b"") as server:
        made = remote(server)
    with pytest.raises(ToolError, match=f"it was not reached. Start it, or unset {URL}") as caught:
        made.scores("q", ["a"], CancelToken())
    assert caught.value.code == "NetworkError"


def test_no_url():
    with pytest.raises(ToolError, match=f"{URL} is not a URL that can be asked") as caught:
        Reranker(Client(), "ftp://user:secret@host")
    assert (caught.value.code, "secret" in caught.value.message) == ("Unsupported", False)


@pytest.fixture
def searched(open_kit, monkeypatch, tmp_path):
    """What `rag` finds with an endpoint: the citations and the note."""
    monkeypatch.setenv("TOOLROLL_MODELS", str(tmp_path / "no-models"))
    for name in ("TOOLROLL_EMBEDDINGS_URL", "QDRANT_URL", URL):
        monkeypatch.delenv(name, raising=False)

    def search(url, limit=5):
        if url:
            for name, value in ((URL, url), ("TOOLROLL_RERANK_MODEL", "by-length"), ("TOOLROLL_RERANK_KEY", KEY)):
                monkeypatch.setenv(name, value)
        kit = open_kit()
        for title, text in (("short", "soup soup soup"), ("long", "A soup among a good many of other words.")):
            assert kit.call("rag", {"action": "add_text", "title": title, "text": text}).ok
        found = kit.call("rag", {"action": "search", "query": "soup", "limit": limit})
        assert found.ok
        assert KEY not in str(found)
        return [(one["source"], one["score"]) for one in found.data["passages"]], found.text.rpartition("Ranked by")[2]

    return search


def test_rag_gives_passages_in_the_order_of_the_server(searched):
    plain, note = searched("")
    assert ([source for source, _ in plain], f"Ranked by{note}") == (["short", "long"], WORDS)
    with Server(by_length) as server:
        judged, note = searched(server.url("/v1"), limit=1)
        assert json.loads(server.asked[0].body)["documents"] == [
            "soup soup soup",
            "A soup among a good many of other words.",
        ]
    assert judged == [("long", 0.0)]  # told in four digits, ordered by all
    assert f"Ranked by{note}" == f"{WORDS} The best were reordered by a reranking model."


FAILS = [
    (reply("", "401 No"), f"The server of {URL} refuses (401). Check TOOLROLL_RERANK_KEY."),
    (rows((0, 1.0)), f"The server of {URL} judged no passages: its answer does not have every passage once."),
]


@pytest.mark.parametrize(("told", "said"), FAILS)
def test_rag_keeps_its_order_when_the_server_fails(searched, told, said):
    plain, _ = searched("")
    with Server(told) as server:
        kept, note = searched(server.url("/v1"))
        assert server.paths == ["/v1/rerank"]
    assert (kept, f"Ranked by{note}") == (plain, f"{WORDS} {said}")


def test_rag_keeps_its_order_without_a_url_that_can_be_asked(searched):
    plain, _ = searched("")
    kept, note = searched("nowhere")
    assert kept == plain
    assert f"{URL} is not a URL that can be asked" in note
