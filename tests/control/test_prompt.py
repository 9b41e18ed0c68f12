from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from toolroll import Effect, ErrorCode, Kit
from toolroll.control.prompt import (
    CHOICES,
    CHOICES_ONCE,
    ApprovalPrompt,
    build_prompt,
    make_approver,
    parse_answer,
)
from toolroll.host.approval.request import ApprovalRequest
from toolroll.host.approval.waiting import WaitingApprovals
from toolroll.host.runtime.cancellation import CancelToken

Put = Callable[[dict[str, str | bytes]], None]


@pytest.fixture
def asked(open_kit: Any) -> Any:
    """A kit that asks about all, what it asked, and the answers that it gets."""

    def make(*answers: str, dialect: str = "native") -> tuple[Kit, list[ApprovalPrompt]]:
        questions: list[ApprovalPrompt] = []
        rest = iter(answers)

        def ask(question: ApprovalPrompt, _withdrawn: CancelToken) -> str:
            questions.append(question)
            return next(rest)

        kit: Kit = open_kit(
            dialect, policy="ask", approve=make_approver(lambda: kit, ask, WaitingApprovals(), CancelToken())
        )
        return kit, questions

    return make


DIFFS = [
    ("native", "edit", {"path": "a.txt", "old": "two", "new": "2"}, "a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"),
    ("native", "write", {"path": "new/b.txt", "content": "x\n"}, "new/b.txt\n@@ -1,0 +1,1 @@\n+x"),
    ("native", "insert", {"path": "a.txt", "line": 2, "content": "1.5"}, "a.txt\n@@ -1,3 +1,4 @@\n one\n+1.5\n two\n three"),
    ("coding-agent", "file", {"action": "edit", "path": "a.txt", "old_string": "two", "new_string": "2"}, "a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "name", "arguments", "diff"), DIFFS)
def test_the_diff_is_shown_and_nothing_changes_before(
    asked: Any, put: Put, ws: Path, dialect: str, name: str, arguments: dict[str, Any], diff: str
) -> None:
    put({"a.txt": "one\ntwo\nthree\n"})
    kit, questions = asked("maybe", "n", "y", dialect=dialect)
    refused = kit.call(name, arguments)
    assert refused.error is not None
    assert refused.error.code is ErrorCode.PERMISSION
    assert (ws / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert [path.name for path in ws.iterdir()] == ["a.txt"]
    assert [one.diff for one in questions] == [diff] * 2
    assert questions[0].text.startswith(f"{name}: needs approval\n\n")
    assert [key for key in arguments if f"\n{key}:" not in questions[0].text] == []
    assert kit.call(name, arguments).ok
    assert questions[2] == questions[0]


def test_a_command_is_shown_as_it_runs(asked: Any) -> None:
    kit, questions = asked("n")
    kit.call("bash", {"command": "mkdir a &&\nrmdir a"})
    assert len(questions) == 1
    assert "command:\n  | mkdir a &&\n  | rmdir a\n" in questions[0].text
    assert not questions[0].diff


def test_a_change_that_cannot_be_shown_as_a_diff_is_shown_in_full(asked: Any, put: Put) -> None:
    put({"a.txt": "x\n"})
    kit, questions = asked("n")
    kit.call("edit", {"path": "a.txt", "old": "nothing like it", "new": "y"})
    covers = '"session" and "always" cover every call of \'edit\'.'
    assert questions == [
        ApprovalPrompt(f"edit: needs approval\n\npath: a.txt\nold: nothing like it\nnew: y\n\n{covers}", CHOICES)
    ]


def test_a_long_diff_hides_nothing(asked: Any, put: Put) -> None:
    """The diff is for the eye and is cut; the text is not."""
    put({"a.txt": "".join(f"{number}\n" for number in range(300))})
    kit, questions = asked("n")
    content = "".join(f"new {number}\n" for number in range(300))
    kit.call("write", {"path": "a.txt", "content": content})
    assert "new 299" not in questions[0].diff
    assert all(f"\n  | new {number}\n" in questions[0].text for number in range(300))
    assert "path: a.txt\n" in questions[0].text


def test_hidden_characters_of_a_diff_and_of_its_paths_are_shown(asked: Any) -> None:
    kit, questions = asked("n")
    kit.call("write", {"path": "a\u202e\n.txt", "content": "x\u200b\n"})
    assert questions[0].diff == "a\\u202e\\n.txt\n@@ -1,0 +1,1 @@\n+x\\u200b"


def test_what_is_not_remembered_offers_only_yes_and_no(kit: Kit) -> None:
    assert build_prompt(ApprovalRequest("x", Effect.RUN, {}, "needs approval"), kit).choices == CHOICES_ONCE


def test_for_the_session(asked: Any, put: Put) -> None:
    put({"a.txt": "x\n"})
    kit, questions = asked("s")
    assert kit.call("write", {"path": "a.txt", "content": "y"}).ok
    assert kit.call("write", {"path": "a.txt", "content": "z"}).ok
    assert len(questions) == 1


def test_the_terminal_asks_one_after_the_other_and_not_about_what_is_settled(open_kit: Any) -> None:
    approvals, shown = WaitingApprovals(), list[str]()

    def ask(question: ApprovalPrompt, _withdrawn: CancelToken) -> str:
        shown.append(question.text)
        until(lambda: len(approvals.all()) == 3)  # all wait at once
        return "s"

    kit = open_kit(policy="ask", approve=make_approver(lambda: kit, ask, approvals, CancelToken()))
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda n: kit.call("write", {"path": str(n), "content": "x"}), range(3)))
    assert ([one.status for one in results], len(shown)) == (["success"] * 3, 1)


def test_nobody_is_there(open_kit: Any) -> None:
    kit = open_kit(policy="ask", approve=make_approver(lambda: kit, None, WaitingApprovals(), CancelToken()))
    result = kit.call("write", {"path": "a", "content": "x"})
    assert result.error.code is ErrorCode.PERMISSION
    assert "The user was not asked, because there is no terminal to ask on" in result.text
    assert "--yes" in result.text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("y\n", "once"),
        (" YES ", "once"),
        ("n", "no"),
        ("", "no"),
        ("s", "session"),
        ("always\n", "always"),
        ("what", None),
    ],
)
def test_answers(typed: str, meant: Any) -> None:
    assert parse_answer(typed) == meant
