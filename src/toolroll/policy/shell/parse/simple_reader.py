"""A second reader for plain text only: words, quotes, lists and pipes; only file names and variables are expanded.

Nothing is called read-only unless this reader and the grammar find the same commands in it.
"""

from __future__ import annotations

import re

from toolroll.policy.shell.parse.words import Piece, PieceKind, Word, ansi, bare, double, join, names, variable

SEGMENT = re.compile(
    r"""(?P<bare>(?:\\[^\n]|[^\s\\'"`$<>();&|])+)
      | '(?P<single>[^']*)'
      | "(?P<double>(?:\\.|\$[?$\#!]|\$[A-Za-z_]\w*|\$\{\w+\}|[^"\\`$]|\$(?="))*)"
      | \$'(?P<ansi>(?:\\.|[^'\\])*)'
      | (?P<variable>\$[?$\#!]|\$[A-Za-z_]\w*|\$\{\w+\})
      | (?P<dollar>\$(?=[\s/;|&]|$))
    """,
    re.VERBOSE | re.DOTALL,
)
OPERATOR = re.compile(r"&&|\|\||\|&|[;&|\n]")
REDIRECTION = re.compile(r"(?:\d*|&)(?:>>|>\||>&|<&|>|<<<|<)(?![<>(&|])")
RESERVED = frozenset({"if", "then", "elif", "else", "fi", "{", "}", "!", "time"})
BEYOND = names("for while until case select function do done in esac coproc [[ ]]")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\+?=|\[)")


class _BeyondError(Exception):
    """The text holds something that this reader does not know."""


def read(text: str) -> list[tuple[Word, ...]] | None:
    """The commands in `text` in their order, or None when it is not plain."""
    try:
        return _Plain(text).run()
    except _BeyondError:
        return None


class _Plain:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.commands: list[tuple[Word, ...]] = []
        self.words: list[Word] = []
        self.begun = False  # an assignment or a redirection has begun a command
        self.depth = 0

    def run(self) -> list[tuple[Word, ...]]:
        while self.place < len(self.text):
            self.step()
        self.end()
        if self.depth:
            raise _BeyondError
        return self.commands

    def end(self) -> None:
        if self.words:
            self.commands.append(tuple(self.words))
        self.words, self.begun = [], False

    def step(self) -> None:
        char = self.text[self.place]
        if char in " \t":
            self.place += 1
        elif self.text.startswith("\\\n", self.place) and self.text[self.place - 1 : self.place] in (" ", "\t"):
            self.place += 2
        elif char == "#":
            end = self.text.find("\n", self.place)
            self.place = len(self.text) if end < 0 else end
        elif found := REDIRECTION.match(self.text, self.place):
            self.redirection(found)
        elif found := OPERATOR.match(self.text, self.place):
            self.end()
            self.place = found.end()
        elif char in "()":
            self.bracket(char)
        else:
            self.argument()

    def bracket(self, char: str) -> None:
        if (char == "(" and (self.words or self.begun)) or self.text.startswith("((", self.place):
            raise _BeyondError
        self.end()
        self.depth += 1 if char == "(" else -1
        self.place += 1

    def redirection(self, found: re.Match[str]) -> None:
        self.begun = True
        self.place = found.end()
        if found.group().endswith("&") and self.text.startswith("-", self.place):
            self.place += 1
            return
        while self.text[self.place : self.place + 1] in (" ", "\t"):
            self.place += 1
        self.word()

    def argument(self) -> None:
        start = self.place
        word = self.word()
        raw = self.text[start : self.place]
        if self.words:
            self.words.append(word)
        elif raw in BEYOND:
            raise _BeyondError
        elif raw in RESERVED and not self.begun:
            if raw == "time" and (option := re.compile(r"[ \t]+-p(?=\s)").match(self.text, self.place)):
                self.place = option.end()
        elif found := ASSIGNMENT.match(raw):
            if found.group().endswith("["):
                raise _BeyondError
            self.begun = True
        else:
            self.words.append(word)

    def word(self) -> Word:
        pieces: list[Piece] = []
        start = self.place
        while found := SEGMENT.match(self.text, self.place):
            if found.lastgroup == "bare":
                pieces += bare(found["bare"], found.start() == start)
            elif found.lastgroup == "double":
                pieces += _double(found["double"])
            elif found.lastgroup == "ansi":
                pieces.append(ansi(found["ansi"]))
            elif found.lastgroup == "variable":
                pieces.append(variable(found["variable"]))
            else:
                pieces.append(Piece(PieceKind.TEXT, found["single"] if found.lastgroup == "single" else "$"))
            self.place = found.end()
        if self.place == start or self.text[self.place : self.place + 1] in ("\\", "$", "`", "'", '"'):
            raise _BeyondError
        return join(pieces)


def _double(raw: str) -> list[Piece]:
    pieces = []
    at = 0
    for found in re.finditer(r"\\.|\$[?$#!]|\$[A-Za-z_]\w*|\$\{\w+\}", raw, re.DOTALL):
        if found.group()[0] == "$":
            pieces += [double(raw[at : found.start()]), variable(found.group())]
            at = found.end()
    return [*pieces, double(raw[at:])]
