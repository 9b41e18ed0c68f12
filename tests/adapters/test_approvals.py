"""Which questions an agreement covers, and which stop the call again."""

import pytest

from toolroll import Effect, Policy
from toolroll.adapters.approvals import NeedsApprovalError, PausedCalls, asks_before
from toolroll.host.approval.request import ApprovalRequest

CALL = ("bash", {"command": "make"})


def request(**more):
    return ApprovalRequest("bash", Effect.SHELL, **{"arguments": CALL[1], "reason": "needs approval", **more})


def test_a_question_stops_a_call_that_nobody_agreed_to(kit):
    paused, asked = PausedCalls(kit), request()
    with pytest.raises(NeedsApprovalError) as stopped:
        paused.approver(*CALL, approved=False)(asked)
    assert stopped.value.request is asked
    assert (paused.is_paused(*CALL), paused.is_paused("bash", {"command": "other"})) == (True, False)
    paused.end(*CALL)
    assert not paused.is_paused(*CALL)


@pytest.mark.parametrize("given", [{"command": "make"}, {"cmd": "make"}], ids=str)
def test_an_agreement_covers_what_the_call_shows(kit, given):
    assert PausedCalls(kit).approver("bash", given, approved=True)(request(runs=("make",))) is True


@pytest.mark.parametrize(
    "more", [{"runs": ("rm x",)}, {"arguments": {"diff": "-x"}}, {"variables": ("PATH=x",)}], ids=str
)
def test_what_the_call_does_not_show_is_asked_on_its_own(kit, more):
    paused, asked = PausedCalls(kit), request(**more)
    with pytest.raises(NeedsApprovalError):
        paused.approver(*CALL, approved=True)(asked)
    assert paused.approver(*CALL, approved=True)(asked) is True


def test_an_agreement_covers_no_question_that_another_conversation_was_shown(kit):
    paused, asked = PausedCalls(kit), request(runs=("rm x",))
    for scope in ("of Ann", "of Bob"):
        with pytest.raises(NeedsApprovalError):
            paused.approver(*CALL, approved=True, scope=scope)(asked)
    paused.end(*CALL, scope="of Bob")
    assert [paused.is_paused(*CALL, scope=scope) for scope in ("of Ann", "of Bob")] == [True, False]
    assert paused.approver(*CALL, approved=True, scope="of Ann")(asked) is True


def test_calls_that_nobody_answers_are_forgotten(kit):
    paused = PausedCalls(kit)
    for number in range(1_001):
        with pytest.raises(NeedsApprovalError):
            paused.approver(*CALL, approved=False, scope=str(number))(request())
    assert [paused.is_paused(*CALL, scope=str(number)) for number in (0, 1, 1_000)] == [False, True, True]


def test_an_agreement_covers_no_other_tool_that_its_program_calls_with_the_same_arguments(kit):
    asked = ApprovalRequest("terminal", Effect.SHELL, CALL[1], "needs approval")
    with pytest.raises(NeedsApprovalError):
        PausedCalls(kit).approver(*CALL, approved=True)(asked)


@pytest.mark.parametrize(
    ("policy", "call", "asks"),
    [
        ("standard", ("write", {}), False),
        ("ask", ("write", {}), True),
        ("ask", ("read", {}), False),
        ("ask", ("bash", None), True),
        ("ask", ("bash", {"command": "ls"}), False),
        ("ask", ("bash", {"command": "make"}), True),
        ("ask", ("no_such", {}), False),
    ],
)
def test_what_is_asked_about_before_it_runs(open_kit, policy, call, asks):
    assert asks_before(open_kit(policy=policy), *call) == asks


def test_a_kit_with_an_approver_asks_by_it(open_kit):
    assert not asks_before(open_kit(policy=Policy(ask=Effect.WRITE), approve=lambda _: True), "write")
