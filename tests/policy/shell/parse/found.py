"""A table of shell texts and of what is found in each: found.txt, with the text as JSON and a line for each item."""

import json
from collections.abc import Iterator
from pathlib import Path

from toolroll.policy.shell.parse.analysis import analyse
from toolroll.policy.shell.parse.words import Assignment, FoundItem, Redirection, SimpleCommand, UnclearPart, Word


def assert_found() -> None:
    """Every text of the table is read as the table says."""
    texts = [json.loads(line) for line in TABLE.read_text().splitlines() if not line.startswith(" ")]
    assert [line for text in texts for line in describe(text)] == TABLE.read_text().splitlines()


TABLE = Path(__file__).with_name("found.txt")


def describe(text: str) -> Iterator[str]:
    """The lines of the table about one text."""
    analysis = analyse(text)
    yield json.dumps(text)
    if not analysis.plain:
        yield "    not plain"
    yield from (f"    {_item(one)}" for one in analysis.found)


def _item(found: FoundItem) -> str:
    item = found.item
    match item:
        case SimpleCommand():
            said = [f"run {' '.join(map(_word, item.words))}", *_circumstances(item)]
        case Redirection():
            said = [f"{'write' if item.writes else 'read'} {_word(item.target)}", *([] if item.whole else ["in part"])]
        case Assignment():
            said = [f"set {item.name} to {'nothing' if item.value is None else _word(item.value)}"]
            said += [] if item.lasting else ["for one command"]
        case UnclearPart():
            said = [f"unclear: {item.reason}"]
        case _:
            said = ["bomb"]
    where = getattr(item, "where", ".")
    said += [] if where == "." else [f"in {where or 'an unknown folder'}"]
    return "; ".join([*said, *([f"of {found.owner}"] if found.owner else [])])


def _circumstances(command: SimpleCommand) -> Iterator[str]:
    if command.stdin is not None:
        yield f"reads {json.dumps(command.stdin)}"
    if command.source is not None:
        yield f"words of {json.dumps(command.source.text)}"
    marks = {
        "downloaded": command.downloaded,
        "more": command.more,
        "unsure": not command.sure,
        "in part": not command.whole,
        "clear": command.clear,
    }
    yield from (name for name, holds in marks.items() if holds)


def _word(word: Word) -> str:
    """A computed word has a question mark; a blank in a word is a dot."""
    return ("" if word.literal else "?") + json.dumps(word.text)[1:-1].replace(" ", "·")
