"""Definitions of Python by a walk over its statements: a query looks at every node, and most are in expressions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.definitions import HEAD, MOST
from toolroll.text.code.syntax.source import Source
from toolroll.text.code.syntax.spans import CLASS, DECORATOR, FUNCTION, IMPORT, TYPE, VARIABLE, Row

if TYPE_CHECKING:
    from tree_sitter import Node, Query

_DEFINING = {"function_definition": FUNCTION, "class_definition": CLASS}
_IMPORTS = frozenset({"import_statement", "import_from_statement", "future_import_statement"})
_HOLDING = frozenset(
    {
        *("block", "decorated_definition", "if_statement", "elif_clause", "else_clause", "for_statement"),
        *("while_statement", "try_statement", "except_clause", "except_group_clause", "finally_clause"),
        *("with_statement", "match_statement", "case_clause"),
    }
)
"""What statements stand in, besides functions and classes."""
_SEVERAL = frozenset({"pattern_list", "tuple_pattern", "list_pattern"})
_OTHERS = frozenset({"expression_statement", "comment", "decorator", "type_alias_statement"})
_TELLING = (b"def", b"class", b"import")
_ALIAS = re.compile(rb"type[ \t\\]")


def read(source: bytes, root: Node) -> tuple[Source, list[Row]]:
    """What `captured.read` finds in a source without errors; of comments, the source tells those at definitions."""
    walk = _Walk(source, root)
    walk.run()
    return Source(source, walk.comments), walk.made


class _Walk:
    """Goes from each list of statements to those within; the order is made at the end."""

    def __init__(self, source: bytes, root: Node) -> None:
        self._source = source
        self._root = root
        self._telling = _telling(source)
        self._hashes = _ends(source, b"#")
        self._todo: list[tuple[Node, int, bool]] = [(root, 0, True)]
        self.made: list[Row] = []
        self.comments: list[tuple[int, int]] = []

    def run(self) -> None:
        while self._todo:
            self._list(*self._todo.pop())
        self.made.sort()
        del self.made[MOST:]

    def _list(self, node: Node, holder: int, upper: bool) -> None:
        """Read statements that stand in a definition; `upper` if its variables are told: in modules and classes."""
        decorators: list[Node] = []
        kinds = _kinds()
        for child in node.children:
            kind = kinds.get(child.kind_id)
            if kind is None:
                continue
            if kind == "expression_statement":
                if upper:
                    self._variables(child, holder)
            elif kind in _DEFINING:
                self._definition(_DEFINING[kind], child, holder, decorators)
            elif kind in _HOLDING:
                self._todo.append((child, holder, upper))
            elif kind in _IMPORTS:
                self._import(child, holder)
            elif kind == "comment":
                self.comments.append(child.byte_range)
            elif kind == "decorator":
                decorators.append(child)
            else:
                self._alias(child, holder)

    def _definition(self, kind: int, node: Node, holder: int, decorators: Sequence[Node]) -> None:
        body, name = node.child_by_field_name("body"), node.child_by_field_name("name")
        if body is None or name is None:
            return
        start, end = node.byte_range
        inner = body.start_byte
        self._made(kind, start, end, holder, name, inner)
        for one in decorators:
            self._made(DECORATOR, *one.byte_range, start + 1, one)
        if kind == CLASS or self._tells(inner, end):
            self._todo.append((body, start + 1, kind == CLASS))

    def _tells(self, start: int, end: int) -> bool:
        """Whether statements of a function may be told, or comments at its end."""
        telling, hashes = self._telling, self._hashes
        if telling[bisect_right(telling, start)] <= end:
            return True
        last = hashes[bisect_right(hashes, end) - 1]
        return start < last <= end and self._source.find(b"\n", last, end) < 0

    def _variables(self, node: Node, holder: int) -> None:
        value = node.named_child(0)
        while value is not None and value.type == "assignment":
            left = value.child_by_field_name("left")
            if left is None:
                return
            if left.type == "identifier":
                self._made(VARIABLE, *value.byte_range, holder, left)
            elif left.type in _SEVERAL:
                for one in left.named_children:
                    if one.type == "identifier":
                        self._made(VARIABLE, *one.byte_range, holder, one)
            value = value.child_by_field_name("right")

    def _import(self, node: Node, holder: int) -> None:
        if node.type == "future_import_statement":
            names = [one for one in node.children if one.type == "__future__"][:1]
        else:
            names = node.children_by_field_name("name" if node.type == "import_statement" else "module_name")
        for one in names:
            name = one.child_by_field_name("name") if one.type == "aliased_import" else one
            if name is not None:
                self._made(IMPORT, *node.byte_range, holder, name)

    def _alias(self, node: Node, holder: int) -> None:
        left = node.child_by_field_name("left")
        name = left.named_child(0) if left is not None else None
        if name is not None and name.type == "generic_type":
            name = name.named_child(0)
        if name is not None and name.type == "identifier":
            self._made(TYPE, *node.byte_range, holder, name)

    def _made(self, kind: int, start: int, end: int, holder: int, name: Node, body: int = 0) -> None:
        head_end = min(end, start + HEAD, body or end)
        hashes = self._hashes
        if hashes[bisect_right(hashes, start)] <= head_end:
            self.comments += _comments(self._root, start, head_end)
        name_at, name_end = name.byte_range
        self.made.append((start, end, kind, name_at, name_end, head_end, holder))


def _telling(source: bytes) -> list[int]:
    """Where words end that statements begin with which are told; the last place is beyond the source."""
    places = [end for word in _TELLING for end in _ends(source, word)]
    if b"type" in source:
        places += [found.end() for found in _ALIAS.finditer(source)]
    places.sort()
    return places


def _ends(source: bytes, word: bytes) -> list[int]:
    """Where a word ends, wherever it is; the last place is beyond the source."""
    return list(accumulate(map(len(word).__add__, map(len, source.split(word)))))


@cache
def _kinds() -> dict[int, str]:
    """The statements to look at, by their numbers."""
    grammar = languages.grammar("python")
    wanted = _OTHERS | _HOLDING | _IMPORTS | _DEFINING.keys()
    named = ((number, grammar.node_kind_for_id(number)) for number in range(grammar.node_kind_count))
    return {number: kind for number, kind in named if kind in wanted and grammar.node_kind_is_named(number)}


def _comments(root: Node, start: int, end: int) -> list[tuple[int, int]]:
    import tree_sitter

    cursor = tree_sitter.QueryCursor(_comment())
    cursor.set_byte_range(start, end)
    return [node.byte_range for node in cursor.captures(root).get("comment", ())]


@cache
def _comment() -> Query:
    import tree_sitter

    return tree_sitter.Query(languages.grammar("python"), "(comment) @comment")
