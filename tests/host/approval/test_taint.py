"""After a secret was read, what could carry it to another machine asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.host.http.web import Server, reply
from toolroll import Effect, Kit, tool
from toolroll.host.approval import taint as module
from toolroll.host.approval.guard import ApprovalRequest, Guard
from toolroll.host.approval.taint import Taint
from toolroll.host.http.request import prepare
from toolroll.host.runtime.call import Call
from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, ToolError

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\n"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(reply("hello")) as running:
        yield running


@pytest.fixture
def ask(server: Server, open_kit: Callable[..., Kit], ws: Path) -> Callable[..., Kit]:
    (ws / ".env").write_text("DB_PASSWORD=hunter2-swordfish\n")
    (ws / "key").write_text(KEY)
    (ws / "notes.txt").write_text("nothing of note\n")

    def make(**options: Any) -> Kit:
        policy = options.pop("policy", {})
        return open_kit(policy=Policy(hosts=(server.host,), **policy), **options)

    return make


READS = [
    ("read", {"path": ".env"}),
    ("read", {"path": "key"}),
    ("grep", {"pattern": "swordfish", "hidden": True}),
    ("grep", {"pattern": "=", "path": ".env"}),
    ("edit", {"path": ".env", "old": "hunter2", "new": "hunter3"}),
    ("copy", {"source": ".env", "target": "copied"}),
    ("bash", {"command": "cat .env"}),
    ("bash", {"command": "head -c 99 .e*v"}),
    ("python", {"code": "print(open('.env').read())"}),
]


@pytest.mark.parametrize(("name", "arguments"), READS)
def test_a_secret_that_was_read(ask: Callable[..., Kit], server: Server, name: str, arguments: dict[str, Any]) -> None:
    kit = ask()
    assert kit.call("fetch", {"url": server.url(), "method": "POST", "body": "x"}).ok
    assert kit.call(name, arguments).ok
    server.asked.clear()
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        found = kit.call("fetch", {"url": server.url(), "method": method})
        assert (found.ok, found.error and found.error.code) == (False, ErrorCode.PERMISSION)
        assert f"was read in this session, and a {method} request can carry it" in found.text
    assert not kit.call("fetch", {"url": server.url("/?q=" + "ab" * 200)}).ok
    assert server.asked == []
    assert kit.call("fetch", {"url": server.url("/docs?page=2")}).ok
    assert kit.call("fetch", {"url": server.url(), "method": "HEAD"}).ok


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": "notes.txt"}),
        ("ls", {"hidden": True}),
        ("find", {"pattern": "*", "hidden": True}),
        ("grep", {"pattern": "D", "hidden": True, "output": "files"}),
        ("bash", {"command": "echo hello"}),
        ("write", {"path": "x.txt", "content": "see .env"}),
        ("read", {"path": ".env.missing"}),
    ],
)
def test_names_alone_are_no_secrets(
    ask: Callable[..., Kit], server: Server, name: str, arguments: dict[str, Any]
) -> None:
    kit = ask()
    kit.call(name, arguments)
    assert kit.call("fetch", {"url": server.url(), "method": "POST", "body": "x"}).ok


@pytest.mark.parametrize("value", ["hunter2-swordfish", "aHVudGVyMi1zd29yZGZpc2g", "hunter2%2Dswordfish"])
def test_an_address_with_the_secret_in_it(ask: Callable[..., Kit], server: Server, value: str) -> None:
    kit = ask()
    assert kit.call("fetch", {"url": server.url(f"/{value}")}).ok  # nothing was read yet
    kit.call("read", {"path": ".env"})
    assert "this one holds it" in kit.call("fetch", {"url": server.url(f"/{value}")}).text
    assert not kit.call("fetch", {"url": server.url(), "headers": {"X-A": value}}).ok
    assert "this one holds it" in kit.call("web_search", {"query": value}).text


@pytest.mark.parametrize("answer", [True, False])
def test_the_approver_is_asked(ask: Callable[..., Kit], server: Server, answer: bool) -> None:
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return answer

    kit = ask(approve=approve)
    kit.call("read", {"path": ".env"})
    given = {"url": server.url(), "method": "POST", "body": "x"}
    assert kit.call("fetch", given).ok is answer
    assert [(one.name, one.arguments) for one in asked] == [("fetch", given)]
    assert "'.env' was read in this session" in asked[0].reason
    assert bool(server.asked) is answer


@pytest.mark.parametrize("options", [{"mode": "thinking"}, {"policy": {"deny": Effect.WRITE}}])
def test_only_looking_is_get_and_head(ask: Callable[..., Kit], server: Server, options: dict[str, Any]) -> None:
    kit = ask(**options)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        found = kit.call("fetch", {"url": server.url(), "method": method})
        assert (found.error and found.error.code) == ErrorCode.PERMISSION
        assert f"{method!r} is not allowed by" in found.text
    assert server.asked == []
    assert kit.call("fetch", {"url": server.url()}).ok
    assert kit.call("fetch", {"url": server.url(), "method": "HEAD"}).ok


@tool(Effect.NETWORK)
def send(text: Annotated[str, "What."]) -> str:
    """Send it."""
    return text


def test_a_custom_tool(ask: Callable[..., Kit]) -> None:
    kit = ask()
    kit.register(send)
    assert kit.call("send", {"text": "x"}).ok
    kit.call("read", {"path": ".env"})
    assert "a call of this tool can carry it" in kit.call("send", {"text": "x"}).text


@pytest.mark.parametrize("taint", ["secrets", "foreign"])
def test_foreign_text_is_a_setting(ask: Callable[..., Kit], server: Server, taint: str) -> None:
    kit = ask(policy={"taint": taint})
    assert kit.call("fetch", {"url": server.url()}).ok
    found = kit.call("fetch", {"url": server.url(), "method": "POST", "body": "x"})
    assert found.ok is (taint == "secrets")
    assert found.ok or "Text from another machine was read" in found.text


def test_one_kit_knows_nothing_of_another(ask: Callable[..., Kit], server: Server) -> None:
    ask().call("read", {"path": ".env"})
    assert ask().call("fetch", {"url": server.url(), "method": "POST", "body": "x"}).ok


# The record by itself.


@pytest.mark.parametrize(
    ("effects", "paths", "arguments", "text", "source"),
    [
        (Effect.READ, [".env"], {"path": ".env"}, "", "The secret file '.env'"),
        (Effect.READ, ["a.txt"], {"path": ".env"}, "", ""),  # the paths are known, so the arguments do not count
        (Effect.READ, [], {"pattern": "cat .env"}, "", "The secret file '.env'"),
        (Effect.RUN, [], {"code": "open('.env')"}, "", "The secret file '.env'"),
        (Effect.SHELL, [], {"command": "cat .env"}, "", "The secret file '.env'"),
        (Effect.WRITE, [], {"content": "cat .env"}, "", ""),
        (Effect.READ, ["a.txt"], {}, KEY, "A text that looks like a secret"),
        (Effect.READ, ["a.txt"], {}, "nothing of note", ""),
        (Effect.NETWORK, [], {}, KEY, ""),  # what a public server sends is no secret of ours
        (Effect.NETWORK | Effect.READ, [], {}, KEY, "A text that looks like a secret"),
    ],
)
def test_what_counts_as_a_secret(
    effects: Effect, paths: list[str], arguments: dict[str, Any], text: str, source: str
) -> None:
    taint = Taint(Guard(Policy(), "code"))
    taint.notice_result(effects, paths, arguments, text)
    assert taint.source == source


def test_the_first_secret_is_named_and_the_values_of_all_are_known() -> None:
    taint = Taint(Guard(Policy(), "code"))
    taint.notice_files(["a.txt"])
    assert taint.source == ""
    taint.notice_files(["a.txt", "id_rsa"])
    taint.notice_result(Effect.READ, [".env"], {}, "DB_PASSWORD=hunter2-swordfish")
    taint.notice_result(Effect.READ, ["b"], {}, "x" * (1 << 20))  # more than is kept waiting
    assert taint.source == "The secret file 'id_rsa'"
    with pytest.raises(ToolError, match="'id_rsa' was read in this session, and this one holds it"):
        taint.check_text(Call(name="web_search"), "what is hunter2-swordfish?")
    taint.check_text(Call(name="web_search"), "what is a swordfish?")


@pytest.mark.parametrize(
    ("mode", "policy", "why"),
    [
        ("thinking", Policy(), "mode 'thinking'"),
        ("code", Policy(deny=Effect.WRITE), "the policy"),
        ("thinking", Policy(deny=Effect.WRITE), "mode 'thinking'"),
    ],
)
def test_what_forbids_a_request_is_named(mode: str, policy: Policy, why: str) -> None:
    taint = Taint(Guard(policy, mode))
    with pytest.raises(ToolError, match=f"^'POST' is not allowed by {why}, which only looks. Use 'GET'.$"):
        taint.check_request(Call(name="fetch"), prepare("POST", "https://example.com/", None, None))
    request = prepare("GET", "https://example.com/", None, None)
    assert taint.check_request(Call(name="fetch"), request) is request


def test_the_question_is_about_the_whole_call() -> None:
    asked: list[ApprovalRequest] = []
    taint = Taint(Guard(Policy(), "code", lambda request: asked.append(request) or True))  # type: ignore[func-returns-value]  # list.append returns None
    call = Call(name="send", arguments={"text": "x"})
    taint.check_call(call, Effect.NETWORK)
    assert asked == []
    taint.notice_files([".env"])
    taint.check_call(call, Effect.READ)
    assert asked == []
    taint.check_call(call, Effect.NETWORK | Effect.READ)
    reason = "The secret file '.env' was read in this session, and a call of this tool can carry it"
    assert asked == [ApprovalRequest("send", Effect.NETWORK, {"text": "x"}, reason)]


def test_a_call_waits_for_no_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned: list[tuple[int, str]] = []
    begun, go_on = threading.Event(), threading.Event()

    def scan(text: str) -> bool:
        scanned.append((len(text), threading.current_thread().name))
        begun.set()
        return not go_on.wait(20)

    monkeypatch.setattr("toolroll.policy.secrets.holds_secret", scan)
    taint = Taint(Guard(Policy(), "code"))
    for _ in range(300):
        taint.notice_result(Effect.READ, ["a"], {}, "x" * 9_000)
    assert begun.wait(20)
    taint.notice_result(Effect.READ, ["a"], {}, "y" * 2_000_000)  # while a piece is scanned
    go_on.set()
    assert taint.source == ""
    assert sum(size for size, _ in scanned) >= 300 * 9_000 + 2_000_000
    assert max(size for size, _ in scanned) <= module._PIECE_CHARACTERS + module._OVERLAP_CHARACTERS
    assert scanned[0][1] == "toolroll secrets"


def test_results_that_arrive_without_a_pause_are_scanned_a_piece_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIET_S", 1000)
    monkeypatch.setattr(module, "_MAX_WAITING_CHARACTERS", 100_000)
    taint = Taint(Guard(Policy(), "code"))
    for _ in range(100):
        taint.notice_result(Effect.READ, ["a"], {}, "x" * 9_000)
    assert taint._size <= 100_000
    taint.close()
    assert taint.source == ""


@pytest.mark.parametrize("at", [0, module._PIECE_CHARACTERS - 20, 3 * module._PIECE_CHARACTERS - 1, 100_000])
def test_a_secret_anywhere_in_a_long_text(at: int) -> None:
    taint = Taint(Guard(Policy(), "code"))
    taint.notice_result(Effect.READ, ["a"], {}, "a b\n" * (at // 4) + f"\n{KEY}" + "a b\n" * 9_000)
    assert taint.source == "A text that looks like a secret"


def test_values_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_VALUES", 1)
    taint = Taint(Guard(Policy(), "code"))
    for text in ("A_PASSWORD=hunter2-swordfish", "B_PASSWORD=correct-horse-battery"):
        taint.notice_result(Effect.READ, [".env"], {}, text)
    assert taint.source == "The secret file '.env'"
    assert "hunter2-swordfish" in taint._values
    assert "correct-horse-battery" not in taint._values
