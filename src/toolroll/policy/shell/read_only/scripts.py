"""Whether a sed or awk program only reads and prints. In doubt it does not."""

from __future__ import annotations

import re

from toolroll.policy.shell.parse.words import names

# sed

ADDRESS = re.compile(r"\d+(?:[~,+]\d+)?|\$|,|[+~]\d+|!|[ \t;\n{}]")
ADDRESS_FLAGS = re.compile(r"[IM]*")
SUBSTITUTE_FLAGS = re.compile(r"[gpiImM0-9]*")
PLAIN_COMMAND = re.compile(r"[dDgGhHnNpPxz=F]|[qQlL]\s*\d*|[btT:]\s*[\w.-]*|#[^\n]*")
ENDS = re.compile(r"[ \t]*(?:[;\n}]|$)")


def sed_reads(script: str) -> bool:
    """Whether a sed script has no command that writes, reads another file or runs a program."""
    place = 0
    while place < len(script):
        after = _sed_step(script, place)
        if after is None:
            return False
        place = after
    return True


def _sed_step(script: str, place: int) -> int | None:
    """Past one address, separator or command; None when it is not one that only prints."""
    if found := ADDRESS.match(script, place):
        return found.end()
    char = script[place]
    if char in "/\\":
        start = place + (char == "\\")
        end = _sed_part(script, start + 1, script[start : start + 1])
        flags = ADDRESS_FLAGS.match(script, end) if end is not None else None
        return flags.end() if flags else None
    if char in "sy":
        mark = script[place + 1 : place + 2]
        end = _sed_part(script, place + 2, mark)
        end = None if end is None else _sed_part(script, end, mark)
        if end is None:
            return None
        found = SUBSTITUTE_FLAGS.match(script, end) if char == "s" else None
        end = found.end() if found else end
        return end if ENDS.match(script, end) else None
    if char in "aic":
        line = re.compile(r"[^\\\n]*").match(script, place + 1)
        end = line.end() if line else place
        return end if end == len(script) or script[end] == "\n" else None
    found = PLAIN_COMMAND.match(script, place)
    return found.end() if found and ENDS.match(script, found.end()) else None


def _sed_part(script: str, place: int, mark: str) -> int | None:
    """Past the delimiter that ends a pattern or its replacement."""
    if not mark or mark in "\\\n" or mark.isalnum() or mark.isspace():
        return None
    return _pattern_end(script, place, mark)


BRACKETS = re.compile(r"\[\^?(?:[^\[\]\\]|\\[a-z.]|\[:\w+:\])+\]")


def _pattern_end(text: str, place: int, mark: str) -> int | None:
    """Past the `mark` that ends a pattern; None when it is missing, or when a bracket makes it a question."""
    start = place
    while place < len(text) and text[place] != mark:
        place += 2 if text[place] == "\\" else 1
    if place >= len(text):
        return None
    inside = re.sub(r"\\[\[\]\\]", "", text[start:place])
    return None if "[" in BRACKETS.sub("", inside) else place + 1


# awk

NEVER = re.compile(r"system|getline|@|inet|\\\n")
REGEX_MAY_FOLLOW = frozenset("(,{;!~&|\n")
WORDS = re.compile(r"[A-Za-z_]\w*$")
NOT_VALUES = names(
    "print printf return in do else exit delete case if while for function func switch default break continue"
    " BEGIN END BEGINFILE ENDFILE next nextfile length"
)


def awk_reads(program: str) -> bool:
    """Whether an awk program cannot write a file or run a program."""
    if NEVER.search(program):
        return False
    code = _awk_code(program)
    if code is None:
        return False
    for statement in re.split(r"[;{}\n]", code):
        printing = statement.find("print")
        if printing >= 0 and ">" in statement[printing:]:
            return False
    return "|" not in code.replace("||", "")


def _awk_code(program: str) -> str | None:
    """The program with its strings and patterns emptied, or None when it is not certain what is what."""
    code, place = "", 0
    while place < len(program):
        char = program[place]
        if char == "#":
            end = program.find("\n", place)
            place = len(program) if end < 0 else end
            continue
        if char == '"' or (char == "/" and _regex_begins(code)):
            ending = _awk_end(program, place + 1, char)
            if ending is None:
                return None
            code, place = code + char + char, ending
            continue
        if char == "/" and not _divides(code):
            return None
        code, place = code + char, place + 1
    return code


def _regex_begins(code: str) -> bool:
    before = code.rstrip(" \t")
    return not before or before[-1] in REGEX_MAY_FOLLOW


def _divides(code: str) -> bool:
    before = code.rstrip(" \t")
    word = WORDS.search(before)
    return before[-1] == "]" or before[-1].isdigit() or bool(word and word.group() not in NOT_VALUES)


def _awk_end(program: str, place: int, mark: str) -> int | None:
    if mark == "/":
        end = _pattern_end(program, place, mark)
        return None if end is None or "\n" in program[place:end] else end
    found = re.compile(r'(?:\\.|[^"\\\n])*"').match(program, place)
    return found.end() if found else None
