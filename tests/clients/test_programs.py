"""Real clients run a scripted task, and the model receives what toolroll answered: nothing less, nothing in its place.

`make test` runs one of them, `make clients` all.
"""

from __future__ import annotations

import base64
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.programs import PROGRAMS, STDIO, ClientProgram, Server, run, started
from tests.clients.scripted_model import serve_script
from tests.clients.twelve import measure, prepare
from tests.mcp.fixtures.served import served
from tests.waiting import until

RUNS = [(name, "stdio") for name in PROGRAMS] + [("claude-code", "http"), ("codex", "http")]
CHOSEN = [
    pytest.param(one, marks=[pytest.mark.slow] if index else [], id="-".join(one)) for index, one in enumerate(RUNS)
]
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
FILES = {
    "cart.py": b"total = 1\n\ndef add(x):\n    return x + total\n",
    ".ignore": b"*.tmp\n",
    "old.tmp": b"secret\n",
    "dot.png": base64.b64decode(DOT),
}
TASK = [
    [("read", {"path": "cart.py"})],
    [("edit", {"path": "cart.py", "old": "total = 1", "new": "total = 2"})],
    [("grep", {"pattern": "secret"})],
    [("bash", {"command": "seq 1 20000"})],
    [("read", {"path": "dot.png"})],
    [("read", {"path": "crat.py"})],
    [("read", {"path": "cart.py", "offset": 2, "limit": 2}), ("grep", {"pattern": "total"})],
]
TEXTS = [
    "1\ttotal = 1\n2\t\n3\tdef add(x):\n4\t    return x + total",
    "Edited cart.py (1 replaced in line 1).\n@@ -1,4 +1,4 @@\n-total = 1\n+total = 2\n \n def add(x):\n     return x + total",
    "No matches.\n(Searched 2 files; not searched: 1 hidden, 1 ignored. There are more matches: 1 in ignored files.)\n"
    '[More: grep {"pattern":"secret","path":".","ignored":true}]',
    "",
    "dot.png: an image of 70 bytes.",
    "File not found: there is no 'crat.py'. Did you mean 'cart.py'?",
    '2\t\n3\tdef add(x):\n(Lines 2-3 of 4.)\n[More: read {"path":"cart.py","offset":4}]',
    "cart.py\n1:total = 2\n4:    return x + total",
]


@pytest.fixture(params=CHOSEN)
def run_of(request) -> tuple[ClientProgram, str]:
    name, transport = request.param
    return PROGRAMS[name], transport


@pytest.fixture
def work(tmp_path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


@contextmanager
def serving(transport: str, work: Path, home: Path) -> Iterator[Server]:
    if transport == "stdio":
        yield STDIO
    else:
        with served("toolroll", "mcp", "--http", "--port", "0", "-C", str(work), home=home) as http:
            yield Server(http.url, http.token)


def test_the_model_receives_what_toolroll_answered(run_of, work, tmp_path):
    client, transport = run_of
    with serve_script(TASK) as model, serving(transport, work, tmp_path) as server:
        printed = run(client, model.url, work, tmp_path, server)
    assert model.requests, printed
    results = model.last.results
    assert (model.faults, len(results)) == ([], len(TEXTS)), printed
    cut = results[3].text.removesuffix("\n</untrusted_context>")
    assert "\n1\n2\n3\n" in f"\n{cut}"
    end = r"\n19999\n20000\n\[Cut\. The whole output is kept: `read` or `grep` 'spill:\w+'\.\]$"
    assert re.search(end, cut), cut[-500:]
    left = [one.text.replace(text, "", 1) for one, text in zip(results, TEXTS, strict=True) if text]
    assert [one for one in left if not re.fullmatch(client.frame, one)] == []
    assert [one.images for one in results] == [(DOT,) if index == 4 else () for index in range(len(TEXTS))]
    assert (work / "cart.py").read_text().startswith("total = 2\n")


@pytest.mark.slow  # make clients
def test_an_interrupt_ends_the_command(run_of, work, tmp_path):
    client, transport = run_of
    seconds = f"600.{os.getpid()}"
    with (
        serve_script([[("bash", {"command": f"sleep {seconds}"})]]) as model,
        serving(transport, work, tmp_path) as server,
        started(client, model.url, work, tmp_path, server) as process,
    ):
        until(lambda: sleeping(seconds) or process.poll() is not None)
        assert process.poll() is None, process.communicate()[0]
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        until(lambda: not sleeping(seconds))
        process.communicate(timeout=60)
    assert model.last.results == []


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> tuple[Path, list[str]]:
    return prepare(tmp_path_factory.mktemp("clone"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_twelve_usual_calls_cost_their_text_alone(name, tmp_path, clone):
    cost = measure(PROGRAMS[name], *clone, tmp_path)
    assert 0.85 < cost.ratio <= 1.01  # opencode shows 2,000 lines at most


def sleeping(seconds: str) -> bool:
    """Whether a command sleeps for so long, in whatever namespace."""
    wanted = f"sleep\0{seconds}\0".encode()
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if one.read_bytes() == wanted:
                return True
        except OSError:
            pass  # it has ended
    return False
