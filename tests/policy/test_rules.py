"""The operator's rules over effects and paths."""

import pytest

from toolroll.policy.commands import Rule
from toolroll.policy.effects import Effect
from toolroll.policy.rules import PRESETS, Policy, judge, judge_path

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
