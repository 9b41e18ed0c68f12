"""The naive ways do fail: what the tests of the other files show is not by luck."""

import os
import sys
import time

import pytest

from tests.launchers import spawn
from tests.waiting import gone
from toolroll.host.lsp.client import LspClient
from toolroll.host.lsp.pool import make_environment
from toolroll.host.lsp.servers import SERVERS, find_program
from toolroll.host.rpc.codecs import PeerGoneError
from toolroll.host.runtime.cancellation import CancelToken

from .conftest import found

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"), pytest.mark.timeout(60)]
TSC = next(one for one in SERVERS if one.program == "tsc")


@pytest.fixture
def client(fake, workspace):
    """A client of a server that first publishes what it thought of the old text."""
    fake("late")
    process = spawn([find_program(TSC, ""), "--lsp"], workspace.root.fd, make_environment(os.environ))
    client = LspClient(TSC, process, workspace.root.path, 1 << 30)
    client.start(CancelToken(), time.monotonic() + 20)
    yield client
    client.close()
    assert gone(client.pid)


def test_old_problems_really_come_and_are_not_believed(client):
    heard = []
    told = client._on_notification
    client.connection._on_notification = lambda method, params: (heard.append(params), told(method, params))
    shown = client.show("a.ts", "bad\n")
    client.wait(lambda: client.get_published(shown, 1) is not None, CancelToken(), time.monotonic() + 20)
    client.show("a.ts", "good\n")
    client.wait(lambda: client.get_published(shown, 2) is not None, CancelToken(), time.monotonic() + 20)
    assert [(one["version"], [item["message"] for item in one["diagnostics"]]) for one in heard] == [
        (1, ["bad line 1"]),
        (1, ["old"]),
        (1, ["old"]),
        (2, []),
    ]
    assert client.get_published(shown, 2).items == []
    assert client.get_published(shown, 1) is None


def test_paths_and_addresses(client, ws):
    for path in ("a.ts", "sub/ä b#c%.ts", "😀.ts"):
        assert client.path(client.uri(path)) == (path, True)
    assert client.uri("a b%.ts") == f"file://{ws}/a%20b%25.ts"
    assert client.path(f"file://{ws}/%61.ts") == ("a.ts", True)
    assert client.path(f"file://{ws}x/a.ts") == (f"{ws}x/a.ts", False)
    assert client.path("file:///etc/hosts") == ("/etc/hosts", False)
    assert client.path("zip:///a.ts") == ("zip:///a.ts", False)


def test_texts_are_shown_with_rising_versions_and_once(client):
    versions = [client.show("a.ts", text).version for text in ("1", "1", "2", "1")]
    client.hide("a.ts")
    versions.append(client.show("a.ts", "1").version)
    assert versions == [1, 1, 2, 3, 4]


def test_after_the_end_there_is_no_answer_and_no_waiting(client):
    os.kill(client.pid, 9)
    with pytest.raises(PeerGoneError, match="was killed by signal 9"):
        client.wait(lambda: False, CancelToken(), time.monotonic() + 20)
    with pytest.raises(PeerGoneError):
        client.connection.request("textDocument/hover", {})


@pytest.mark.parametrize(
    ("files", "asked", "change"),
    [
        pytest.param(
            {"lib.py": "def f() -> int: return 1\n", "a.py": "from lib import f\nx: str = f()\n"},
            "a.py",
            {"lib.py": "def f() -> str: return ''\n"},
            marks=pytest.mark.skipif(not found("ty"), reason="ty is not installed"),
        ),
        pytest.param(
            {"lib.h": "int f(void);\n", "a.c": '#include "lib.h"\nint x(void) { return f(1); }\n'},
            "a.c",
            {"lib.h": "int f(int);\n"},
            marks=pytest.mark.skipif(not found("clangd"), reason="clangd is not installed"),
        ),
    ],
)
def test_a_server_that_is_not_told_of_changes_gives_old_answers(files, asked, change, servers, put, monkeypatch):
    monkeypatch.setattr(LspClient, "update_files", lambda *_: None)
    put(files)
    first = servers.diagnose([asked], CancelToken())[0].problems
    put(change)
    assert len(first) == 1
    assert servers.diagnose([asked], CancelToken())[0].problems == first
