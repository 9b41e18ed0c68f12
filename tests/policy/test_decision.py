"""Decisions: their order is their strictness."""

from toolroll.policy.decision import DECISIONS


def test_the_strictest_decision_is_the_maximum():
    assert DECISIONS == ("allow", "ask", "deny")
    assert sorted(DECISIONS) == list(DECISIONS)
    assert max("ask", "deny", "allow") == "deny"
