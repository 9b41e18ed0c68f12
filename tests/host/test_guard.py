"""The approver: what it is asked, and what its answers are good for."""

import pytest

from toolroll import Effect
from toolroll.host import settings
from toolroll.policy.commands import Rule
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
            return left.pop(0)

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
    assert asked == [("touch a",), ("touch b",)]
    assert [path.name for path in ws.iterdir()] == ["a"]


def test_without_an_approver_nobody_agrees(open_kit):
    assert run(open_kit(policy=ASK), "touch a") == "PermissionDenied"


def test_session_is_for_that_command_in_this_kit(kit_that, asked):
    kit = kit_that("session", True, True)
    assert [run(kit, "git init -q"), run(kit, "git init -q sub"), run(kit, "git init -q; touch x")] == ["ok"] * 3
    assert asked == [("git init -q",), ("touch x",)]
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
    assert run(kit_that(), "touch a; touch b") == "ok"
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
    assert run(kit, "curl http://127.0.0.1:1") == "SecurityError"


def test_tools_that_only_this_call_may_use(kit_that, asked):
    kit = kit_that(True, "always", policy=Policy(ask=Effect.WRITE))
    for name in "abc":
        assert kit.call("write", {"path": name, "content": "x"}).ok
    assert len(asked) == 2
    assert kit_that(policy=Policy(ask=Effect.WRITE)).call("write", {"path": "d", "content": "x"}).ok


def test_the_user_s_rules_are_read_from_a_file(open_kit, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "toolroll" / settings.FILE
    assert settings.path() == str(file)
    assert settings.rules() == ()
    file.parent.mkdir()
    file.write_text('[[rule]]\ndecision = "deny"\ncommand = "make deploy"\nreason = "by hand only"\n')
    result = open_kit().call("bash", {"command": "true && make deploy"})
    assert result.error.code == "SecurityError"
    assert "by hand only" in result.text
    file.write_text("[[rule]]\ndecision = 'perhaps'\ncommand = 'x'\n")
    with pytest.raises(ValueError, match=settings.FILE):
        open_kit()


def test_a_rule_whose_example_is_wrong_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "toolroll").mkdir()
    rule = '[[rule]]\ndecision = "deny"\ncommand = "git push"\nmatch = ["git pull"]\n'
    (tmp_path / "toolroll" / settings.FILE).write_text(rule)
    with pytest.raises(ValueError, match="git pull"):
        settings.rules()
