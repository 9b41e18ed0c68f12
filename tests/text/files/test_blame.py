"""Which change wrote each line."""

import pytest

from toolroll.text.files.blame import BEFORE, OTHERS, TextVersion, blame_lines


@pytest.mark.parametrize(
    ("versions", "now", "writers"),
    [
        ([], "a\nb\n", [BEFORE, BEFORE]),
        ([], "", []),
        ([(1, None, "a\nb")], "a\nb", [1, 1]),
        ([(1, "a\nb\n", "a\nx\nb\n")], "a\nx\nb\n", [BEFORE, 1, BEFORE]),
        ([(1, None, "a\nb\n"), (2, "a\nb\n", "b\nc\n")], "b\nc\n", [1, 2]),
        ([(1, None, "a\n"), (2, "a\nhand\n", "a\nhand\nb\n")], "a\nhand\nb\nlast\n", [1, OTHERS, 2, OTHERS]),
        # Taken back, and deleted and brought back.
        ([(1, "a\nb\n", "a\nc\n"), (2, "a\nc\n", "x\n"), (3, "x\n", "a\nc\n")], "a\nc\n", [BEFORE, 1]),
        ([(1, "a\n", "a\nb\n"), (2, "a\nb\n", None), (3, None, "a\nb\n")], "a\nb\n", [BEFORE, 1]),
    ],
)
def test_writers(versions, now, writers):
    found = blame_lines([TextVersion(*one) for one in versions], now)
    assert [writer for writer, _ in found] == writers
    assert "".join(line for _, line in found) == now
