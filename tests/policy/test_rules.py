"""The operator's rules over effects and paths."""

from dataclasses import FrozenInstanceError, replace

import pytest

from tests.values import assert_values
from toolroll.policy import rules as module
from toolroll.policy.decision import Rule
from toolroll.policy.effects import EVERYTHING, Effect
from toolroll.policy.rules import MODES, PRESETS, Policy, has_paths, judge, judge_path

READ, WRITE, SHELL, NETWORK = Effect.READ, Effect.WRITE, Effect.SHELL, Effect.NETWORK


@pytest.mark.parametrize(
    ("policy", "mode", "effects", "decision"),
    [
        (PRESETS["standard"], "code", READ | WRITE | SHELL | NETWORK, "allow"),
        (PRESETS["standard"], "thinking", READ, "allow"),
        (PRESETS["standard"], "thinking", READ | WRITE, "deny"),
        (PRESETS["standard"], "thinking", SHELL, "deny"),
        (PRESETS["ask"], "code", READ, "allow"),
        (PRESETS["ask"], "code", WRITE, "ask"),
        (PRESETS["ask"], "code", SHELL, "allow"),  # each command is asked about where it runs
        (PRESETS["ask"], "code", Effect.RUN, "ask"),
        (PRESETS["read-only"], "code", SHELL, "deny"),
        (Policy(rules=(Rule("deny", effect="network"),)), "code", NETWORK, "deny"),
        (Policy(rules=(Rule("deny", effect="network"),)), "code", READ, "allow"),
        (Policy(ask=WRITE, rules=(Rule("allow", effect="write"),)), "code", WRITE, "allow"),
        (Policy(ask=WRITE | NETWORK, rules=(Rule("allow", effect="write"),)), "code", WRITE | NETWORK, "ask"),
        (Policy(ask=WRITE | NETWORK, rules=(Rule("allow"),)), "code", WRITE | NETWORK, "allow"),
        (replace(PRESETS["ask"], rules=(Rule("allow", effect="read"),)), "code", EVERYTHING, "ask"),
        (PRESETS["standard"], "thinking", EVERYTHING, "deny"),
        (PRESETS["read-only"], "code", EVERYTHING, "deny"),
        (Policy(rules=(Rule("allow", effect="write"), Rule("ask", effect="write"))), "code", WRITE, "ask"),
        (Policy(deny=WRITE, rules=(Rule("allow", effect="write"),)), "code", WRITE, "deny"),
        (Policy(rules=(Rule("deny", command=("git", "push")),)), "code", SHELL, "allow"),
    ],
)
def test_effects(policy, mode, effects, decision):
    assert judge(effects, mode, policy).decision == decision


@pytest.mark.parametrize(
    ("pattern", "path", "hit"),
    [
        ("secrets", "secrets", True),
        ("secrets", "secrets/a/b", True),
        ("secrets", "deep/secrets/a", True),
        ("secrets", "secrets.txt", False),
        ("secrets/**", "secrets/a/b", True),
        ("./secrets/", "secrets/a", True),
        ("*.pem", "keys/a.pem", True),
        ("*.pem", "a.pem.txt", False),
        ("config/prod.*", "config/prod.toml", True),
        ("config/prod.*", "other/config/prod.toml", False),
    ],
)
def test_paths(pattern, path, hit):
    policy = Policy(rules=(Rule("deny", path=pattern, reason="private"),))
    verdict = judge_path(path.split("/"), READ, policy)
    assert verdict.decision == ("deny" if hit else "allow")
    assert ("private" in verdict.reason) == hit


def test_a_rule_about_a_path_and_an_effect_needs_both():
    policy = Policy(rules=(Rule("deny", path="docs", effect="write"),))
    assert judge_path(["docs", "a"], WRITE, policy).decision == "deny"
    assert judge_path(["docs", "a"], READ, policy).decision == "allow"


def test_path_rules_hold_in_every_tool(open_kit, put, ws):
    put({"secret/key.txt": "needle\n", "open.txt": "needle\n", "log/a.txt": "x\n"})
    (ws / "link.txt").symlink_to("secret/key.txt")
    rules = (Rule("deny", path="secret"), Rule("deny", path="log", effect="write"))
    kit = open_kit(policy=Policy(rules=rules))
    for name, arguments in [
        ("read", {"path": "secret/key.txt"}),
        ("read", {"path": "link.txt"}),
        ("write", {"path": "secret/new.txt", "content": "x"}),
        ("edit", {"path": "log/a.txt", "old": "x", "new": "y"}),
        ("delete", {"path": "secret/key.txt"}),
    ]:
        assert kit.call(name, arguments).error.code == "PermissionDenied", name
    assert kit.call("read", {"path": "log/a.txt"}).ok
    found = kit.call("grep", {"pattern": "needle"})
    assert [row["path"] for row in found.data["rows"]] == ["open.txt"]
    assert (ws / "secret/key.txt").read_text() == "needle\n"


@pytest.mark.parametrize(
    ("policy", "mode", "effects", "reason"),
    [
        (Policy(), "code", WRITE, ""),
        (Policy(), "thinking", WRITE, "not allowed in thinking mode"),
        (Policy(deny=WRITE), "code", WRITE, "not allowed by the policy"),
        (Policy(ask=WRITE), "code", WRITE, "needs approval"),
        (Policy(rules=(Rule("deny", effect="write", reason="later"),)), "code", WRITE, "not allowed by a rule (later)"),
        (Policy(rules=(Rule("deny", effect="write"),)), "code", WRITE, "not allowed by a rule"),
        (Policy(rules=(Rule("ask", effect="write", reason="look"),)), "code", WRITE, "needs approval (look)"),
        (Policy(rules=(Rule("allow", effect="write", reason="fine"),)), "code", WRITE, ""),
    ],
)
def test_reasons(policy, mode, effects, reason):
    verdict = judge(effects, mode, policy)
    assert verdict.reason == reason
    assert verdict.rule == (policy.rules[0] if policy.rules else None)


def test_rules_about_paths_and_commands_do_not_count_for_effects():
    rules = (Rule("deny", path="a", effect="write"), Rule("deny", command=("rm",), effect="write"))
    assert judge(WRITE, "code", Policy(rules=rules)).decision == "allow"
    assert judge_path(["b"], WRITE, Policy(rules=(Rule("deny", effect="write"),))).decision == "allow"


def test_the_strictest_rule_of_a_path_decides():
    rules = (Rule("allow", path="a"), Rule("deny", path="a/b"), Rule("ask", path="a"))
    policy = Policy(rules=rules)
    assert judge_path(["a", "x"], READ, policy).rule is rules[2]
    assert judge_path(["a", "b"], READ, policy).rule is rules[1]
    assert judge_path(["c"], READ, policy).rule is None


def test_whether_any_rule_is_about_paths():
    assert not has_paths(Policy())
    assert not has_paths(Policy(rules=(Rule("deny", effect="write"),)))
    assert has_paths(Policy(rules=(Rule("deny", effect="write"), Rule("ask", path="a"))))


def test_what_an_operator_gets_without_asking():
    """The defaults are the safe side: a sandbox is required, and there is no network and no wide workspace."""
    policy = Policy()
    assert (policy.sandbox, policy.network, policy.wide, policy.taint) == ("required", False, False, "secrets")
    assert (policy.ask, policy.deny, policy.rules, policy.hosts, policy.readable) == (
        Effect.NONE,
        Effect.NONE,
        (),
        (),
        (),
    )
    assert policy.protected == (".git", ".hg", ".svn", ".jj")
    assert MODES["thinking"] == READ | NETWORK
    with pytest.raises(FrozenInstanceError):
        policy.network = True


def test_values_stay_as_they_are():
    assert_values(module)


def test_a_command_may_be_one_text():
    assert Rule("deny", command="git push") == Rule("deny", command=("git", "push"))
