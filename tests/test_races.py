"""No tool that reads shows what lies outside while another process swaps its files with links."""

from __future__ import annotations

import sys

import pytest

from bench.races import CALLS, naive, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux")


@pytest.mark.parametrize("name", CALLS)
def test_no_tool_shows_what_lies_outside(name: str) -> None:
    race = run(name, "required", seconds=0.4)  # `python -m bench.races` goes on for longer
    assert race.leaks == 0
    assert race.answered > 0


def test_the_attack_works_on_a_naive_read() -> None:
    assert naive(seconds=30).leaks > 0
