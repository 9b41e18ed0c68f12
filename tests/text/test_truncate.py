"""The one function that holds an output to a budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.text.truncate import bound, bound_lines

TEXT = "".join(f"line {n}\n" for n in range(1000))


def test_what_fits_is_not_touched():
    assert bound("abc", 3).text == "abc"
    assert bound("abc", 3).cut == 0


@pytest.mark.parametrize(
    ("keep", "first", "last"),
    [("head", True, False), ("tail", False, True), ("middle", True, True)],
)
def test_the_kept_part_is_whole_lines(keep, first, last):
    found = bound(TEXT, 500, keep)
    shown = [line for line in found.text.split("\n") if line and not line.startswith("[Output truncated...]")]
    assert ("line 0" in shown, "line 999" in shown) == (first, last)
    assert set(shown) <= set(TEXT.split("\n"))


def test_lines_are_kept_at_both_ends():
    assert bound_lines("a\nb\nc", 3) == "a\nb\nc"
    assert bound_lines("a\nb\nc\nd", 3) == "a\n[Output truncated...] The middle is left out.\nd"


@given(st.text(alphabet="ab\n", max_size=400), st.integers(61, 300), st.sampled_from(["head", "tail", "middle"]))
def test_the_budget_holds_and_the_count_is_true(text, most, keep):
    found = bound(text, most, keep)
    assert len(found.text) <= most + 10
    if len(text) > most:
        assert found.cut > 0
        assert f"{found.cut} of {len(text)}" in found.text
