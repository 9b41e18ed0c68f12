"""SEARCH/REPLACE blocks become hunks of the files that they name."""

import pytest

from toolroll import ToolError
from toolroll.text.patch.plan import plan

BLOCK = "<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n"
FILES = {"src/a.py": "def f():\n    x = 1\n    return x\n", "b.txt": "one\ntwo\n"}


def planned(text: str) -> dict[str, str | None]:
    return {step.path: step.text for step in plan(text, exists=FILES.__contains__, read=FILES.__getitem__)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b.txt\n" + BLOCK.format("two\n", "2\n"), {"b.txt": "one\n2\n"}),
        ("Here:\n\n```text\nb.txt\n" + BLOCK.format("two\n", "2\n") + "```\n", {"b.txt": "one\n2\n"}),
        ("**`b.txt`**\n```text\n" + BLOCK.format("two\n", "2\n") + "```\n", {"b.txt": "one\n2\n"}),
        ("b.txt\n" + BLOCK.format("one\n", "1\n") + "\n...\n\n" + BLOCK.format("two\n", "2\n"), {"b.txt": "1\n2\n"}),
        ("src/a.py\n" + BLOCK.format("x = 1\nreturn x\n", "x = 2\nreturn x\n"), {"src/a.py": FILES["src/a.py"].replace("1", "2")}),
        ("new/c.txt\n" + BLOCK.format("", "c\n") + "b.txt\n" + BLOCK.format("two\n", ""), {"new/c.txt": "c\n", "b.txt": "one\n"}),
    ],
)  # fmt: skip
def test_blocks_are_applied(text, expected):
    assert planned(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BLOCK.format("two\n", "2\n"), "which file"),
        ("b.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n", "REPLACE' is missing"),
        ("b.txt\n<<<<<<< SEARCH\ntwo\n", "=======' is missing"),
        ("b.txt\n" + BLOCK.format("three\n", "3\n"), "'b.txt': hunk 1 of 1"),
        ("b.txt\n" + BLOCK.format("", "c\n"), "makes 'b.txt'"),
    ],
)
def test_what_cannot_be_applied_is_refused(text, words):
    with pytest.raises(ToolError, match=words):
        planned(text)
