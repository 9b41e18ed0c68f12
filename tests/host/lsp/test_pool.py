"""LanguageServers that hang, die, grow, lie and print: each is a real process that does so."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import gone, until
from toolroll.host.lsp import pool
from toolroll.host.rpc import child
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ErrorCode, ToolError

from .conftest import family, found

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"), pytest.mark.timeout(60)]


def stopped(pid):
    """Whether all of a process has stopped: a signal is sent before it is heeded."""
    stats = Path(f"/proc/{pid}/task").glob("*/stat")
    return {path.read_text().rpartition(")")[2].split()[0] for path in stats} == {"T"}


def messages(report):
    return None if report.problems is None else [one.message for one in report.problems]


@pytest.mark.parametrize("manner", ["late", "unversioned", "modified"])
def test_what_was_thought_of_an_old_text_is_no_answer(manner, fake, open_servers, put):
    fake(manner)
    servers = open_servers(seconds=20)
    turns = [("bad\n", ["bad line 1"]), ("good\n", []), ("good\nbad\n", ["bad line 2"])]
    for text, expected in turns[: 2 if manner == "unversioned" else 3]:  # that one is waited for a second each time
        put({"a.ts": text})
        assert messages(servers.diagnose(["a.ts"], CancelToken())[0]) == expected


def test_a_server_that_speaks_only_of_old_texts_tells_nothing(fake, open_servers, put):
    fake("old only")
    put({"a.ts": "bad\n"})
    report = open_servers(seconds=0.2).diagnose(["a.ts"], CancelToken())[0]
    assert (report.problems, report.reason, report.code) == (
        None,
        "tsc did not answer within 0.2 s",
        ErrorCode.TIMEOUT,
    )


def test_a_project_that_is_still_read_is_waited_for(fake, open_servers, put):
    fake("loading", "gopls")
    put({"a.go": "bad\n"})
    assert messages(open_servers(seconds=20).diagnose(["a.go"], CancelToken())[0]) == ["bad line 1"]


def test_requests_of_the_server_are_answered(fake, servers, put):
    fake("asks")
    put({"a.ts": "x\n"})
    told = json.loads(messages(servers.diagnose(["a.ts"], CancelToken())[0])[0])
    refused = {"applied": False, "failureReason": "Files are changed by tools only."}
    settings = {"disableAutomaticTypeAcquisition": True, "preferences": {"useAliasesForRenames": False}}
    assert told == [[settings, None], None, None, refused, -32601]


def test_a_refusal_is_told(fake, servers, put):
    fake("refuses")
    put({"a.ts": "x\n"})
    report = servers.diagnose(["a.ts"], CancelToken())[0]
    assert (report.problems, report.reason, report.code) == (
        None,
        "tsc refuses: it is too ugly",
        ErrorCode.EXECUTION,
    )


@pytest.mark.parametrize(
    ("manner", "code", "words"),
    [
        ("hang", ErrorCode.TIMEOUT, "tsc did not answer within 0.2 s"),
        ("deaf", ErrorCode.TIMEOUT, "tsc did not start in 0.2 s"),
        ("prints", ErrorCode.UNSUPPORTED, 'does not speak the protocol; it said "error TS5023: Unknown'),
    ],
)
def test_servers_that_do_not_serve(manner, code, words, fake, open_servers, put):
    fake(manner)
    put({"a.ts": "let a = 1\n"})
    servers = open_servers(seconds=0.2, start_seconds=0.2 if manner == "deaf" else 30)
    with pytest.raises(ToolError) as caught:
        servers.hover("a.ts", 1, 5, CancelToken())
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message
    report = servers.diagnose(["a.ts"], CancelToken())[0]
    assert (report.code, words in report.reason) == (code, True), report.reason


def test_a_server_that_hangs_is_given_up_after_its_second_silence(fake, open_servers, put):
    fake("hang")
    put({"a.ts": "let a = 1\n"})
    servers = open_servers(seconds=0.3)
    pids = []
    for _ in range(3):
        with pytest.raises(ToolError, match="did not answer"):
            servers.hover("a.ts", 1, 5, CancelToken())
        pids.append(servers.running()[0].pid)
    assert (pids[0] == pids[1], pids[1] == pids[2]) == (True, False)
    assert gone(pids[0])


def test_a_call_can_be_cancelled(fake, open_servers, put):
    fake("hang")
    put({"a.ts": "let a = 1\n"})
    servers = open_servers(seconds=60)
    token = CancelToken()
    threading.Timer(0.5, token.cancel).start()
    begun = time.monotonic()
    with pytest.raises(ToolError) as caught:
        servers.hover("a.ts", 1, 5, token)
    assert caught.value.code is ErrorCode.CANCELLED
    assert time.monotonic() - begun < 45


def test_the_time_of_the_call_holds_too(fake, open_servers, put):
    fake("hang")
    put({"a.ts": "let a = 1\n"})
    with pytest.raises(ToolError) as caught:
        open_servers(seconds=60).hover("a.ts", 1, 5, CancelToken(0.5))
    assert caught.value.code is ErrorCode.TIMEOUT


def test_a_large_text_does_not_block_on_a_server_that_does_not_read(fake, open_servers, put):
    fake("hang")
    servers = open_servers(seconds=0.5)
    put({"a.ts": "let a = 1\n"})
    for _ in range(2):  # the first question is read, and never answered; the second one fills the pipe
        with pytest.raises(ToolError, match="did not answer"):
            servers.hover("a.ts", 1, 5, CancelToken())
        put({"a.ts": "let a = 1\n" + "// x\n" * 100_000})


def test_a_server_that_always_dies_is_started_twice_and_then_told_of(fake, servers, put):
    fake("dies")
    put({"a.ts": "x\n"})
    report = servers.diagnose(["a.ts"], CancelToken())[0]
    assert (report.problems, report.code) == (None, ErrorCode.EXECUTION)
    assert report.reason.startswith("The language server tsc ended with status 3; it said 'I cannot go on'.")


def test_one_that_takes_too_much_memory_is_ended(fake, open_servers, put, monkeypatch):
    monkeypatch.setattr(child, "_WATCH_INTERVAL_S", 0.05)
    fake("grows")
    put({"a.ts": "x\n"})
    report = open_servers(memory=200 << 20, seconds=30).diagnose(["a.ts"], CancelToken())[0]
    assert report.code is ErrorCode.TOO_LARGE
    assert "MB of memory, more than the 200 MB that it may use, and was ended" in report.reason


def test_one_that_takes_less_is_not(fake, open_servers, put, monkeypatch):
    looks, look = [], child.measure_memory
    monkeypatch.setattr(child, "_WATCH_INTERVAL_S", 0.05)
    monkeypatch.setattr(child, "measure_memory", lambda pid: looks.append(look(pid)) or looks[-1])
    fake("grows")
    put({"a.ts": "let a = 1\n"})
    servers = open_servers(memory=1 << 30)
    assert servers.hover("a.ts", 1, 5, CancelToken()) is None
    pid = servers.running()[0].pid
    seen = len(looks)
    until(lambda: len(looks) > seen + 2)
    assert [one.pid for one in servers.running()] == [pid]
    assert looks[-1] > 300 << 20


def test_what_a_server_started_ends_with_it(fake, open_servers, put, ws):
    fake("parent")
    put({"a.ts": "let a = 1\n"})
    servers = open_servers()
    servers.hover("a.ts", 1, 5, CancelToken())
    child = int((ws / "child.pid").read_text())
    pids = family(servers.running()[0].pid)
    assert child in pids
    servers.close()
    assert [pid for pid in pids if not gone(pid)] == []
    assert servers.running() == []


@pytest.mark.skipif(not found("ty"), reason="ty is not installed")
def test_a_server_that_was_killed_between_calls_is_started_again(servers, put):
    put({"a.py": "x: int = ''\n"})
    first = servers.diagnose(["a.py"], CancelToken())
    pid = servers.running()[0].pid
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert servers.diagnose(["a.py"], CancelToken()) == first
    assert servers.running()[0].pid != pid


@pytest.mark.skipif(not found("ty"), reason="ty is not installed")
def test_a_server_that_is_killed_in_the_middle_of_a_call(servers, put):
    """It stands still, so that the call must be under way when it is killed."""
    put({"a.py": "x: int = ''\n"})
    first = servers.diagnose(["a.py"], CancelToken())
    pid = servers.running()[0].pid
    os.kill(pid, signal.SIGSTOP)
    until(lambda: stopped(pid))
    got = []
    asking = threading.Thread(target=lambda: got.append(servers.diagnose(["a.py"], CancelToken())))
    asking.start()
    asking.join(0.5)
    assert got == []
    os.kill(pid, signal.SIGKILL)
    asking.join(30)
    assert got == [first]
    assert servers.running()[0].pid != pid


@pytest.mark.skipif(not found("clangd"), reason="clangd is not installed")
def test_a_server_behind_a_wrapper_is_started_again_whichever_of_the_two_dies(servers, put):
    put({"a.c": "int *x = b;\n"})
    first = servers.diagnose(["a.c"], CancelToken())
    assert len(first[0].problems) == 1
    for which in (-1, 0):
        pid = family(servers.running()[0].pid)[which]
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)
        assert servers.diagnose(["a.c"], CancelToken()) == first


@pytest.mark.skipif(not found("ty"), reason="ty is not installed")
def test_under_steady_fire_an_answer_is_right_or_an_error(servers, put):
    put({"a.py": "x: int = ''\n"})
    over = threading.Event()

    def fire():
        while not over.wait(0.02):
            for one in servers.running():
                with suppress(ProcessLookupError):  # it may have ended meanwhile
                    os.kill(one.pid, signal.SIGKILL)

    killer = threading.Thread(target=fire)
    killer.start()
    reports = []
    for n in range(8):
        put({"a.py": "x: int = ''\n" if n % 2 else "x: int = 1\n"})
        reports.append(servers.diagnose(["a.py"], CancelToken())[0])
    over.set()
    killer.join()
    for n, report in enumerate(reports):
        if report.problems is None:
            assert report.code in (ErrorCode.EXECUTION, ErrorCode.UNSUPPORTED), report
        else:
            assert len(report.problems) == n % 2
    put({"a.py": "x: int = ''\n"})
    assert len(servers.diagnose(["a.py"], CancelToken())[0].problems) == 1


@pytest.mark.skipif(not found("ty"), reason="ty is not installed")
def test_many_at_a_time(servers, put):
    put({f"m{n}.py": f"x{n}: int = ''\n" if n % 2 else f"x{n}: int = {n}\n" for n in range(12)})
    got = {}

    def ask(n):
        got[n] = len(servers.diagnose([f"m{n}.py"], CancelToken())[0].problems)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert got == {n: n % 2 for n in range(12)}
    assert len(servers.running()) == 1


@pytest.mark.skipif(not found("ty"), reason="ty is not installed")
def test_a_program_that_ends_without_closing_leaves_no_server(ws, put, tmp_path):
    put({"a.py": "x = 1\n"})
    script = f"""
import sys
from tests.launchers import LAUNCHER, spawn
from toolroll.host.lsp.language_servers import LanguageServers
from toolroll.host.files.root import Root
from toolroll.host.search.search import Search
from toolroll.host.files.spill import Spill
from toolroll.host.runtime.state import State
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.files.workspace import Workspace
from toolroll.policy.limits import Limits
from toolroll.policy.rules import PRESETS
root, state = Root({str(ws)!r}), State({str(tmp_path / "other")!r})
files = Workspace(root, state, Spill(state), limits=Limits(), policy=PRESETS["standard"], launcher=LAUNCHER)
servers = LanguageServers(files, Search(root, limits=Limits(), launcher=LAUNCHER), spawn=spawn)
assert servers.diagnose(["a.py"], CancelToken())[0].problems == []
print(servers.running()[0].pid)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert gone(int(done.stdout))


def test_a_closed_pool_starts_nothing(servers, put):
    put({"a.py": "x = 1\n"})
    servers.close()
    with pytest.raises(ToolError, match=r"This kit is closed, and its language servers with it\."):
        servers.hover("a.py", 1, 1, CancelToken())
    assert servers.running() == []


@pytest.mark.parametrize(
    ("path", "language", "words"),
    [
        ("a.md", None, "There is no language server for 'a.md'"),
        ("a.py", "cobol", "There is no language server for 'cobol'. There are: python, typescript"),
        ("a.go", None, "gopls, is not installed. To add it: go install golang.org/x/tools/gopls@latest"),
    ],
)
def test_a_language_without_a_server_says_what_would_add_it(path, language, words, servers, put, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    put({path: "x\n"})
    with pytest.raises(ToolError) as caught:
        servers.hover(path, 1, 1, CancelToken(), language)
    assert (caught.value.code, words in caught.value.message) == (ErrorCode.UNSUPPORTED, True), caught.value.message


def test_another_program_by_choice(open_servers, put):
    put({"a.py": "import os\n"})
    reports = open_servers(choice={"python": "ruff"}).diagnose(["a.py"], CancelToken())
    assert [(one.code, one.source) for one in reports[0].problems] == [("F401", "Ruff")]
    with pytest.raises(ToolError, match="There is no server 'mypy' for python"):
        open_servers(choice={"python": "mypy"}).hover("a.py", 1, 1, CancelToken())


def test_the_next_server_answers_for_one_that_does_not_start(fake, open_servers, put, tmp_path, monkeypatch):
    fake("plain", "basedpyright-langserver")
    stub = tmp_path / "ty"
    stub.write_text('#!/bin/sh\necho run >> "$0.log"\nexit 1\n')
    stub.chmod(0o755)
    found = pool.find_program
    monkeypatch.setattr(pool, "find_program", lambda one, ws: str(stub) if one.program == "ty" else found(one, ws))
    servers = open_servers(seconds=20)
    put({"a.py": "bad\n"})
    for _ in range(2):
        assert messages(servers.diagnose(["a.py"], CancelToken())[0]) == ["bad line 1"]
    assert [one.program for one in servers.running()] == ["basedpyright-langserver"]
    assert stub.with_suffix(".log").read_text() == "run\nrun\n", "it was tried twice, and not again"
