"""The token estimate."""

import pytest

from toolroll.text.tokens import estimate


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("x" * 4000, 1000)])
def test_four_characters_are_a_token(text: str, tokens: int) -> None:
    assert estimate(text) == tokens
