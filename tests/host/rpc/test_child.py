"""A channel to real child processes that answer, refuse, stay silent, print garbage, or end."""

import subprocess
import sys
import threading
import time

import pytest

from tests.waiting import gone, until
from toolroll.host.rpc import child
from toolroll.host.rpc.channel import Channel, LateError, RefusedError
from toolroll.host.rpc.child import ChildStream, measure_memory
from toolroll.host.rpc.codecs import ContentLengthCodec, LineCodec, PeerGoneError
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ErrorCode, ToolError

# Answers by lines: the script gets each message as `m`, and `say` writes one.
SERVER = """
import json, os, sys, time
def say(message): sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()
def next_message():
    line = sys.stdin.readline()
    return json.loads(line) if line else None
"""
ECHO = "while (m := next_message()) is not None: 'id' in m and say({'id': m['id'], 'result': m})"


@pytest.fixture
def connect():
    """Connects to a script; what arrives by itself is in `.heard`, and every process ends with the test."""
    made = []

    def start(
        script, *, memory=1 << 40, codec=None, answer=lambda method, params: {"echo": [method, params]}, kill=None
    ):
        pipe = subprocess.PIPE
        argv = [sys.executable, "-c", SERVER + script]
        process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True)
        heard, ended = [], threading.Event()
        stream = ChildStream(process, memory, kill and (lambda: kill(process)))
        one = Channel(
            stream,
            codec or LineCodec(noise=100),
            serve=lambda method, params, _call: answer(method, params),
            on_notification=lambda method, params: heard.append((method, params)),
            cancellation=lambda number: {"method": "cancel", "params": number},
            on_end=ended.set,
        )
        one.heard_messages, one.ended, one.stream, one.pid = heard, ended, stream, process.pid
        made.append(one)
        return one

    yield start
    for one in made:
        one.close()
        assert gone(one.pid)


def ask(one, method="m", params=None, seconds=30.0, token=None):
    return one.request(method, params).wait(token or CancelToken(), time.monotonic() + seconds)


def why_gone(one):
    with pytest.raises(PeerGoneError) as caught:
        ask(one)
    assert one.gone is not None
    return str(caught.value), caught.value.memory


def test_requests_get_their_own_answers_in_any_order(connect):
    one = connect("a, b = next_message(), next_message()\nfor m in (b, a): say({'id': m['id'], 'result': m})\n" + ECHO)
    first, second = one.request("first", [1]), one.request("second", {"x": "ä"})
    until_then = time.monotonic() + 30
    assert first.wait(CancelToken(), until_then) == {"jsonrpc": "2.0", "id": 1, "method": "first", "params": [1]}
    assert second.wait(CancelToken(), until_then)["params"] == {"x": "ä"}
    assert one.heard <= time.monotonic()


def test_an_error_is_raised_with_its_code(connect):
    one = connect("m = next_message(); say({'id': 1, 'error': {'code': -7, 'message': 'no'}})\n" + ECHO)
    with pytest.raises(RefusedError, match=r"^no$") as caught:
        ask(one)
    assert caught.value.code == -7
    assert ask(one, "again")["method"] == "again"


@pytest.mark.parametrize(
    ("error", "code", "text"), [("'broken'", 0, "broken"), ("{'code': 'x'}", 0, ""), ("{'code': 5}", 5, "")]
)
def test_an_error_of_another_shape_is_an_error_too(connect, error, code, text):
    one = connect(f"next_message(); say({{'id': 1, 'error': {error}}})\n" + ECHO)
    with pytest.raises(RefusedError) as caught:
        ask(one)
    assert (caught.value.code, str(caught.value)) == (code, text)


def test_answers_that_belong_to_nothing_are_ignored(connect):
    one = connect("say({'id': 9, 'result': 1}); say({'id': 'x', 'result': 2}); say({'result': 3})\n" + ECHO)
    assert ask(one)["id"] == 1


def test_a_request_of_the_server_is_answered(connect):
    def answer(method, params):
        return {"known": params}[method]

    script = "say({'id': 'q', 'method': 'known', 'params': 5}); say({'id': 8, 'method': 'other'})\n"
    one = connect(
        script
        + "got = [next_message(), next_message()]; say({'method': 'ready'})\nm = next_message(); say({'id': 1, 'result': got})",
        answer=answer,
    )
    assert until(lambda: one.heard_messages == [("ready", None)])
    assert ask(one) == [
        {"jsonrpc": "2.0", "id": "q", "result": 5},
        {"jsonrpc": "2.0", "id": 8, "error": {"code": -32601, "message": "other is not known here"}},
    ]


def test_notifications_go_both_ways(connect):
    one = connect(
        "say({'method': 'hello', 'params': [1]})\nm = next_message(); n = next_message(); say({'id': 1, 'result': m})"
    )
    assert until(lambda: one.heard_messages == [("hello", [1])])
    one.notify("told", {"a": 1})
    assert ask(one) == {"jsonrpc": "2.0", "method": "told", "params": {"a": 1}}


def test_a_late_answer_is_cancelled_and_not_waited_for(connect):
    one = connect("first = next_message(); c = next_message()\nm = next_message(); say({'id': m['id'], 'result': c})")
    with pytest.raises(LateError):
        ask(one, seconds=0.1)
    assert ask(one) == {"jsonrpc": "2.0", "method": "cancel", "params": 1}


def test_a_cancelled_caller_stops_waiting(connect):
    one, token = (
        connect("first = next_message(); c = next_message()\nm = next_message(); say({'id': m['id'], 'result': c})"),
        CancelToken(),
    )
    threading.Timer(0.1, token.cancel).start()
    with pytest.raises(ToolError) as caught:
        ask(one, token=token)
    assert caught.value.code is ErrorCode.CANCELLED
    assert ask(one)["params"] == 1


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("sys.exit(3)", "ended with status 3"),
        ("os.write(2, b'a\\nb\\n\\x1b[31mc\\x1b[0m\\nd\\n'); sys.exit(4)", "ended with status 4; it said 'b / c / d'"),
        ("os.kill(os.getpid(), 9)", "was killed by signal 9"),
        ("os.close(1); time.sleep(60)", "closed its output"),
        (
            "[print('noise', i, flush=True) for i in range(101)]; time.sleep(60)",
            "does not speak the protocol; it said 'noise 100'",
        ),
    ],
)
def test_the_end_of_a_server_says_how(connect, script, how):
    one = connect("sys.stdin.readline()\n" + script)
    assert why_gone(one) == (how, False)
    assert one.ended.wait(30)
    with pytest.raises(PeerGoneError):
        one.notify("x", None)


def test_a_hundred_lines_of_noise_are_skipped(connect):
    assert ask(connect("[print('noise', i) for i in range(100)]\n" + ECHO))["id"] == 1


def test_a_message_that_is_too_large_ends_the_server(connect):
    one = connect("next_message(); say({'id': 1, 'result': 'x' * 2000}); time.sleep(60)", codec=LineCodec(1000))
    assert why_gone(one) == ("sent a message of more than 1000 bytes, and was ended", True)


def test_a_server_that_asks_and_never_reads_is_ended(connect):
    script = "while True: say({'id': 1, 'method': 'x', 'params': 'y' * 1000})"
    one = connect(script, answer=lambda _method, _params: "z" * 100_000)
    assert one.ended.wait(60)
    assert (str(one.gone), one.gone.memory) == ("asked on without reading the answers, and was ended", True)


def test_a_server_that_uses_too_much_memory_is_ended(connect, monkeypatch):
    monkeypatch.setattr(child, "_WATCH_INTERVAL_S", 0.05)
    one = connect("block = b'x' * (1 << 26); time.sleep(60)", memory=1 << 26)
    said, memory = why_gone(one)
    assert said.endswith("MB of memory, more than the 64 MB that it may use, and was ended")
    assert memory


def test_closing_ends_everything_that_waits(connect):
    one = connect("time.sleep(60)")
    pending = one.request("m", None)
    one.close("was closed here")
    with pytest.raises(PeerGoneError, match="was closed here"):
        pending.wait(CancelToken(), time.monotonic() + 30)
    assert one.ended.is_set()
    one.close("again")
    assert str(one.gone) == "was closed here"


def test_a_server_may_end_by_itself_when_its_input_ends(connect, tmp_path):
    one = connect(
        f"next_message(); say({{'id': 1, 'result': 1}})\nsys.stdin.read(); open({str(tmp_path / 'tidy')!r}, 'w')"
    )
    assert ask(one) == 1
    one.stream.end_input()
    one.close(wait=30)
    assert (tmp_path / "tidy").exists()
    assert str(one.gone) == "ended with status 0"


def test_a_given_kill_is_used(connect):
    killed = []
    one = connect("time.sleep(60)", kill=lambda process: killed.append(process.kill()))
    one.close()
    assert killed == [None]


def test_large_messages_pass_in_both_directions(connect):
    text = "ä" * 1_000_000
    assert ask(connect(ECHO), params=text)["params"] == text


def test_another_codec_on_the_same_channel(connect):
    script = (
        "head = sys.stdin.readline(); sys.stdin.readline(); n = int(head.split(':')[1]); body = sys.stdin.read(n)\n"
        "out = json.dumps({'id': 1, 'result': json.loads(body)}); print(f'Content-Length: {len(out)}\\r\\n\\r\\n{out}', end='', flush=True)\n"
        "time.sleep(60)"
    )
    one = connect(script, codec=ContentLengthCodec())
    assert ask(one) == {"jsonrpc": "2.0", "id": 1, "method": "m", "params": None}


def test_memory_is_that_of_the_process_and_its_children(connect):
    one = connect(
        "import subprocess; p = subprocess.Popen([sys.executable, '-c', 'x = b\"x\" * (1 << 26); import time; time.sleep(60)'])\n"
        + ECHO
    )
    assert until(lambda: measure_memory(one.pid) > 1 << 26)
    assert measure_memory(1 << 30) == 0
