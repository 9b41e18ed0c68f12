"""Memories as Markdown and back."""

import pytest

from toolroll import ToolError
from toolroll.text.knowledge.memories import Memory
from toolroll.text.knowledge.memory_markdown import WrittenMemory, read_markdown, write_markdown

KEPT = [
    Memory(3, "Two\n- lines", "semantic", 0.8, 0.0, 86400.0, 4),
    Memory(4, "(odd) **m9** text", "working", 0.5, 0.0, 0.0),
]


def test_what_is_written_is_read_back():
    text = write_markdown(KEPT)
    assert "## semantic\n\n- **m3** (importance 0.8, 1970-01-02, replaced by m4) Two\n  - lines\n" in text
    assert sorted(read_markdown(text)) == [
        WrittenMemory("m3", "semantic", 0.8, "Two\n- lines"),
        WrittenMemory("m4", "working", 0.5, "(odd) **m9** text"),
    ]
    assert read_markdown(write_markdown([])) == []


def test_a_person_writes_less():
    text = "- Tabs are preferred\n\n## working\n* (0.9) Look at\n  the log\n"
    assert read_markdown(text) == [
        WrittenMemory("", "semantic", None, "Tabs are preferred"),
        WrittenMemory("", "working", 0.9, "Look at\nthe log"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("## lasting\n", "Line 1: no type 'lasting'"),
        ("\n- **m3**\n", "Line 2: an item without a text"),
        ("- (importance 7) x", "Line 1: importance is 0 to 1"),
        ("- (1.2.3) x", "Line 1: '1.2.3' is no number"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, said):
    with pytest.raises(ToolError, match="Nothing was changed") as caught:
        read_markdown(text)
    assert caught.value.message.startswith(said)
