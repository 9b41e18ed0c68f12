"""Embeddings from a server that the operator names."""

import json

import numpy as np
import pytest

from tests.host.http.web import Server, reply
from tests.host.models.embedding.served import KEY, Embeddings, answer
from toolroll import ToolError
from toolroll.host.http.client import Client
from toolroll.host.models.embedding import embedder
from toolroll.host.models.embedding.embedder import RemoteEmbedder
from toolroll.host.runtime.cancellation import CancelToken


def remote(server, key=KEY, model="by-subject"):
    return RemoteEmbedder(Client(), server.url("/v1/"), model, key)


def test_rows_of_one_length_in_the_order_of_the_texts():
    with Embeddings() as server:
        made = remote(server)
        rows = made.embed(["a car", "soup", "car soup"], CancelToken())
        assert (made.name, rows.shape, server.texts) == ("by-subject", (3, 4), ["a car", "soup", "car soup"])
        wanted = [[1, 0, 0, 0.02], [0, 1, 0, 0.02], [0.71, 0.71, 0, 0.01]]
        assert [row.tolist() for row in rows] == [pytest.approx(row, abs=0.005) for row in wanted]
        assert server.asked[0].headers["content-type"] == "application/json"


def test_many_texts_go_in_parts_and_long_ones_are_cut(monkeypatch):
    monkeypatch.setattr(embedder, "_TEXTS_AT_ONCE", 2)
    monkeypatch.setattr(embedder, "_MAX_TEXT_CHARS", 5)
    with Embeddings() as server:
        assert len(remote(server).embed(["soup and more", "b", "c"], CancelToken())) == 3
        asked = [json.loads(one.body)["input"] for one in server.asked]  # side by side, so in any order
        assert sorted(asked) == [["c"], ["soup ", "b"]]


def test_a_server_without_time_is_asked_again(monkeypatch):
    monkeypatch.setattr(embedder, "_DELAYS", (0.01, 0.01))
    good = answer({"data": [{"index": 0, "embedding": [2.0, 0.0]}]})
    answers = [reply("{}", "429 Slow Down"), reply("{}", "503 Later"), good]
    with Server(lambda _asked: answers.pop(0)) as server:
        assert remote(server).embed(["a"], CancelToken()).tolist() == [[1, 0]]
    with Server(reply("{}", "429 Slow Down")) as server:
        with pytest.raises(ToolError, match="status 429"):
            remote(server).embed(["a"], CancelToken())
        assert len(server.asked) == 3


BAD = [
    (reply("secret words", "401 No"), "PermissionDenied", "refuses (401). Check TOOLROLL_EMBEDDINGS_KEY"),
    (reply("secret words", "404 No"), "NetworkError", "status 404. Check TOOLROLL_EMBEDDINGS_URL and TOOLROLL_EMBEDDINGS_MODEL"),
    (reply("", "302 Found", location="http://127.0.0.1/"), "NetworkError", "status 302"),
    (reply("secret words"), "NetworkError", "cannot be read"),
    (reply("[" * 100_000), "NetworkError", "cannot be read"),
    (answer({"data": []}), "NetworkError", "cannot be read"),
    (answer([1]), "NetworkError", "cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "code", "said"), BAD)
def test_a_server_that_makes_none(told, code, said):
    with Server(told) as server, pytest.raises(ToolError) as caught:
        remote(server).embed(["a"], CancelToken())
    assert caught.value.code == code
    assert said in caught.value.message
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "broken",
    ["[]", '"abc"', '"12"', "null", "3", "[NaN, 1]", "[0, 0]", "[1, null]", "[[1, 2]]", f"[{10**400}, 1]", "[1, 2, 3]"],
)
def test_a_broken_vector_is_none_and_the_others_are_taken(broken):
    rows = ", ".join(f'{{"index": {at}, "embedding": {one}}}' for at, one in enumerate(["[3, 4]", broken, "[0, 5]"]))
    with Server(reply(f'{{"data": [{rows}]}}')) as server:
        made = remote(server).embed(["a", "b", "c"], CancelToken())
    assert [row.tolist() for row in made[::2]] == [pytest.approx([0.6, 0.8]), [0, 1]]
    assert np.isnan(made[1]).all()
    with Server(answer({"data": [{"index": 0, "embedding": []}]})) as server:
        assert np.isnan(remote(server).embed(["a"], CancelToken())).all()


def test_a_server_that_is_not_there():
    with Server(b"") as server:
        made = remote(server)
    with pytest.raises(ToolError, match="made no vectors: it was not reached") as caught:
        made.embed(["a"], CancelToken())
    assert caught.value.code == "NetworkError"


def test_no_url():
    with pytest.raises(ToolError, match="TOOLROLL_EMBEDDINGS_URL is not a URL that can be asked") as caught:
        RemoteEmbedder(Client(), "ftp://user:secret@host", "m")
    assert (caught.value.code, "secret" in caught.value.message) == ("Unsupported", False)
