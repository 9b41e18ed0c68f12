from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from tests.host.http.web import Asked, reply
from tests.host.models.chat.served import KEY, NAMES, Call, Say, Served, failure, streamed
from toolroll import Image, Token
from toolroll.host.http.client import Client
from toolroll.host.models.chat import config, openai
from toolroll.host.models.chat.config import load_model
from toolroll.host.models.chat.errors import ModelError, ModelErrorKind
from toolroll.host.models.chat.messages import ChatMessage, ChatRequest, ToolCall, Turn, Usage
from toolroll.host.models.chat.model import ChatModel

Serve = Callable[..., Served]
PROVIDERS = ("openai", "anthropic")
TOOL = {
    "name": "add",
    "description": "Adds.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
}
MESSAGES = (ChatMessage("system", "Be brief."), ChatMessage("user", "Hä?"))
ASK = ChatRequest(MESSAGES)
both = pytest.mark.parametrize("provider", PROVIDERS)
ways = pytest.mark.parametrize("streams", [True, False], ids=["stream", "whole"])


def model_at(server: Served, **options: Any) -> ChatModel:
    model = load_model(server.environment, server.attach(Client()))
    assert model is not None
    for name, value in {"first_wait": 0.01, **options}.items():
        setattr(model, f"_{name}", value)
    return model


def failed(server: Served, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        model_at(server, **options).turn(ASK, Token())
    error = caught.value
    told = f"{error} {error.details} {error.__cause__} {'' if error.__suppress_context__ else error.__context__}"
    assert KEY not in told
    return error


@both
@ways
def test_text(serve: Serve, provider: str, streams: bool) -> None:
    heard: list[str] = []
    server = serve(provider, Say("Zwölf Bücher, 3 €.", tokens=(40, 7)), cut=3, streams=streams)
    turn = model_at(server).turn(ASK, Token(), on_text=heard.append)
    assert turn == Turn(ChatMessage("assistant", "Zwölf Bücher, 3 €."), "end", Usage(40, 7))
    assert "".join(heard) == "Zwölf Bücher, 3 €."
    assert len(heard) == (4 if streams else 1)


@both
@ways
def test_parallel_calls_and_their_answers(serve: Serve, provider: str, streams: bool) -> None:
    calls: tuple[Call, ...] = (("add", {"a": 1}), ("add", {"text": "ü€\n\"'"}), ("add", {}))
    server = serve(provider, Say("I add.", calls), Say("Done."), streams=streams)
    model = model_at(server)
    turn = model.turn(ChatRequest(MESSAGES, (TOOL,)), Token())
    prefix = "call_" if provider == "openai" else "toolu_"
    assert (turn.stop, turn.message.text) == ("calls", "I add.")
    assert [(one.id, one.name) for one in turn.message.calls] == [(f"{prefix}1_{at}", "add") for at in range(3)]
    import json

    assert [json.loads(one.arguments) for one in turn.message.calls] == [given for _, given in calls]
    picture = Image(b"\x89PNG", "image/png")
    answers = [
        ChatMessage("tool", "1", call_id=turn.message.calls[0].id, images=(picture,)),
        ChatMessage("tool", "no", call_id=turn.message.calls[1].id, failed=True),
        ChatMessage("tool", "", call_id=turn.message.calls[2].id),
    ]
    assert model.turn(ChatRequest((*MESSAGES, turn.message, *answers), (TOOL,)), Token()).message.text == "Done."
    assert "iVBORw==" in server.asked[1].body.decode()
    first, second = server.bodies
    if provider == "openai":
        assert first["tools"] == [
            {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": TOOL["inputSchema"]}}
        ]
        assert [one["role"] for one in second["messages"]] == [
            "system",
            "user",
            "assistant",
            "tool",
            "tool",
            "tool",
            "user",
        ]
    else:
        assert first["tools"] == [{"name": "add", "description": "Adds.", "input_schema": TOOL["inputSchema"]}]
        assert first["system"] == "Be brief."
        assert [one.get("is_error") for one in second["messages"][-1]["content"]] == [None, True, None]


@both
def test_broken_arguments_stay_as_they_were_and_can_be_answered(serve: Serve, provider: str) -> None:
    server = serve(provider, Say(calls=(("add", '{"a": 1'),)), Say("Sorry."))
    model = model_at(server)
    turn = model.turn(ChatRequest(MESSAGES, (TOOL,)), Token())
    assert [one.arguments for one in turn.message.calls] == ['{"a": 1']
    told = ChatMessage("tool", "not JSON", call_id=turn.message.calls[0].id, failed=True)
    assert model.turn(ChatRequest((*MESSAGES, turn.message, told)), Token()).message.text == "Sorry."


def test_a_refusal_of_a_server_that_does_not_stream(serve: Serve) -> None:
    message = b'{"content": null, "refusal": "I will not."}'
    answer = reply(
        b'{"choices": [{"message": %s, "finish_reason": "stop"}]}' % message, content_type="application/json"
    )
    heard: list[str] = []
    turn = model_at(serve("openai", answer)).turn(ASK, Token(), on_text=heard.append)
    assert (turn.message, turn.stop) == (ChatMessage("assistant", "I will not."), "refused")
    assert heard == ["I will not."]


def test_a_streamed_refusal(serve: Serve) -> None:
    data = b'data: {"choices": [{"delta": {"refusal": "No"}}]}\n\n'
    data += b'data: {"choices": [{"delta": {"refusal": "."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    turn = model_at(serve("openai", lambda _: streamed(data))).turn(ASK, Token())
    assert (turn.message, turn.stop) == (ChatMessage("assistant", "No."), "refused")


@pytest.mark.parametrize(
    ("model", "bounds"),
    [("gpt-4o", {"stop": ["x"], "max_tokens": 9}), ("gpt-5-mini", {"max_completion_tokens": 9})],
)
def test_models_that_reason_know_other_bounds(model: str, bounds: dict[str, Any]) -> None:
    made = openai.build_body(model, ChatRequest((), (), ("x",), 9))
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    assert made == {"model": model, "messages": [], **bounds, **streamed}


@both
def test_thoughts_are_sent_back_as_they_came(serve: Serve, provider: str) -> None:
    own = ({"type": "thinking", "thinking": "hm", "signature": "c2ln"},)
    server = serve(provider, Say("ok"))
    call = ToolCall("1", "add", "{}")
    answer = ChatMessage("tool", "1", call_id="1")
    model_at(server).turn(
        ChatRequest((*MESSAGES, ChatMessage("assistant", "", (call,), provider_blocks=own), answer)), Token()
    )
    sent = server.bodies[0]["messages"][1 if provider == "anthropic" else 2]
    blocks = sent["content"] if provider == "anthropic" else None
    assert blocks == ([own[0], {"type": "tool_use", "id": "1", "name": "add", "input": {}}] if blocks else None)


def test_streamed_thoughts(serve: Serve) -> None:
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 3}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "h"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
        {"type": "something_new", "x": 1},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Yes"}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    import json

    data = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()
    turn = model_at(serve("anthropic", lambda _: streamed(data))).turn(ASK, Token())
    own = ({"type": "thinking", "thinking": "hm", "signature": "c2ln"},)
    assert turn == Turn(ChatMessage("assistant", "Yes", provider_blocks=own), "length", Usage(8, 9, 3))


@both
def test_usage_is_estimated_where_none_is_told(serve: Serve, provider: str) -> None:
    turn = model_at(serve(provider, Say("x" * 400), usage=False)).turn(
        ChatRequest((ChatMessage("user", "y" * 800),)), Token()
    )
    assert turn.usage == Usage(201, 101, estimated=True)


STATUSES = [
    (401, "authentication_error", f"Incorrect API key provided: {KEY}", ModelErrorKind.KEY, 1),
    (403, "permission_error", "no", ModelErrorKind.KEY, 1),
    (404, "not_found_error", "The model `scripted-1` does not exist", ModelErrorKind.MODEL, 1),
    (429, "rate_limit_error", "slow down", ModelErrorKind.RATE, 3),
    (429, "insufficient_quota", "You exceeded your current quota", ModelErrorKind.KEY, 1),
    (500, "api_error", "oops", ModelErrorKind.SERVER, 3),
    (502, "", "<html>", ModelErrorKind.SERVER, 3),
    (529, "overloaded_error", "Overloaded", ModelErrorKind.BUSY, 3),
    (400, "invalid_request_error", "This model's maximum context length is 8192 tokens.", ModelErrorKind.LONG, 1),
    (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ModelErrorKind.LONG, 1),
    (413, "request_too_large", "", ModelErrorKind.LONG, 1),
    (400, "invalid_request_error", "temperature: out of range", ModelErrorKind.REQUEST, 1),
    (307, "", "", ModelErrorKind.REQUEST, 1),
]


@both
@pytest.mark.parametrize(("status", "kind", "message", "expected", "tries"), STATUSES)
def test_each_error_status(
    serve: Serve, provider: str, status: int, kind: str, message: str, expected: ModelErrorKind, tries: int
) -> None:
    server = serve(provider, failure(status, kind, message, location="http://127.0.0.1:1/"))
    error = failed(server, max_tries=3)
    assert (error.kind, len(server.asked)) == (expected, tries)
    assert str(status) in error.message
    if expected in (ModelErrorKind.RATE, ModelErrorKind.REQUEST, ModelErrorKind.LONG) and message:
        assert message in error.message


@both
def test_a_busy_server_is_asked_again(serve: Serve, provider: str) -> None:
    steps = [
        failure(429, "rate_limit_error", "no", retry_after="0"),
        failure(529, "overloaded_error", "no"),
        Say("Yes"),
    ]
    server = serve(provider, *steps)
    assert model_at(server).turn(ASK, Token()).message.text == "Yes"
    assert len(server.asked) == 3


WAITS = [({"retry_after": "0.3"}, 0.3), ({"retry_after_ms": "250"}, 0.25)]


@pytest.mark.parametrize(("headers", "seconds"), WAITS)
def test_it_waits_as_long_as_it_is_asked_to(serve: Serve, headers: dict[str, str], seconds: float) -> None:
    server = serve("openai", failure(429, "", "no", **headers), Say("Yes"))
    started = time.monotonic()
    assert model_at(server, first_wait=0.0).turn(ASK, Token()).message.text == "Yes"
    assert time.monotonic() - started >= seconds


@pytest.mark.parametrize("wait", ["3600", formatdate(time.time() + 7200, usegmt=True)], ids=["seconds", "date"])
def test_too_long_a_wait_is_told_and_not_sat_through(serve: Serve, wait: str) -> None:
    server = serve("openai", failure(429, "", "no", retry_after=wait))
    assert failed(server).kind is ModelErrorKind.RATE
    assert len(server.asked) == 1


GARBAGE = [
    reply("<html>hello</html>", content_type="text/html"),
    reply("{}", content_type="application/json"),
    reply("[1]", content_type="application/json"),
    reply("", content_type="application/json"),
    reply("data: {not json}\n\n", content_type="text/event-stream"),
    reply("data: 5\n\n", content_type="text/event-stream"),
    reply(b"\x00\xff" * 500),
]


@both
@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage(serve: Serve, provider: str, garbage: bytes) -> None:
    server = serve(provider, garbage)
    error = failed(server, max_tries=2)
    assert (error.kind, len(server.asked)) == (ModelErrorKind.GARBLED, 2)
    assert "cannot be read, because" in error.message


@both
def test_an_event_without_end(serve: Serve, provider: str) -> None:
    """The SDKs copy an event for each of its lines: this one would take hours."""
    server = serve(provider, lambda _: streamed(b"data:\n" * 1_000_000, 60_000))
    started = time.process_time()
    assert failed(server, max_tries=1).kind is ModelErrorKind.GARBLED
    assert time.process_time() - started < 20


@both
def test_an_answer_without_end(serve: Serve, provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_MAX_ANSWER_BYTES", 10_000)
    error = failed(serve(provider, Say("x" * 20_000)))
    assert error.kind is ModelErrorKind.REQUEST
    assert "more than 10000 bytes" in error.message


def test_a_name_that_leads_to_an_address_that_is_never_allowed(serve: Serve) -> None:
    """Every connection would end at the test's own server, so that nothing leaves this machine if the guard fails."""
    server = serve("openai", Say("ok"))
    http = Client(resolve=lambda _name: ["169.254.169.254"], route=lambda _address, _port: ("127.0.0.1", server.port))
    environment = {"TOOLROLL_MODEL": "openai:m", "OPENAI_BASE_URL": "http://models.example.com/v1"}
    model = load_model(environment, server.attach(http))
    assert model is not None
    with pytest.raises(ModelError, match=r"its URL is not allowed\. Check OPENAI_BASE_URL") as caught:
        model.turn(ASK, Token())
    assert (caught.value.kind, server.asked) == (ModelErrorKind.REQUEST, [])


@both
def test_a_stream_that_ends_in_the_middle(serve: Serve, provider: str) -> None:
    cut = Say("A long answer of many words.", whole=False)
    server = serve(provider, cut)
    assert failed(server, max_tries=2).kind is ModelErrorKind.CUT
    heard: list[str] = []
    server = serve(provider, cut, Say("Whole."))
    assert model_at(server).turn(ASK, Token(), on_text=heard.append).message.text == "Whole."
    assert "[The answer was cut off; asking again.]" in "".join(heard)


@both
def test_an_error_inside_a_stream(serve: Serve, provider: str) -> None:
    data = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
    server = serve(provider, lambda _: streamed(data))
    assert (failed(server, max_tries=2).kind, len(server.asked)) == (ModelErrorKind.BUSY, 2)


@both
def test_text_that_cannot_be_sent(serve: Serve, provider: str) -> None:
    server = serve(provider, Say("ok"))
    with pytest.raises(ModelError, match="not valid Unicode") as caught:
        model_at(server).turn(ChatRequest((ChatMessage("user", "\udcff"),)), Token())
    assert (caught.value.kind, server.asked) == (ModelErrorKind.REQUEST, [])


def test_a_server_that_is_not_there(serve: Serve) -> None:
    with Served("openai", Say("x")) as gone:
        model = model_at(gone, max_tries=2)
    with pytest.raises(ModelError) as caught:
        model.turn(ASK, Token())
    assert caught.value.kind is ModelErrorKind.NETWORK


@both
def test_cancelled(serve: Serve, provider: str) -> None:
    def slow(_: Asked) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        while True:
            time.sleep(0.02)
            yield b": wait\n\n"

    token = Token()
    threading.Timer(0.2, token.cancel).start()
    started = time.monotonic()
    with pytest.raises(ModelError) as caught:
        model_at(serve(provider, slow)).turn(ASK, token)
    assert caught.value.kind is ModelErrorKind.CANCELLED
    assert time.monotonic() - started < 30


def test_cancelled_while_it_waits_or_before_it_asks(serve: Serve) -> None:
    server = serve("openai", failure(429, "", "no", retry_after="30"))
    token = Token()
    threading.Timer(0.2, token.cancel).start()
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            model_at(server).turn(ASK, token)
        assert caught.value.kind is ModelErrorKind.CANCELLED
    assert len(server.asked) == 1


def test_the_time_of_a_turn_is_bounded(serve: Serve) -> None:
    def never(_: Asked) -> Iterator[bytes]:
        time.sleep(0.6)
        yield b""

    assert failed(serve("openai", never), seconds=0.2).kind is ModelErrorKind.TIMEOUT


def test_answer(serve: Serve) -> None:
    server = serve("openai", Say("42"), Say(" "), Say("no", stop="content_filter"))
    model = model_at(server)
    assert model.answer("Be brief.", "6*7?", Token()) == "42"
    assert server.bodies[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "6*7?"},
    ]
    with pytest.raises(ModelError, match="empty answer"):
        model.answer("", "?", Token())
    with pytest.raises(ModelError, match="declines"):
        model.answer("", "?", Token())


def test_the_key_is_hidden_in_what_the_server_says(serve: Serve) -> None:
    error = failed(serve("openai", failure(400, "", f"bad header {KEY} \x1b[31m")))
    assert error.message.endswith("It says: 'bad header [hidden]  [31m'.")


def test_a_place_keeps_its_key_out_of_its_text(serve: Serve) -> None:
    model = model_at(serve("openai", Say("x")))
    assert KEY not in f"{model!r} {model.endpoint!r} {replace(model.endpoint, provider='x')!r}"


@both
def test_only_the_headers_of_the_protocol_are_sent(
    serve: Serve, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "of-the-sdk")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-extra: of-the-sdk")
    server = serve(provider, Say("ok"))
    model_at(server).turn(ASK, Token())
    sent = server.asked[0].headers
    usual = {"host", "connection", "accept", "accept-encoding", "content-type", "content-length", "user-agent"}
    own = {"openai": {"authorization"}, "anthropic": {"x-api-key", "anthropic-version"}}[provider]
    assert set(sent) - {"connection"} == (usual | own) - {"connection"}
    assert sent["user-agent"].startswith("toolroll")


@both
def test_a_local_server_needs_no_key(serve: Serve, provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key, url = NAMES[provider]
    monkeypatch.setenv(key, KEY)  # the SDKs would take it from here
    server = serve(provider, Say("ok"))
    model = load_model({"TOOLROLL_MODEL": f"{provider}:m", url: server.environment[url]}, server.attach(Client()))
    assert model is not None
    with pytest.raises(ModelError):  # this server demands one
        model.turn(ASK, Token())
    assert not {"authorization", "x-api-key"} & set(server.asked[0].headers)
