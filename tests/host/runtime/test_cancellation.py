"""Cancellation and deadlines."""

import pytest

from toolroll import Token, ToolError


def test_work_under_a_new_token_goes_on():
    token = Token()
    token.check()
    assert (token.cancelled, token.deadline, token.remaining()) == (False, None, float("inf"))


@pytest.mark.parametrize("check", [Token.check, lambda token: token.limit(60)])
def test_what_was_cancelled_or_is_late_neither_goes_on_nor_begins(check):
    cancelled, late = Token(), Token(-1)
    cancelled.cancel()
    with pytest.raises(ToolError, match="was cancelled") as stopped:
        check(cancelled)
    assert stopped.value.code == "Cancelled"
    with pytest.raises(ToolError, match="longer than its time limit") as stopped:
        check(late)
    assert stopped.value.code == "TimeoutError"


def test_of_two_limits_the_earlier_one_holds():
    token = Token(10)
    first = token.deadline
    token.limit(60)
    assert token.deadline == first
    token.limit(5)
    assert token.deadline < first
    assert 4 < token.remaining() <= 5
