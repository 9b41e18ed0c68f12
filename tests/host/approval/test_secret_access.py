"""After a secret could have been read, what could carry it to another machine asks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.host.http.web import Server, reply
from toolroll import Effect, Kit, tool
from toolroll.host.approval import secret_access as module
from toolroll.host.approval.guard import ApprovalRequest, Guard
from toolroll.host.approval.secret_access import SecretAccess
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
    """Opens a kit on a workspace with secrets, which may fetch from the server."""
    (ws / ".env").write_text("DB_PASSWORD=hunter2-swordfish\n")
    (ws / "server.key").write_text(KEY)
    (ws / "notes.txt").write_text("nothing of note\n")
    (ws / "plain").symlink_to(".env")
    (ws / "deploy").mkdir()
    (ws / "deploy/prod.yml").write_text("token: x\n")

    def make(**options: Any) -> Kit:
        policy = options.pop("policy", {})
        return open_kit(policy=Policy(hosts=(server.host,), **policy), **options)

    return make


def can_post(kit: Kit, server: Server) -> bool:
    return kit.call("fetch", {"url": server.url(), "method": "POST", "body": "x"}).ok


READS = [
    ("read", {"path": ".env"}),
    ("read", {"path": "server.key"}),
    ("read", {"path": "plain"}),
    ("grep", {"pattern": "swordfish", "hidden": True}),
    ("grep", {"pattern": "=", "path": ".env"}),
    ("edit", {"path": ".env", "old": "no such text, so that the result shows what is near", "new": "hunter3"}),
    ("copy", {"source": ".env", "target": "copied"}),
    ("read_several", {"paths": [".env"]}),
    ("patch", {"patch": "*** Begin Patch\n*** Update File: .env\n@@\n-X=1\n+X=2\n*** End Patch"}),
    ("multiedit", {"pattern": ".e*", "find": "hunter2", "replace": "x", "preview": True}),
    ("bash", {"command": "rev .e*"}),
    ("bash", {"command": "true"}),
    ("python", {"code": "print(open('.e' + 'nv').read()[::-1])"}),
]


@pytest.mark.parametrize(("name", "arguments"), READS)
def test_a_secret_that_could_have_been_read(
    ask: Callable[..., Kit], server: Server, name: str, arguments: dict[str, Any]
) -> None:
    kit = ask()
    assert can_post(kit, server)
    kit.call(name, arguments)
    server.asked.clear()
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        found = kit.call("fetch", {"url": server.url(), "method": method})
        assert (found.ok, found.error and found.error.code) == (False, ErrorCode.PERMISSION)
        assert f"in this session, and a {method} request can carry it" in found.text
    assert not kit.call("fetch", {"url": server.url("/?q=" + "ab" * 200)}).ok
    assert not kit.call("fetch", {"url": server.url(), "headers": {"X-A": "ab" * 200}}).ok
    assert "characters of address" in kit.call("web_search", {"query": "ab " * 101}).text
    assert server.asked == []
    assert kit.call("fetch", {"url": server.url("/docs?page=2")}).ok  # a host that the user has named
    assert kit.call("fetch", {"url": server.url(), "method": "HEAD"}).ok
    assert "'other.example.com' can carry it" in kit.call("fetch", {"url": "https://other.example.com/"}).text


@pytest.mark.parametrize("name", ["history", "rag", "read", "resumed"])
def test_what_an_earlier_session_kept(ask: Callable[..., Kit], server: Server, ws: Path, name: str) -> None:
    (ws / ".env").write_text("DB_PASSWORD=hunter2-swordfish\n" * 5_000)
    with ask(session="one") as first:
        first.resume()
        kept = first.call("bash", {"command": "cat .env"}).text.rpartition("'")[0].rpartition("'")[2]
    for one in (".env", "server.key", "plain"):
        (ws / one).unlink()
    calls = {"history": {}, "rag": {"action": "search", "query": "swordfish"}, "read": {"path": kept}}
    with ask(session="one" if name == "resumed" else "two") as kit:
        if name == "resumed":
            kit.resume()
        else:
            assert can_post(kit, server)
            kit.call(name, calls[name])
        assert not can_post(kit, server)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": "notes.txt"}),
        ("ls", {"hidden": True}),
        ("find", {"pattern": "*", "hidden": True}),
        ("grep", {"pattern": "D", "hidden": True, "output": "files"}),
        ("write", {"path": "x.txt", "content": "see .env"}),
        ("write", {"path": ".env.local", "content": "written by the model"}),
        ("read", {"path": ".env.missing"}),
    ],
)
def test_names_alone_are_no_secrets(
    ask: Callable[..., Kit], server: Server, name: str, arguments: dict[str, Any]
) -> None:
    kit = ask()
    kit.call(name, arguments)
    assert can_post(kit, server)


def test_commands_read_no_secret_where_there_is_none(open_kit: Callable[..., Kit], server: Server, ws: Path) -> None:
    packages = ws / "node_modules" / "tls"
    packages.mkdir(parents=True)
    (packages / "test.p12").write_text("of a package")
    (ws / ".env.example").write_text("TOKEN=")
    (ws / "config.json").write_text("{}")
    kit = open_kit(policy=Policy(hosts=(server.host,)))
    kit.call("bash", {"command": "cat .env.example config.json"})
    assert can_post(kit, server)
    (ws / "secrets.yaml").write_text("came later")
    assert not can_post(kit, server)


def test_a_file_that_a_command_has_moved_away_counts(ask: Callable[..., Kit], server: Server, ws: Path) -> None:
    kit = ask()
    (ws / "server.key").unlink()
    (ws / "plain").unlink()
    assert kit.call("bash", {"command": "mv .env notes.md"}).ok
    assert not can_post(kit, server)


def test_files_that_the_operator_names_are_secret(ask: Callable[..., Kit], server: Server) -> None:
    kit = ask(policy={"secret_files": ("deploy/*.yml",)})
    kit.call("read", {"path": "deploy/prod.yml"})
    assert "'deploy/prod.yml' was read" in kit.call("fetch", {"url": server.url(), "method": "PUT"}).text


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
    assert can_post(ask(), server)


def test_what_a_fork_has_read_its_base_does_not_send(ask: Callable[..., Kit], server: Server) -> None:
    kit = ask()
    with kit.fork() as fork:
        fork.call("read", {"path": ".env"})
    assert not can_post(kit, server)


# What a command may do, by itself.

NETWORKS = {"off": False, "on": True, "hosts": ("example.org",)}


def begin(ws: Path, tier: str, approve: Any = None, **policy: Any) -> tuple[SecretAccess, Any]:
    access = SecretAccess(Guard(Policy(**policy), "code", approve), [str(ws)])
    return access, access.begin_command(tier)


@pytest.mark.parametrize(
    ("tier", "network", "hidden", "opened", "marked"),
    [
        ("bubblewrap", "off", False, True, True),
        ("bubblewrap", "hosts", True, True, False),
        ("bubblewrap", "on", True, True, False),
        ("landlock", "off", False, True, True),
        ("landlock", "hosts", False, True, True),
        ("landlock", "on", False, False, True),
        ("none", "on", False, True, True),
    ],
)
def test_a_command_reads_secrets_or_has_a_network(
    ws: Path, tier: str, network: str, hidden: bool, opened: bool, marked: bool
) -> None:
    """Where nobody can be asked; with named hosts under Landlock each connection asks."""
    (ws / ".env").write_text("A=b")
    access, rights = begin(ws, tier, network=NETWORKS[network])
    assert (rights.hide, rights.network, bool(access.source)) == ((str(ws / ".env"),) * hidden, opened, marked)
    assert bool(rights.notes) is (hidden or not opened)
    assert (access.connection_request("example.org") is not None) is marked
    assert access.begin_command(tier).notes == ()


def test_the_user_can_agree(ws: Path) -> None:
    (ws / ".env").write_text("A=b")
    asked: list[ApprovalRequest] = []
    access, rights = begin(ws, "bubblewrap", lambda one: (asked.append(one), "once")[1], network=True)
    assert (rights.hide, rights.network, rights.is_agreed) == ((), True, True)
    assert access.source == "A command could have read the secret file '.env'"
    assert (asked[0].arguments, asked[0].key) == ({"files": [".env"]}, ("secrets", "network"))
    asked.clear()
    access, rights = begin(ws, "bubblewrap", lambda one: (asked.append(one), False)[1], network=True)
    assert (len(rights.hide), access.begin_command("bubblewrap").hide == rights.hide, len(asked)) == (1, True, 1)


@pytest.mark.parametrize("name", ["notes.txt", ".env"])
def test_a_fork_of_a_frozen_workspace_knows_whether_it_has_secrets(
    ws: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / name).write_text("A=b")
    base, fork = (SecretAccess(Guard(Policy(), "code"), [str(ws)]) for _ in range(2))
    base.find_out()
    fork.start_from(base)
    if name != ".env":
        monkeypatch.setattr(SecretAccess, "_find", None)  # it looks no more
    fork.begin_command("landlock")
    assert bool(fork._mark.source) is (name == ".env")


def test_a_file_that_git_has_cannot_be_hidden(ws: Path) -> None:
    (ws / ".env").write_text("A=b")
    guard = Guard(Policy(network=("example.org",)), "code")
    access = SecretAccess(guard, [str(ws)], lambda: {".env"})
    assert (access.begin_command("bubblewrap").hide, bool(access.source)) == ((), True)


def test_secrets_are_hidden_for_who_wants_it(ws: Path) -> None:
    (ws / ".env").write_text("A=b")
    access, rights = begin(ws, "bubblewrap", secrets="hide")
    assert (rights.hide, access.source) == ((str(ws / ".env"),), "")
    assert rights.notes == (
        "note: commands cannot read '.env' (secrets = 'hide'): git checkout, mv and rm of them fail",
    )
    with pytest.raises(ToolError, match=r"^The command was not started: secrets = 'hide', .* Install bubblewrap"):
        begin(ws, "landlock", secrets="hide")


def test_a_workspace_that_is_too_large_to_look_through_counts(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_NAMES", 3)
    for number in range(9):
        (ws / f"{number}").mkdir()
    access, _ = begin(ws, "landlock")
    assert access.source == "A command could have read a file of a workspace with more than 200,000 names"


def test_configuration_counts_by_what_is_in_it_and_nothing_waits_for_it(ws: Path) -> None:
    os.mkfifo(ws / "config.json")
    assert begin(ws, "landlock")[0].source == ""
    (ws / ".npmrc").write_text("//npm.example/:_authToken=${NPM_TOKEN}\n")
    (ws / "settings.json").write_text('{"editor.tokenColorCustomizations": {"comments": "#229977"}}')
    (ws / ".git").mkdir()
    (ws / ".git/config").write_text("[remote]\n\turl = https://me:hunter2-swordfish@git.example/\n")  # git needs it
    assert begin(ws, "landlock")[0].source == ""
    (ws / ".npmrc").write_text("//npm.example/:_authToken=npm_abcdefghijklmnopqrstuvwxyz0123456789\n")
    assert "'.npmrc'" in begin(ws, "landlock")[0].source


@pytest.mark.parametrize(
    ("mode", "policy", "why"),
    [
        ("thinking", Policy(), "mode 'thinking'"),
        ("code", Policy(deny=Effect.WRITE), "the policy"),
        ("thinking", Policy(deny=Effect.WRITE), "mode 'thinking'"),
    ],
)
def test_what_forbids_a_request_is_named(mode: str, policy: Policy, why: str) -> None:
    access = SecretAccess(Guard(policy, mode), ())
    with pytest.raises(ToolError, match=f"^'POST' is not allowed by {why}, which only looks. Use 'GET'.$"):
        access.check_request(Call(name="fetch"), prepare("POST", "https://example.com/", None, None))
    request = prepare("GET", "https://example.com/", None, None)
    assert access.check_request(Call(name="fetch"), request) is request


def test_the_question_is_about_the_whole_call() -> None:
    asked: list[ApprovalRequest] = []
    access = SecretAccess(Guard(Policy(), "code", lambda request: (asked.append(request), True)[1]), ())
    call = Call(name="send", arguments={"text": "x"})
    access.check_call(call, Effect.NETWORK)
    assert asked == []
    access.notice_paths([(".env",)])
    access.check_call(call, Effect.READ)
    assert asked == []
    access.check_call(call, Effect.NETWORK | Effect.READ)
    reason = "The secret file '.env' was read in this session, and a call of this tool can carry it"
    assert asked == [ApprovalRequest("send", Effect.NETWORK, {"text": "x"}, reason)]
