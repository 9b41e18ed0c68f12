"""Changes are judged by what happened to which files."""

from __future__ import annotations

import msgspec
import pytest

from toolroll.policy.commit_rules import CommitRule, FileEffect, judge_effects

DELETED = [FileEffect(f"{n}.txt", "delete") for n in range(21)]


@pytest.mark.parametrize(
    ("effects", "decision"),
    [
        ([], "allow"),
        ([FileEffect("a", "create"), FileEffect("b", "modify"), FileEffect("c", "mode")], "allow"),
        ([FileEffect("a", "modify", untracked=True)], "ask"),
        (DELETED[:20], "allow"),
        (DELETED, "ask"),
        ([FileEffect(".envrc", "create", auto_run=True)], "ask"),
    ],
)
def test_what_holds_without_rules(effects: list[FileEffect], decision: str) -> None:
    assert judge_effects(effects).decision == decision


@pytest.mark.parametrize(
    ("rule", "effect", "fits"),
    [
        ({"effect": "delete"}, FileEffect("a", "delete"), True),
        ({"effect": "delete"}, FileEffect("a", "modify"), False),
        ({"path": "migrations/**"}, FileEffect("migrations/1.py", "create"), True),
        ({"path": "migrations/**"}, FileEffect("a.py", "create"), False),
        ({"size": ">=100"}, FileEffect("a", "create", size=100), True),
        ({"size": ">=100"}, FileEffect("a", "create", size=99), False),
        ({"executable": True}, FileEffect("a", "create", executable=True), True),
        ({"executable": True}, FileEffect("a", "create"), False),
        ({"effect": "create", "untracked": False}, FileEffect("a", "create"), True),
        ({"count": "<1"}, FileEffect("a", "create"), False),
    ],
)
def test_a_rule_is_about_what_all_its_keys_fit(rule: dict[str, object], effect: FileEffect, fits: bool) -> None:
    rules = [CommitRule(decision="allow"), msgspec.convert({"decision": "deny", "reason": "no", **rule}, CommitRule)]
    found = judge_effects([effect], rules)
    assert (found.decision, found.paths) == (("deny", (effect.path,)) if fits else ("allow", ()))


def test_the_reason_names_the_files_of_the_strictest_rule() -> None:
    rules = [CommitRule(decision="allow", effect="create"), CommitRule(decision="ask", effect="delete", reason="gone")]
    effects = [FileEffect("new", "create"), *DELETED[:7], FileEffect("other", "modify")]
    said = judge_effects(effects, rules).reason
    assert said.startswith("delete '0.txt', delete '1.txt'")
    assert said.endswith("and 3 more (gone; no rule is about it)")


@pytest.mark.parametrize("wrong", [{"count": "20"}, {"size": ">1MB"}, {"effect": "push"}, {"paths": "a"}])
def test_a_rule_that_is_wrong_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"decision": "ask", **wrong}, CommitRule)
