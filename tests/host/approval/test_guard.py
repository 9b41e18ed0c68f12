"""The approver: what it is asked, and what its answers are good for."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace

import pytest

from toolroll import Effect, ToolError
from toolroll.host.approval.guard import ApprovalRequest, CannotAskError, Consent, Guard
from toolroll.host.approval.request import ChangedCall, ParallelApprover, Refusal
from toolroll.policy.decision import Rule
from toolroll.policy.rules import Policy

ASK = Policy(ask=Effect.SHELL)


@pytest.fixture
def asked():
    return []


@pytest.fixture
def kit_that(open_kit, asked):
    """A kit whose approver notes what it is asked and answers with the next of these."""

    def make(*answers, policy=ASK, **options):
        left = list(answers)

        def approve(request):
            asked.append(request.commands)
            answer = left.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return open_kit(policy=policy, approve=approve, **options)

    return make


def run(kit, command):
    result = kit.call("bash", {"command": command})
    return result.error.code if result.error else "ok"


def test_reading_is_not_asked_about_and_changes_are(kit_that, asked, ws):
    kit = kit_that(True, False)
    assert run(kit, "ls | head -3") == "ok"
    assert asked == []
    assert run(kit, "ls; touch a") == "ok"
    assert run(kit, "touch b") == "PermissionDenied"
    assert asked == [("ls; touch a",), ("touch b",)]
    assert [path.name for path in ws.iterdir()] == ["a"]


def test_session_is_for_that_command_in_this_kit(kit_that, asked):
    kit = kit_that("session", True, True)
    assert [run(kit, "git init -q"), run(kit, "git init -q"), run(kit, "git init -q sub")] == ["ok"] * 3
    assert asked == [("git init -q",), ("git init -q sub",)]
    assert run(kit_that(True), "git init -q") == "ok"
    assert len(asked) == 3


def test_always_is_for_every_kit_on_the_workspace(kit_that, asked):
    assert run(kit_that("always"), "touch a") == "ok"
    assert run(kit_that(), "touch a") == "ok"
    assert run(kit_that(False), "touch b") == "PermissionDenied"
    assert asked == [("touch a",), ("touch b",)]


def test_kits_that_are_open_at_once_keep_what_each_was_granted(kit_that, asked):
    first, second = kit_that("always"), kit_that("always")
    assert [run(first, "touch a"), run(second, "touch b")] == ["ok", "ok"]
    assert [run(kit_that(), "touch a"), run(kit_that(), "touch b")] == ["ok", "ok"]
    assert asked == [("touch a",), ("touch b",)]


def test_a_denied_command_is_never_asked_about(kit_that, asked):
    assert run(kit_that(True), "sudo ls") == "SecurityError"
    assert asked == []


def test_a_rule_asks_in_a_policy_that_does_not(kit_that, asked):
    policy = Policy(rules=(Rule("ask", command=("touch",)), Rule("deny", command=("git", "push"), reason="no pushing")))
    kit = kit_that(True, policy=policy)
    assert [run(kit, "mkdir d"), run(kit, "touch a"), run(kit, "git push")] == ["ok", "ok", "SecurityError"]
    assert asked == [("touch a",)]


def test_what_the_user_allows_is_allowed(open_kit):
    kit = open_kit(policy=Policy(rules=(Rule("allow", command=("curl", "--version")),)))
    assert run(kit, "curl --version") != "SecurityError"
    assert run(kit, "curl http://example.org") == "SecurityError"


def test_tools_that_only_this_call_may_use(kit_that, asked):
    kit = kit_that(True, "always", policy=Policy(ask=Effect.WRITE))
    for name in "abc":
        assert kit.call("write", {"path": name, "content": "x"}).ok
    assert len(asked) == 2
    assert kit_that(policy=Policy(ask=Effect.WRITE)).call("write", {"path": "d", "content": "x"}).ok


# Who was asked.

DECLINED = "The user was asked and declined."
NOT_ASKED = "The user was not asked, because"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (False, DECLINED),
        (None, DECLINED),
        ("no", DECLINED),
        ("deny", DECLINED),
        ("yes", DECLINED),
        (0, DECLINED),
        (Refusal(" "), DECLINED),
        (Refusal("use {a.txt}\n"), "The user was asked and declined ('use {a.txt}'). Do not try it in another way"),
        (CannotAskError("the screen is off."), f"{NOT_ASKED} the screen is off. Go on without it"),
        (EOFError(), f"{NOT_ASKED} asking failed (EOFError)"),
        (TimeoutError(), f"{NOT_ASKED} asking failed (TimeoutError)"),
    ],
)
@pytest.mark.parametrize(
    ("name", "arguments"), [("write", {"path": "a", "content": "x"}), ("bash", {"command": "touch a"})]
)
def test_a_refusal_says_who_was_asked(kit_that, ws, name, arguments, answer, said):
    result = kit_that(answer, policy="ask").call(name, arguments)
    assert result.error.code == "PermissionDenied"
    assert said in result.text
    assert list(ws.iterdir()) == []


def test_without_an_approver_it_is_refused(open_kit):
    result = open_kit(policy="ask").call("bash", {"command": "touch a"})
    assert result.error.code == "PermissionDenied"
    assert f"{NOT_ASKED} no approver is set up here. Go on without it, or tell the user" in result.text


def test_an_approver_that_fails_runs_nothing_and_can_be_asked_again(kit_that, ws):
    kit = kit_that(ValueError("broken"), True)
    with pytest.raises(ValueError, match="broken"):
        run(kit, "touch a")
    assert list(ws.iterdir()) == []
    assert run(kit, "touch a") == "ok"


def test_one_answer_serves_those_who_wait_for_it(open_kit):
    seen, first = [], threading.Event()

    def approve(request):
        seen.append(request)
        assert first.wait(10)
        return "session"

    kit = open_kit(policy="ask", approve=approve)
    calls = [threading.Thread(target=kit.call, args=("write", {"path": str(n), "content": "x"})) for n in range(4)]
    for one in calls:
        one.start()
    first.set()
    for one in calls:
        one.join(20)
    assert len(seen) == 1


def test_an_approver_of_several_at_once_gets_them_at_once(open_kit):
    together = threading.Barrier(3)
    kit = open_kit(policy="ask", approve=ParallelApprover(lambda _request: together.wait(10) >= 0))
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda n: kit.call("write", {"path": str(n), "content": "x"}), range(3)))
    assert [one.status for one in results] == ["success"] * 3


# A call that the person has changed.


@pytest.mark.parametrize(
    ("name", "given", "changed"),
    [
        ("bash", {"command": "touch a"}, {"command": "touch b"}),
        ("write", {"path": "a", "content": "x"}, {"path": "b", "content": "x"}),
        ("call_tool", {"name": "write", "arguments": {"path": "a", "content": "x"}}, {"path": "b", "content": "y"}),
    ],
)
def test_a_changed_call_runs_in_place_of_the_first(kit_that, asked, ws, name, given, changed):
    result = kit_that(ChangedCall(changed), policy="ask").call(name, given)
    assert (result.ok, len(asked), [path.name for path in ws.iterdir()]) == (True, 1, ["b"])
    tool = "write" if name == "call_tool" else name
    assert result.text.endswith(f"[The user changed the call: {tool} {json.dumps(changed, separators=(',', ':'))}]")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"command": "sudo touch b"}, "SecurityError"),
        ({"command": "git push"}, "SecurityError"),
        ({"cmmand": 3}, "ValidationError"),
        ({"command": "touch " + "b" * 100_000}, "TooLarge"),
    ],
)
def test_a_changed_call_is_judged_from_the_start(kit_that, asked, ws, changed, said):
    policy = replace(ASK, rules=(Rule("deny", command=("git", "push")),))
    result = kit_that(ChangedCall(changed), policy=policy).call("bash", {"command": "touch a"})
    assert (result.error.code, len(asked), list(ws.iterdir())) == (said, 1, [])
    assert "[The user changed the call: bash " in result.text


def test_a_changed_call_is_allowed_once(kit_that, asked):
    kit = kit_that(ChangedCall({"command": "touch b"}), False, False)
    assert [run(kit, "touch a"), run(kit, "touch b"), run(kit, "touch a")] == ["ok", *["PermissionDenied"] * 2]
    assert asked == [("touch a",), ("touch b",), ("touch a",)]


def test_a_hook_that_changes_a_changed_call_is_asked_about(kit_that, asked, ws):
    kit = kit_that(ChangedCall({"command": "touch b"}), False)
    kit.before(lambda call: {"command": "touch c"} if call.arguments["command"] == "touch b" else None)
    assert run(kit, "touch a") == "PermissionDenied"
    assert (asked, list(ws.iterdir())) == ([("touch a",), ("touch c",)], [])


def test_what_is_not_a_whole_call_cannot_be_changed():
    request = ApprovalRequest("write", Effect.WRITE, {"path": "a"}, "is run by direnv")
    assert Guard(Policy(), "code", lambda _: ChangedCall({"path": "b"})).ask(request) is Consent.DECLINED


# Questions of their own kind.


def test_a_question_of_its_own_kind(asked):
    guard = Guard(Policy(), "code", lambda request: asked.append(request.key) or "session")
    first = ApprovalRequest("write", Effect.WRITE, {"path": ".envrc"}, "is run by direnv", key=("autorun", ".envrc"))
    guard.require(first)
    guard.require(first)
    guard.require(replace(first, key=("secret", ".envrc")))
    guard.require(replace(first, key=()))
    guard.require(replace(first, key=()))
    assert asked == [("autorun", ".envrc"), ("secret", ".envrc"), (), ()]


def test_what_became_of_a_question_can_be_decided_upon():
    request = ApprovalRequest("write", Effect.WRITE, {}, "is run by direnv")

    def cannot(_request):
        raise CannotAskError("no")

    approvers = (lambda _: True, lambda _: False, cannot, None)
    found = [Guard(Policy(), "code", approve).ask(request) for approve in approvers]
    assert found == [Consent.GIVEN, Consent.DECLINED, Consent.NOT_ASKED, Consent.NOT_ASKED]


# The user's own rules.


@pytest.mark.parametrize(
    ("policy", "mode", "effects", "about_paths", "passes"),
    [
        (Policy(), "code", Effect.READ, True, True),
        (Policy(), "code", Effect.SHELL, False, True),
        (Policy(), "thinking", Effect.READ, False, True),
        (Policy(), "thinking", Effect.WRITE, False, False),
        (Policy(ask=Effect.WRITE), "code", Effect.WRITE, False, False),
        (Policy(ask=Effect.WRITE), "code", Effect.READ, False, True),
        (Policy(deny=Effect.READ), "code", Effect.READ, False, False),
        (Policy(rules=(Rule("deny", path="secret"),)), "code", Effect.READ, True, False),
        (Policy(rules=(Rule("deny", path="secret"),)), "code", Effect.READ, False, True),
        (Policy(rules=(Rule("deny", command=("rm",)),)), "code", Effect.READ, True, True),
    ],
)
def test_which_calls_need_no_further_look(policy, mode, effects, about_paths, passes):
    assert Guard(policy, mode).always_passes(effects, about_paths=about_paths) is passes


def test_consent_says_what_became_of_the_question():
    request = ApprovalRequest("write", Effect.WRITE, {}, "needs approval")
    assert Guard(Policy(), "code").ask(request) is Consent.NOT_ASKED
    for answer, consent in ((True, Consent.GIVEN), ("once", Consent.GIVEN), (False, Consent.DECLINED)):
        assert Guard(Policy(), "code", lambda _request, answer=answer: answer).ask(request) is consent


def test_an_approver_cannot_change_what_runs():
    def approve(request):
        request.arguments["list"].append("more")
        with pytest.raises(FrozenInstanceError):
            request.runs = ("other",)
        return True

    arguments = {"list": ["one"]}
    Guard(Policy(), "code", approve).require(ApprovalRequest("write", Effect.WRITE, arguments, "needs approval"))
    assert arguments == {"list": ["one"]}


def test_paths_are_judged_one_by_one(asked):
    rules = (Rule("ask", path="src", effect="write"), Rule("deny", path="secret", reason="keep out"))
    guard = Guard(Policy(rules=rules), "code", lambda request: asked.append(request) or True)
    paths = [("a.py",), ("src", "b.py")]
    guard.authorise_paths("write", Effect.WRITE, {"path": "x"}, lambda: paths, "put")
    (request,) = asked
    assert request.reason == "needs approval for 'src/b.py'"
    assert request.key == ("path", "write", "put", "src/b.py", "src", "write", "")
    assert request.covers == "every call of 'write' with the action 'put' at 'src/b.py'"
    guard.authorise_paths("read", Effect.READ, {}, lambda: paths)
    assert len(asked) == 1
    with pytest.raises(ToolError, match=r"^'secret/key' is not allowed by a rule \(keep out\). Use another path.$"):
        guard.authorise_paths("read", Effect.READ, {}, lambda: [("secret", "key")])


def test_what_is_allowed_denied_and_asked_by_its_effects(asked):
    def approve(request):
        asked.append(request)
        return True

    guard = Guard(Policy(ask=Effect.WRITE, deny=Effect.NETWORK), "code", approve)
    assert guard.approver is approve
    guard.authorise("read", Effect.READ, {})
    assert asked == []
    guard.authorise("write", Effect.WRITE, {"path": "a"}, "make")
    assert [(one.key, one.covers) for one in asked] == [
        (("tool", "write", "make"), "every call of 'write' with the action 'make'")
    ]
    with pytest.raises(ToolError, match=r"^Tool .*: 'fetch'\. Use another or ask the user\.$") as denied:
        guard.authorise("fetch", Effect.NETWORK, {})
    assert (denied.value.code, len(asked)) == ("PermissionDenied", 1)
    assert [guard.always_passes(one, about_paths=True) for one in (Effect.READ, Effect.WRITE)] == [True, False]
    by_path = Guard(Policy(rules=(Rule("deny", path="x"),)), "code")
    assert [by_path.always_passes(Effect.READ, about_paths=one) for one in (True, False)] == [False, True]
    assert by_path.approver is None
