"""Definitions of Python by a walk over its statements: a query looks at every node, and most are in expressions."""

from __future__ import annotations

import re
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

from toolroll.text.structure import languages
from toolroll.text.structure.definitions import HEAD, MOST, Definition, decoration, name_of
from toolroll.text.structure.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node, Query

_DEFINING = {"function_definition": "function", "class_definition": "class"}
_IMPORTS = frozenset({"import_statement", "import_from_statement", "future_import_statement"})
_HOLDING = frozenset(
    {
        *("block", "decorated_definition", "if_statement", "elif_clause", "else_clause", "for_statement"),
        *("while_statement", "try_statement", "except_clause", "except_group_clause", "finally_clause"),
        *("with_statement", "match_statement", "case_clause"),
    }
)
"""What statements stand in, besides functions and classes."""
_ALIAS = re.compile(rb"type[ \t\\]")


def read(source: bytes, root: Node) -> tuple[Source, list[Definition]]:
    """What `captured.read` finds in a source without errors; of comments, the source tells those at definitions."""
    walk = _Walk(source, root)
    walk.run()
    where = Source(source, walk.comments)
    for one in walk.made:
        if one.kind == "decorator":
            one.name = decoration(where, one.start, one.end)
    return where, walk.made


class _Walk:
    """Goes from each list of statements to those within; the order is made at the end."""

    def __init__(self, source: bytes, root: Node) -> None:
        self._source = source
        self._root = root
        self._todo: list[tuple[Node, Definition | None, bool]] = [(root, None, True)]
        self.made: list[Definition] = []
        self.comments: list[tuple[int, int]] = []

    def run(self) -> None:
        while self._todo:
            self._list(*self._todo.pop())
        self.made.sort(key=attrgetter("start"))
        del self.made[MOST:]

    def _list(self, node: Node, holder: Definition | None, upper: bool) -> None:
        """Read statements that stand in a definition; `upper` if its variables are told: in modules and classes."""
        decorators: list[Definition] = []
        for child in node.named_children:
            kind = child.type
            if kind == "expression_statement":
                if upper:
                    self._variables(child, holder)
            elif kind in _DEFINING:
                self._definition(_DEFINING[kind], child, holder, decorators)
            elif kind in _HOLDING:
                self._todo.append((child, holder, False))
            elif kind in _IMPORTS:
                self._import(child, holder)
            elif kind == "comment":
                self.comments.append(child.byte_range)
            elif kind == "decorator":
                decorators.append(self._made("decorator", child, holder))
            elif kind == "type_alias_statement":
                self._alias(child, holder)

    def _definition(self, kind: str, node: Node, holder: Definition | None, decorators: list[Definition]) -> None:
        body = node.child_by_field_name("body")
        one = self._made(kind, node, holder, node.child_by_field_name("name"), body)
        if decorators:
            one.decorators = tuple(decorators)
            for inner in decorators:
                inner.parent = one
        if body is not None and (kind == "class" or self._tells(body.start_byte, one.end)):
            self._todo.append((body, one, kind == "class"))

    def _tells(self, start: int, end: int) -> bool:
        """Whether statements of a function may be told, or comments at its end."""
        find = self._source.find
        return (
            find(b"def", start, end) >= 0
            or find(b"class", start, end) >= 0
            or find(b"import", start, end) >= 0
            or find(b"#", self._source.rfind(b"\n", start, end), end) >= 0
            or (find(b"type", start, end) >= 0 and _ALIAS.search(self._source, start, end) is not None)
        )

    def _variables(self, node: Node, holder: Definition | None) -> None:
        value = node.named_child(0)
        if value is None or value.type != "assignment":
            return
        left = value.child_by_field_name("left")
        if left is None:
            return
        if left.type == "identifier":
            self._made("variable", value, holder, left)
        elif left.type == "pattern_list" and holder is None:
            for one in left.named_children:
                if one.type == "identifier":
                    self._made("variable", one, holder, one)

    def _import(self, node: Node, holder: Definition | None) -> None:
        if node.type == "future_import_statement":
            name = next((one for one in node.children if one.type == "__future__"), None)
        else:
            name = node.child_by_field_name("name" if node.type == "import_statement" else "module_name")
            if name is not None and name.type == "aliased_import":
                name = name.child_by_field_name("name")
        self._made("import", node, holder, name)

    def _alias(self, node: Node, holder: Definition | None) -> None:
        left = node.child_by_field_name("left")
        name = left.named_child(0) if left is not None else None
        if name is not None and name.type == "identifier":
            self._made("type", node, holder, name)

    def _made(
        self, kind: str, node: Node, holder: Definition | None, name: Node | None = None, body: Node | None = None
    ) -> Definition:
        start, end = node.byte_range
        one = Definition(kind, start, end, node, holder)
        if name is not None:
            one.name_at, name_end = name.byte_range
            one.name = name_of(self._source, one.name_at, name_end)
        one.head_end = min(end, start + HEAD, body.start_byte if body is not None else end)
        if self._source.find(b"#", start, one.head_end) >= 0:
            self.comments += _comments(self._root, start, one.head_end)
        self.made.append(one)
        return one


def _comments(root: Node, start: int, end: int) -> list[tuple[int, int]]:
    import tree_sitter

    cursor = tree_sitter.QueryCursor(_comment())
    cursor.set_byte_range(start, end)
    return [node.byte_range for node in cursor.captures(root).get("comment", ())]


@cache
def _comment() -> Query:
    import tree_sitter

    return tree_sitter.Query(languages.grammar("python"), "(comment) @comment")
