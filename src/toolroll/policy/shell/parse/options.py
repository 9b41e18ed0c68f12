"""Parse the options of a program by a getopt-like specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from toolroll.policy.shell.parse.words import Word


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """`short` as for getopt ("an:" - n takes a value; "i::" - one that is attached or none); `long` by blanks:
    "all lines= color?" - lines needs a value, color may have one after "="."""

    short: str = ""
    long: str = ""

    def takes(self, letter: str) -> str | None:
        """ "" for a flag, ":" when it takes a value, "::" when a value may be attached; None when it is unknown."""
        place = self.short.find(letter)
        if place < 0 or letter == ":":
            return None
        rest = self.short[place + 1 : place + 3]
        return "::" if rest == "::" else ":" if rest.startswith(":") else ""

    def long_takes(self, name: str) -> str | None:
        """The same for a long option, with "=" and "?" as its marks."""
        for one in self.long.split():
            if one.rstrip("=?") == name:
                return one[len(name) :]
        return None


@dataclass(slots=True)
class GivenOptions:
    """The options and operands of one call."""

    options: list[tuple[str, Word | None, str]] = field(default_factory=list)
    """The name without dashes, the word that holds the value, and the value's text."""
    operands: list[Word] = field(default_factory=list)
    unknown: str | None = None
    """The first word that is no option of the program."""
    doubtful: bool = False
    """The last option is none of the program's, so the word after it may be its value."""
    rest: int = 0
    """Where the operands begin, for programs whose options stop there."""

    def value(self, *names: str) -> str | None:
        """The last value given to one of these options."""
        return next((text for name, _, text in reversed(self.options) if name in names), None)

    def has(self, *names: str) -> bool:
        return any(name in names for name, _, _ in self.options)


def read(words: Sequence[Word], known: OptionSpec, stop: bool = False, numbers: bool = False) -> GivenOptions:
    """The words after the program. With `stop`, options end at the first operand; `numbers` takes `-5` for one."""
    given = GivenOptions()
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "--":
            given.operands += words[at + 1 :]
            given.rest, given.doubtful = at + 1, False
            return given
        if not text.startswith("-") or text == "-":
            if stop:
                break
            given.operands.append(words[at])
            at += 1
        elif numbers and text[1:].isdecimal():
            given.options.append((text[1:], None, ""))
            at += 1
        else:
            at = _long(given, words, at, known) if text.startswith("--") else _short(given, words, at, known)
    given.rest = at
    if stop:
        given.operands = list(words[at:])
    return given


def _long(given: GivenOptions, words: Sequence[Word], at: int, known: OptionSpec) -> int:
    name, equals, value = words[at].text[2:].partition("=")
    takes = known.long_takes(name)
    if (
        takes is None
        or (equals and not takes)
        or (not words[at].literal and not words[at].start.startswith(f"--{name}="))
    ):
        given.unknown = given.unknown or words[at].text
    given.doubtful = takes is None and not equals
    if takes == "=" and not equals:
        following = words[at + 1] if at + 1 < len(words) else None
        given.options.append((name, following, following.text if following else ""))
        return at + 2
    given.options.append((name, words[at] if equals else None, value))
    return at + 1


def _short(given: GivenOptions, words: Sequence[Word], at: int, known: OptionSpec) -> int:
    text = words[at].text
    if not words[at].literal:
        given.unknown = given.unknown or text
    for place, letter in enumerate(text[1:], 1):
        takes = known.takes(letter)
        given.doubtful = takes is None
        if takes is None:
            given.unknown = given.unknown or text
        if takes == "::" or (takes == ":" and text[place + 1 :]):
            given.options.append((letter, words[at], text[place + 1 :]))
            return at + 1
        if takes == ":":
            following = words[at + 1] if at + 1 < len(words) else None
            given.options.append((letter, following, following.text if following else ""))
            return at + 2
        given.options.append((letter, None, ""))
    return at + 1
