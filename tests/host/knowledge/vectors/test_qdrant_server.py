"""A Qdrant server: what it is asked, and what is said when it does not answer."""

import numpy as np
import pytest

from tests.host.http.web import Server as Web
from tests.host.http.web import reply
from tests.host.knowledge.vectors.qdrant import KEY, Qdrant
from toolroll import ToolError
from toolroll.host.http.client import Client
from toolroll.host.knowledge.vectors import qdrant_server as module
from toolroll.host.knowledge.vectors.qdrant_server import Server
from toolroll.host.runtime.cancellation import CancelToken

TOKEN = CancelToken()
AXIS = np.eye(4, dtype=np.float32)


def store(served, key=KEY, workspace="here", **options):
    return Server(Client(), served.url("/"), key, workspace, **options)


def test_what_is_asked(monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    with Qdrant() as served:
        store(served).put("m", {1: AXIS[0], 2: AXIS[1], 3: AXIS[2]}, TOKEN)
        (name,) = served.sizes
        assert name.startswith("toolroll-")
        path = f"/collections/{name}"
        assert [(one.method, one.path) for one in served.asked] == [
            ("GET", path),
            ("PUT", path),
            ("PUT", f"{path}/points?wait=true"),
            ("PUT", f"{path}/points?wait=true"),
        ]
        assert served.points[name][2] == [0, 1, 0, 0]


def test_workspaces_are_kept_apart():
    with Qdrant() as served:
        store(served).put("m", {1: AXIS[0]}, TOKEN)
        other = store(served, workspace="there")
        assert other.search("m", AXIS[0], 5, TOKEN) == []
        other.put("m", {2: AXIS[0]}, TOKEN)
        other.clear(TOKEN)
        assert store(served).search("m", AXIS[0], 5, TOKEN) == [(1, 1.0)]


def every(one):
    return {
        "check": lambda: one.check(TOKEN),
        "put": lambda: one.put("m", {1: AXIS[0]}, TOKEN),
        "drop": lambda: one.drop([1], TOKEN),
        "search": lambda: one.search("m", AXIS[0], 5, TOKEN),
        "count": lambda: one.count("m", TOKEN),
        "clear": lambda: one.clear(TOKEN),
    }


BAD = [
    (reply("secret words", "500 No"), "NetworkError", "answers with the status 500"),
    (reply("secret words", "302 Found", location="http://127.0.0.1/"), "NetworkError", "answers with the status 302"),
    (reply("secret words"), "NetworkError", "an answer that cannot be read"),
    (reply("[" * 100_000), "NetworkError", "an answer that cannot be read"),
    (reply('{"result": 5}'), "NetworkError", "an answer that cannot be read"),
    (reply("secret words", "401 No"), "PermissionDenied", "Check QDRANT_API_KEY"),
]


@pytest.mark.parametrize(("told", "code", "said"), BAD)
def test_a_server_that_does_not_answer_well(told, code, said):
    with Web(told) as served:
        for work in every(store(served)).values():
            with pytest.raises(ToolError) as caught:
                work()
            assert (caught.value.code, said in caught.value.message) == (code, True)
            assert "secret" not in caught.value.message


def test_a_wrong_key():
    with Qdrant() as served:
        with pytest.raises(ToolError, match=r"refuses \(401\). Check QDRANT_API_KEY"):
            store(served, key="wrong").check(TOKEN)
        with pytest.raises(ToolError, match="Check QDRANT_API_KEY"):
            store(served, key="").check(TOKEN)


def test_a_server_that_is_not_there():
    with Qdrant() as served:
        made = store(served)
    for work in every(made).values():
        with pytest.raises(ToolError, match=r"was not reached.*without QDRANT_URL vectors are kept in") as caught:
            work()
        assert caught.value.code == "NetworkError"


def test_a_server_that_is_silent():
    def silent(_asked):
        served.closing.wait(50)
        return b""

    with Web(silent) as served:
        with pytest.raises(ToolError, match="was not reached") as caught:
            store(served, seconds=0.2).check(TOKEN)
        assert caught.value.code == "NetworkError"
        token = CancelToken(0.2)
        with pytest.raises(ToolError, match="time limit") as caught:
            store(served).check(token)
        served.closing.set()
    assert caught.value.code == "TimeoutError"
