"""Words of a command, decoded from the nodes of tree-sitter's grammar."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from toolroll.policy.shell.parse.words import Piece, PieceKind, Word, ansi, bare, double, join, variable

if TYPE_CHECKING:
    from tree_sitter import Node


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
