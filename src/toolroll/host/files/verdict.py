"""Say in one line where a changed file no longer parses, or uses undefined names; in this process, up to a size."""

from __future__ import annotations

import builtins
import os
import re
import threading
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from toolroll.result import Suggestion, ToolError
from toolroll.text.lines import list_some
from toolroll.text.names import is_prose, show_name

if TYPE_CHECKING:
    from types import CodeType

    from tree_sitter import Node


_MOST_LINES, _MOST_BYTES = 5_000, 256_000  # of a file that is parsed
_MOST_TOML_BYTES = 64_000  # its parser is slow
_MOST_REMEMBERED = 64  # texts: the one after a change is looked at again for its verdict, and is the next one before
_LOOK = 20  # lines before those that a refusal is about, which are offered to be read with them
_SHOWN = 40  # characters of the text at an error
_MAX_NAMES = 5  # that are not defined
_FILTERS = threading.Lock()  # warnings are switched off for the whole process
_PART = re.compile(rb"\n\n(?=@|class |def |async def )")
_CODING = re.compile(rb"[^\n]*\n?[^\n]*coding")
_FUTURES = 0x1C00000  # the flags of `annotations`, and of two others, that hold for all of a file
_MOST_PARTS = 10_000
_PARSED: dict[tuple[int, int], int] = {}
"""Parts that parse, by the flags before them and their hashes; the flags after them."""


class Draft(Protocol):
    """A text as it is now, at a path."""

    @property
    def path(self) -> str: ...
    @property
    def text(self) -> str: ...


def find_break(path: str, before: bytes | None, after: bytes) -> str:
    """Where a file does not parse (`before` is None for a new one); empty if it did not before, or is not known."""
    said = _error(path, after)
    if said is None or (before is not None and _error(path, before) is not None):
        return ""
    return f"{show_name(path)} does not parse{' any more' * (before is not None)}, {said}."


def describe_faults(path: str, before: bytes | None, after: bytes) -> str:
    """The same, or which names of a Python file are not defined that were, or that are new."""
    if said := find_break(path, before, after):
        return said
    names = find_undefined(path, before or b"", after)
    shown = list_some([f"`{name}` (line {line})" for name, line in names.items()], _MAX_NAMES)
    return f"Not defined in {show_name(path)}: {shown}." if names else ""


@lru_cache(_MOST_REMEMBERED)
def find_undefined(path: str, before: bytes, after: bytes) -> Mapping[str, int]:
    """The names that a change of a Python file leaves undefined, with their first lines, if both texts parse."""
    if not path.endswith((".py", ".pyi")) or _is_large(after) or _is_large(before):
        return {}
    from toolroll.text.code import python_names

    try:
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return python_names.find_undefined(before.decode(), after.decode(), dir(builtins))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


def offer_calls(error: ToolError, drafts: Mapping[str, Draft], folder: str) -> None:
    """Take edits off a refusal that would make one of these files, named relative to a folder, unparsable.

    Where no call is left, offer to read the lines of the last file that it is about.
    """
    error.suggest = tuple(call for call in error.suggest if not any(_breaks(call, one) for one in drafts.values()))
    if drafts and not error.suggest:
        details = error.details or {}
        line = next(iter(details.get("near") or details.get("lines") or ()), None)
        window = {"offset": max(1, line - _LOOK), "limit": 3 * _LOOK} if line else {}
        path = os.path.join("" if folder == "." else folder, [*drafts][-1])
        error.suggest = (Suggestion("read", {"path": path, **window}),)


def _breaks(call: Suggestion, draft: Draft) -> bool:
    given = call.arguments
    if call.name != "edit" or given.get("path", draft.path) != draft.path:
        return False
    before = draft.text.replace("\r\n", "\n")
    after = before.replace(given["old"], given["new"], 1)
    return find_break(draft.path, *(text.encode(errors="surrogateescape") for text in (before, after))) != ""


@lru_cache(_MOST_REMEMBERED)
def _error(path: str, data: bytes) -> str | None:
    if _is_large(data):
        return None
    suffix = os.path.splitext(path)[1].lower()
    if is_prose(path):
        return None
    if suffix in (".py", ".pyi"):
        return _python_error(data)
    if suffix == ".json":
        return _json_error(data)
    if suffix == ".toml" and len(data) <= _MOST_TOML_BYTES:
        return _toml_error(data)
    return _tree_error(path, data)


def _is_large(data: bytes) -> bool:
    return len(data) > _MOST_BYTES or data.count(b"\n") > _MOST_LINES


def _python_error(data: bytes) -> str | None:
    try:
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not _parses_in_parts(data):
                _compile(data)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return None


def _parses_in_parts(data: bytes) -> bool:
    """Whether a text parses, by what is known of its parts: an edit changes one, and the others need no second look.

    A part begins where a function or class does. If each parses alone, they do one after another.
    """
    first, *rest = _PART.split(data)
    has_wide_words = b"__future__" in b"".join(rest) or b"global " in data  # whose place in the whole text counts
    if not rest or has_wide_words or _CODING.match(first):
        return False
    flags = 0
    for part in (first, *rest):
        known = flags, hash(part)
        if known not in _PARSED:
            if len(_PARSED) >= _MOST_PARTS:
                _PARSED.clear()
            try:
                _PARSED[known] = _compile(part, flags)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return False  # where in the whole text, is said by that
        flags = _PARSED[known]
    return True


def _compile(text: bytes, flags: int = 0) -> int:
    """Half the time of `ast.parse`; the flags of the futures that the text imports, or had before."""
    made: CodeType = compile(text, "<source>", "exec", flags, dont_inherit=True)
    return made.co_flags & _FUTURES


def _json_error(data: bytes) -> str | None:
    import json

    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def _toml_error(data: bytes) -> str | None:
    import tomllib

    try:
        tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def _tree_error(path: str, data: bytes) -> str | None:
    """The first error that tree-sitter finds, where there is a grammar of the language."""
    from toolroll.text.code.syntax import grammars, languages

    language = languages.by_name(path)
    if language is None or language.prepare is not None or language.embeds or language.name == "markdown":
        return None
    try:
        grammar = grammars.grammar(language.name)
    except ToolError:
        return None
    import tree_sitter

    root = tree_sitter.Parser(grammar).parse(data).root_node
    found = _first_error(root) if root.has_error else None
    if found is None:
        return None
    line = found.start_point[0] + 1
    if found.is_missing:
        return f"line {line}: {found.type!r} is missing"
    text = data[found.start_byte : found.end_byte].decode(errors="replace").split("\n")[0].strip()[:_SHOWN]
    return f"line {line}: syntax error" + (f" at {text!r}" if text else "")


def _first_error(node: Node) -> Node | None:
    """The innermost node, from the left, that is an error or missing."""
    found = None
    while True:
        child = next((one for one in node.children if one.has_error or one.is_missing), None)
        found = node if node.is_error or node.is_missing else found
        if child is None:
            return found
        node = child
