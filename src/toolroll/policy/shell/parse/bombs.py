"""Detect fork bombs: functions that start themselves, and endless loops that start background processes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from toolroll.policy.shell.parse.grammar import command_name

if TYPE_CHECKING:
    from tree_sitter import Node

Calls = Mapping[str, set[str]]

_WORD = r"""(?:[\w.-]+|"[^"$`]+"|'[^']+')"""
# What always succeeds: a builtin, a test of a text that is not empty or of two that are the same, a number.
_TRUE = re.compile(
    rf"""(?:builtin\s+|command\s+)?(?:/(?:usr/)?bin/)?(?::|true|echo|printf)(?:\s.*)?
    | !\s*(?:/(?:usr/)?bin/)?false | !\s*\(\(\s*0\s*\)\)
    | (?:\[\[?|test)\s+(?:-n\s+)?{_WORD}(?:\s+\]\]?)? | (?:\[\[?|test)\s+-z\s+(?:""|'')(?:\s+\]\]?)?
    | (?:\[\[?|test)\s+({_WORD})\s+(?:==?|-eq|-ge|-le)\s+\1(?:\s+\]\]?)?
    | \(\(\s*-?0*[1-9]\d*\s*\)\) | [A-Za-z_]\w*=[\w.-]*""",
    re.VERBOSE | re.DOTALL,
)
_FALSE = re.compile(r"(?:/(?:usr/)?bin/)?false|!\s*(?::|true)|\(\(\s*0\s*\)\)|\[\s+\]|test")
_NUMBER = re.compile(r"\s*-?0*[1-9]\d*\s*")
_STOPS = frozenset({"break", "exit", "return", "wait", "read", "exec"})
_PAUSE = re.compile(r"sleep\s+(?=[\d.]*[1-9])[\d.]+[smhd]?\s*")


def is_bomb(function: Node, called: Calls) -> bool:
    """Whether a body starts its own function in both ends of a pipe, or twice with one of them in the background.

    A function that is called back by what it calls counts as its own.
    """
    name = _function_name(function)
    own = {name, *(one for one in _reached(name, called) if name in _reached(one, called))}
    count, behind, stack = 0, False, [function]
    while stack:
        one = stack.pop()
        inside = [_calls(child, own) for child in one.children]
        count += sum(child.type == "command" and command_name(child) in own for child in one.children)
        if one.type == "pipeline" and sum(map(bool, inside)) > 1:
            return True
        behind = behind or any(found and _is_behind(child) for child, found in zip(one.children, inside, strict=True))
        stack += one.children
    return behind and count > 1


def is_endless(loop: Node) -> bool:
    """Whether a loop never ends by its condition, starts something in the background, and waits for nothing."""
    body = loop.child_by_field_name("body")
    if body is None or not _goes_on(loop) or not any(one.type == "&" for one in _inside(body)):
        return False
    return not any(_is_stop(one) for one in _foreground(body))


def _goes_on(loop: Node) -> bool:
    conditions = [one for one in loop.children_by_field_name("condition") if one.is_named]
    if loop.type == "c_style_for_statement":
        return not conditions or _NUMBER.fullmatch(_text(conditions[-1])) is not None
    pattern = _FALSE if loop.children[0].type == "until" else _TRUE
    return bool(conditions) and pattern.fullmatch(_text(conditions[-1])) is not None


def _is_stop(command: Node) -> bool:
    return command_name(command) in _STOPS or _PAUSE.fullmatch(_text(command)) is not None


def _foreground(node: Node) -> Iterator[Node]:
    """The commands that the loop itself waits for."""
    for child in node.children:
        if child.type in ("subshell", "function_definition") or _is_behind(child):
            continue
        if child.type == "command":
            yield child
        yield from _foreground(child)


def _is_behind(node: Node) -> bool:
    """Whether a statement is left in the background."""
    after = node.next_sibling
    return after is not None and after.type == "&"


def calls(root: Node) -> Calls:
    """By the name of each function in a text: what it calls."""
    functions = [one for one in _inside(root) if one.type == "function_definition"]
    return {
        _function_name(one): {command_name(inner) for inner in _inside(one) if inner.type == "command"}
        for one in functions
    }


def _reached(name: str, called: Calls) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for one in called.get(waiting.pop(), ()):
            if one in called and one not in found:
                found.add(one)
                waiting.append(one)
    return found


def _function_name(function: Node) -> str:
    name = function.child_by_field_name("name")
    return _text(name) if name is not None else ""


def _calls(node: Node, names: Collection[str]) -> int:
    return sum(one.type == "command" and command_name(one) in names for one in _inside(node))


def _inside(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack += one.children


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace").strip()
