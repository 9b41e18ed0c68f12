"""The counts of docs/adapters.md are those of its examples."""

import re

from tests.adapters.task import MANUAL

HEADINGS = {
    "LangChain, LangGraph": "LangChain",
    "Anthropic tool runner": "Anthropic",
    "Gemini (google-genai)": "Gemini",
}


def count_tool_lines(heading: str) -> int:
    """Lines of an example that name something of its adapter, or loop over calls."""
    part = MANUAL.read_text().split(f"\n## {heading}\n")[1]
    code = part.split("```python\n")[1].split("```")[0]
    names = re.search(r"from toolroll\.adapters\.\w+ import (.*)", code)
    assert names, heading
    wanted = re.compile(rf"\b({'|'.join(names[1].split(', '))})\b(?! *=)|response\.function_calls")
    return sum(bool(wanted.search(line)) for line in code.split("\n"))


def test_the_lines_now_are_those_of_the_examples():
    head, _, *rows = [line.strip("| ").split(" | ") for line in MANUAL.read_text().split("\n") if line.startswith("| ")]
    rows = [row for row in rows if len(row) == len(head)]
    given = {row[0]: int(row[head.index("lines now")]) for row in rows}
    assert len(given) == 7
    assert given == {name: count_tool_lines(HEADINGS.get(name, name)) for name in given}
