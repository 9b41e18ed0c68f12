"""Decisions, rules and verdicts: their order, and that they are values."""

from dataclasses import FrozenInstanceError

import pytest

from toolroll.policy.decision import DECISIONS, Rule, Verdict


def test_the_strictest_decision_is_the_maximum():
    assert DECISIONS == ("allow", "ask", "deny")
    assert sorted(DECISIONS) == list(DECISIONS)
    assert max("ask", "deny", "allow") == "deny"


@pytest.mark.parametrize("value", [Rule("deny", ("rm",)), Verdict("deny")], ids=["rule", "verdict"])
def test_nothing_changes_a_decision_once_it_is_made(value):
    with pytest.raises(FrozenInstanceError):
        value.decision = "allow"
    assert not hasattr(value, "__dict__")
    assert len({value, value}) == 1


def test_a_verdict_names_the_rule_that_decided():
    rule = Rule("ask", path="src")
    assert rule.exact is False
    assert Verdict("ask", "needs approval", rule=rule).rule is rule
    assert Verdict("ask").rule is None
    with pytest.raises(TypeError):
        Verdict("ask", "needs approval", rule)
