"""Read shell text in two ways: by tree-sitter's bash grammar, and by a reader that knows plain text only.

Nothing is called read-only unless both find the same commands in it. The plain reader knows words, quotes, lists and
pipes; it expands only file names and variables.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING

from toolroll.policy.shell.parse.words import Piece, PieceKind, Word, ansi, bare, double, join, names, variable

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_WIDE = re.compile(rb"[\xc4-\xdf].|[\xe0-\xef]..|[\xf0-\xf7]...", re.DOTALL)
_LETTERS = {2: "é".encode(), 3: "éx".encode(), 4: "éé".encode()}


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def parse(raw: bytes) -> Node:
    """The root of the tree for a shell text in UTF-8. Places in it are those of the text, the words are not."""
    from tree_sitter import Parser

    return Parser(_language()).parse(_narrow(raw)).root_node  # one of its own: threads are not to share a parser


def _narrow(raw: bytes) -> bytes:
    """The text with letters of the same length for all that is beyond Latin-1.

    The scanner of the grammar looks such characters up in a table of 256, and the program can crash. To the shell they
    are parts of words, as letters are.
    """
    return raw if raw.isascii() else _WIDE.sub(lambda found: _LETTERS[len(found[0])], raw)


def first_error(root: Node) -> int:
    """Where the grammar first failed."""
    first, stack = root.end_byte, [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            first = min(first, node.start_byte)
        elif node.has_error and node.start_byte < first:
            stack += node.children
    return first


def strings(root: Node) -> list[Node]:
    """The outermost texts in double quotes."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        if node.type == "string":
            found.append(node)
        else:
            stack += node.children
    return found


def command_name(command: Node) -> str:
    """The first word of a command."""
    name = command.child_by_field_name("name")
    return name.text.decode("utf-8", "replace") if name is not None and name.text else ""


class Decoder:
    """Reads words; what stands in a substitution is visited on the way."""

    def __init__(self, raw: bytes, own_home: bool) -> None:
        self.raw = raw
        self.own_home = own_home  # the text sets HOME itself

    @abstractmethod
    def visit(self, node: Node, stdin: str | None = None) -> None:
        """Called for every node inside a word that may run something."""

    def children(self, node: Node) -> None:
        for child in node.named_children:
            self.visit(child)

    def text(self, node: Node) -> str:
        return self.raw[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def word(self, node: Node) -> Word:
        return join(self.pieces(node, first=True))

    def pieces(self, node: Node, first: bool) -> list[Piece]:
        """The pieces of a node; `first` when it begins the word."""
        kind = node.type
        if kind in ("word", "number", "variable_name", "test_operator") or not node.is_named:
            return bare(self.text(node), first)
        if kind == "raw_string":
            return [Piece(PieceKind.TEXT, self.text(node)[1:-1])]
        if kind == "ansi_c_string":
            return [ansi(self.text(node)[2:-1])]
        if kind in ("string", "translated_string"):
            return self.string(node if kind == "string" else node.children[-1])
        if kind == "concatenation":
            return [piece for at, child in enumerate(node.children) for piece in self.pieces(child, first and not at)]
        if kind in ("simple_expansion", "expansion"):
            self.visit(node)
            piece = variable(self.text(node))
            return [Piece(PieceKind.UNKNOWN, piece.text) if piece.kind is PieceKind.HOME and self.own_home else piece]
        self.visit(node)
        return [Piece(PieceKind.UNKNOWN, self.text(node))]

    def string(self, node: Node) -> list[Piece]:
        """The pieces in double quotes; the grammar leaves blanks out of its nodes."""
        pieces = []
        at = node.start_byte + 1
        for child in node.named_children:
            if child.type != "string_content":
                pieces.append(double(self.raw[at : child.start_byte].decode("utf-8", "replace")))
                pieces += self.pieces(child, first=False)
                at = child.end_byte
        return [*pieces, double(self.raw[at : node.end_byte - 1].decode("utf-8", "replace"))]


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


def read_plain(text: str) -> list[tuple[Word, ...]] | None:
    """The commands in `text` in their order, or None when it is not plain."""
    try:
        return _PlainReader(text).run()
    except _BeyondError:
        return None


class _PlainReader:
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
