"""The items of a shell text: commands, redirections, assignments, and parts that cannot be judged."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolroll.policy.shell.parse.words import PieceKind, Word


def _program(word: Word) -> str | None:
    pieces = [piece for piece in word.pieces if piece.text]
    known = word.literal or (
        bool(pieces) and pieces[0].kind is PieceKind.HOME and all(piece.kind is PieceKind.TEXT for piece in pieces[1:])
    )
    return word.text.rpartition("/")[2] if known else None


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One simple command that the shell would run."""

    words: tuple[Word, ...]
    text: str
    where: str | None = "."
    """The folder it runs in as far as the text shows it: relative to the workspace, absolute, or None."""
    stdin: str | None = None
    """What it reads, when the text itself says it."""
    downloaded: bool = False
    """It reads what a download in front of the pipe gives."""
    source: SimpleCommand | None = None
    """The command in front of the pipe whose lines become its words, as with xargs."""
    more: bool = False
    """Further, unknown words are added when it runs, as xargs does."""
    sure: bool = True
    """The program is certain to be this one."""
    whole: bool = True
    """So are all its words."""
    clear: bool = False
    """It does nothing but run another command, which is listed by itself."""

    program: str | None = field(init=False, compare=False)
    """The last part of the program's path, or None when it is computed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "program", _program(self.words[0]) if self.words else None)

    @property
    def literal(self) -> tuple[str, ...] | None:
        """The words, or None when one of them is computed."""
        if self.more or not all(word.literal for word in self.words):
            return None
        return tuple(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Redirection:
    """A file that the shell itself opens for a command."""

    target: Word
    text: str
    writes: bool
    where: str | None = "."
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that is set, for one command or from here on."""

    name: str
    value: Word | None
    text: str
    lasting: bool = True


@dataclass(frozen=True, slots=True)
class UnclearPart:
    """Something that cannot be judged, with the reason."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ForkBomb:
    """A function that starts itself twice or more each time it runs."""

    text: str


Item = SimpleCommand | Redirection | Assignment | UnclearPart | ForkBomb


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item, and the function in whose body it stands."""

    item: Item
    owner: str | None = None
