"""Cancellations that arrive before their call: which of them cancel it, and how many are kept."""

import pytest

from tests.values import assert_values
from toolroll.mcp.http import cancellations
from toolroll.mcp.http.cancellations import EarlyCancellations


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def early(clock: Clock) -> EarlyCancellations:
    return EarlyCancellations(clock)


@pytest.mark.parametrize(("cancelled", "begun"), [(7, 7), ("7", 7), (7, "7"), ("a", "a")])
def test_it_cancels_the_call_that_follows_once(early, cancelled, begun):
    early.add("s", cancelled)
    assert [early.begin("s", begun), early.begin("s", begun)] == [True, False]


def test_it_cancels_no_other_call(early):
    early.add("s", 7)
    assert [early.begin("s", 8), early.begin("other", 7), early.begin("s", 7)] == [False, False, True]


@pytest.mark.parametrize(("share", "cancels"), [(0.9, True), (1.1, False)])
def test_it_expires(early, clock, share, cancels):
    early.add("s", 7)
    clock.now += share * cancellations.EARLY_CANCELLATION_TIMEOUT_S
    assert early.begin("s", 7) is cancels


def test_an_id_that_is_used_again_is_not_cancelled_by_what_was_meant_for_the_first_call(early):
    assert early.begin("s", 7) is False
    early.add("s", 7)
    early.add("s", "7")
    assert early.begin("s", 7) is False


def test_a_flood_keeps_the_newest_of_its_session_and_all_of_others(early):
    most = cancellations.MAX_IDS_PER_SESSION
    early.add("other", 1)
    for number in range(10 * most):
        early.add("s", number)
    assert [number for number in range(10 * most) if early.begin("s", number)] == list(range(9 * most, 10 * most))
    assert early.begin("other", 1)


def test_only_so_many_sessions_are_kept(early):
    most = cancellations.MAX_SESSIONS_WITH_IDS
    for number in range(most + 1):
        early.add(f"s{number}", 7)
    assert [early.begin(f"s{number}", 7) for number in (1, most, 0)] == [True, True, False]


def test_ids_that_have_begun_are_bounded_too(early):
    """An id that was dropped counts as new."""
    for number in range(cancellations.MAX_IDS_PER_SESSION + 1):
        early.begin("s", number)
    for number in (0, 1):
        early.add("s", number)
    assert [early.begin("s", number) for number in (0, 1)] == [True, False]


def test_a_huge_id_is_not_kept(early):
    early.add("s", "x" * 129)
    early.add("s", "x" * 128)
    assert [early.begin("s", "x" * 129), early.begin("s", "x" * 128)] == [False, True]


def test_values_stay_as_they_are():
    assert_values(cancellations, "_SessionIds")
