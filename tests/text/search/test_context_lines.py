"""Context lines beside their matches."""

from toolroll.host.search.query import GrepRow
from toolroll.text.search.context_lines import attach_context


def test_context_ends_at_another_match_a_gap_and_another_file():
    rows = [
        *(GrepRow("a", 1, 0, "x"), GrepRow("a", 2, 1, "m"), GrepRow("a", 3, 1, "m"), GrepRow("a", 4, 0, "y")),
        *(GrepRow("a", 8, 0, "z"), GrepRow("a", 9, 2, "m"), GrepRow("b", 10, 0, "w"), GrepRow("b", 11, 1, "m")),
    ]
    found = [
        (one["path"], one["line"], one.get("contextBefore"), one.get("contextAfter")) for one in attach_context(rows)
    ]
    assert found == [
        ("a", 2, [{"line": 1, "content": "x"}], None),
        ("a", 3, None, [{"line": 4, "content": "y"}]),
        ("a", 9, [{"line": 8, "content": "z"}], None),
        ("b", 11, [{"line": 10, "content": "w"}], None),
    ]
