"""Parse shell text with tree-sitter's bash grammar, loaded on first use; queries on its trees."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

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
