"""The rows of a search as they are shown."""

import pytest

from toolroll.host.search.grep_report import RowWindow
from toolroll.host.search.query import GrepRow

ROWS = [
    GrepRow("a", 1, 0, "x"),
    GrepRow("a", 2, 1, "m"),
    GrepRow("a", 3, 0, "y"),
    GrepRow("a", 9, 1, "n"),
    GrepRow("b", 4, 1, "m"),
]


@pytest.mark.parametrize(
    ("window", "lines"),
    [
        ((0, 9, "content", "matches"), [1, 2, 3, 9, 4]),
        ((0, 1, "content", "matches"), [1, 2, 3]),
        ((1, 1, "content", "matches"), [9]),
        ((1, 9, "content", "matches"), [9, 4]),
        ((0, 2, "content", "lines"), [1, 2]),
        ((1, 2, "content", "lines"), [2, 3]),
        ((5, 2, "content", "lines"), []),
        ((0, 1, "files", "lines"), [1, 2, 3, 9]),
        ((1, 1, "count", "matches"), [4]),
    ],
)
def test_a_window_counts_matches_lines_or_files(window, lines):
    assert [row.line for row in RowWindow(*window, numbers=True).select(ROWS)] == lines
