"""A first pass over shell text: what the grammar reads wrongly is rewritten so that it reads it rightly.

Here-documents are taken out, lines ended by a backslash are joined, and the reserved words `time`, `!` and `coproc`
are blanked, because the grammar takes them for programs. Every change but the joining keeps all positions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TRIGGER = re.compile(r"<|\}>|\\\n|!|\btime\b|\bcoproc\b")
RUN = re.compile(r"[^\s\\'\"`$<>();&|]+")
DELIMITER = re.compile(r"(?:\\.|'[^'\n]*'|\"[^\"\n]*\"|[^\s\\'\"<>();&|])+")
STARTERS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "{"})
MAX_DEPTH = 40
ENDS_WORD = " \t\n(){};"


class _UnclearError(Exception):
    """Quotes and brackets that this pass does not follow; the grammar reads the rest as it stands."""


@dataclass(frozen=True, slots=True)
class HereDocument:
    """What a here-document or here-string gives to a command."""

    body: str | None
    """None for a here-string: its word follows the operator."""
    quoted: bool = False


@dataclass(slots=True)
class PreparedText:
    """Text for the grammar, and the here-documents that were taken out, by the position of their operator."""

    code: str
    here: dict[int, HereDocument] = field(default_factory=dict)


def prepare(text: str) -> PreparedText:
    """`text` with the same meaning in a form that the grammar reads rightly."""
    if "\\\n" in text:
        scan = _Scan(text)
        scan.run()
        joins = sorted(set(scan.joins))
        kept = zip([0, *(place + 2 for place in joins)], [*joins, len(text)], strict=True)
        text = "".join(text[start:end] for start, end in kept)
    scan = _Scan(text)
    scan.run()
    return PreparedText("".join(scan.code), scan.here)


def substitutions(body: str) -> list[str] | None:
    """The `$(..)`, `${..}` and backticks that a shell expands in a here-document; None when they cannot be found."""
    scan, found, place = _Scan(body), [], 0
    try:
        while place < len(body):
            start = place
            if body[place] == "\\":
                place += 2
            elif body[place] == "`":
                place = scan.escaped("`", place + 1)
            elif body.startswith(("$(", "${"), place):
                place = scan.inner(place)
            else:
                place += 1
                continue
            found.append(body[start:place])
    except _UnclearError:
        return None
    return [one for one in found if one[0] != "\\"]


class _Scan:
    """One pass. `code` is the text as a list of characters, changed in place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.code = list(text)
        self.here: dict[int, HereDocument] = {}
        self.joins: list[int] = []
        self.waiting: list[tuple[int, str, bool, bool]] = []
        self.starts = True  # the next word is in the place of a program
        self.fresh = True  # the next character begins a word
        self.depth = 0

    def run(self) -> None:
        """Go through the whole text, or up to where it is no longer clear."""
        place, size = 0, len(self.text)
        try:
            while place < size:
                place = self.step(place)
            self.bodies(size)
        except _UnclearError:
            for operator, *_ in self.waiting:  # their bodies stay where they are
                end = self.text.find("\n", operator)
                self.code[operator:end] = self.text[operator:end]

    def step(self, place: int) -> int:
        char = self.text[place]
        if char in " \t":
            self.fresh = True
            return place + 1
        if char == "\n":
            self.starts = self.fresh = True
            return self.bodies(place + 1)
        if char in ";&|)":
            self.starts = self.fresh = True
            return place + 1
        if char == "(":
            return self.bracket(place)
        if char in "<>":
            return self.redirection(place)
        if char == "#" and self.fresh:
            end = self.text.find("\n", place)
            return len(self.text) if end < 0 else end
        if char in "\\'\"`$":
            self.fresh = self.starts = False
            return self.quoted(place)
        return self.word(place)

    def word(self, place: int) -> int:
        found = RUN.match(self.text, place)
        end = found.end() if found else place + 1
        run = self.text[place:end]
        whole = self.fresh and (end == len(self.text) or self.text[end] in ENDS_WORD)
        if self.fresh and run[0] == "{" and run[-1] == "}" and self.text[end : end + 1] in ("<", ">"):
            self.blank(place, end)  # {name}>file
        elif self.starts and whole and run in ("!", "time", "coproc"):
            self.fresh = True
            return self.reserved(run, place, end)
        elif self.starts and whole and run == "function":  # and its name: then comes its body
            named = re.compile(r"[ \t]+[^\s;&|()<>]+").match(self.text, end)
            end = named.end() if named else end
        else:
            self.starts = self.starts and whole and run in STARTERS
        self.fresh = False
        return end

    def reserved(self, run: str, place: int, end: int) -> int:
        if run == "time":
            options = re.compile(r"(?:[ \t]+(?:-p|--)(?=\s))+").match(self.text, end)
            end = options.end() if options else end
        elif run == "coproc":
            named = re.compile(r"[ \t]+\w+(?=[ \t]+[{(])").match(self.text, end)
            end = named.end() if named else end
        self.blank(place, end)
        return end

    def blank(self, start: int, end: int) -> None:
        for place in range(start, end):
            if self.code[place] != "\n":
                self.code[place] = " "

    def bracket(self, place: int) -> int:
        if self.starts and self.text.startswith("((", place):
            self.fresh = self.starts = False
            return self.brackets(place)
        self.starts = self.fresh = True
        return place + 1

    def redirection(self, place: int) -> int:
        text = self.text
        self.fresh = True
        if text.startswith("<<<", place):
            self.code[place + 1] = self.code[place + 2] = " "
            self.here[place] = HereDocument(None)
            return place + 3
        if text.startswith("<<", place):
            return self.document(place)
        if text.startswith("<>", place):
            self.code[place : place + 2] = [">", " "]
        return place + (2 if text[place + 1 : place + 2] in ("<", ">", "&", "|") else 1)

    def document(self, place: int) -> int:
        start = place + 2
        tabs = self.text.startswith("-", start)
        start += tabs
        while self.text[start : start + 1] in (" ", "\t"):
            start += 1
        found = DELIMITER.match(self.text, start)
        if not found:
            raise _UnclearError
        raw = found.group()
        quoted = any(mark in raw for mark in "\\'\"")
        self.waiting.append((place, re.sub(r"\\(.)|['\"]", r"\1", raw), quoted, tabs))
        self.code[place : found.end()] = ["<", *("_" * (found.end() - place - 1))]
        return found.end()

    def bodies(self, place: int) -> int:
        """Past the bodies of the here-documents whose operators stand on the line that just ended."""
        for operator, delimiter, quoted, tabs in self.waiting:
            start, place, end = place, *self.body(place, delimiter, quoted, tabs)
            self.here[operator] = HereDocument(self.text[start:end], quoted)
            self.blank(start, place)
        self.waiting.clear()
        return place

    def body(self, place: int, delimiter: str, quoted: bool, tabs: bool) -> tuple[int, int]:
        joined = False
        while place < len(self.text):
            end = self.text.find("\n", place)
            end = len(self.text) if end < 0 else end
            line = self.text[place:end]
            if not joined and (line.lstrip("\t") if tabs else line) == delimiter:
                return min(end + 1, len(self.text)), place
            joined = not quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
            if joined and end < len(self.text):
                self.joins.append(end - 1)
            place = end + 1
        return len(self.text), len(self.text)

    # What follows steps over one quoted or bracketed piece; `place` is where the piece begins.

    def quoted(self, place: int) -> int:
        char = self.text[place]
        if char == "\\":
            if self.text.startswith("\n", place + 1):
                self.joins.append(place)
            return place + 2
        if char == "'":
            return self.after("'", place + 1)
        if char == '"':
            return self.expanded('"', "\\`", place + 1)
        if char == "`":
            return self.escaped("`", place + 1)
        return self.dollar(place)

    def dollar(self, place: int) -> int:
        following = self.text[place + 1 : place + 2]
        if following == "'":
            return self.escaped("'", place + 2)
        if following == '"':
            return self.expanded('"', "\\`", place + 2)
        if following == "{" or self.text.startswith("((", place + 1):
            return self.inner(place)
        if following == "(":
            self.starts = self.fresh = True
            return place + 2
        return place + 1

    def after(self, mark: str, place: int) -> int:
        end = self.text.find(mark, place)
        if end < 0:
            raise _UnclearError
        return end + 1

    def escaped(self, mark: str, place: int) -> int:
        while place < len(self.text):
            if self.text[place] == "\\":
                place += 1
            elif self.text[place] == mark:
                return place + 1
            place += 1
        raise _UnclearError

    def inner(self, place: int) -> int:
        """Past `${..}` or `$(..)`; `place` is its dollar."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _UnclearError
        place = self.expanded("}", "\\'\"`", place + 2) if self.text[place + 1] == "{" else self.brackets(place + 1)
        self.depth -= 1
        return place

    def expanded(self, end: str, quotes: str, place: int) -> int:
        """Past the mark that ends text in which the shell expands; `quotes` begin what is stepped over as a whole."""
        while place < len(self.text):
            char = self.text[place]
            if char == end:
                return place + 1
            if char in quotes:
                place = self.quoted(place)
            elif char == "$" and self.text[place + 1 : place + 2] in ("{", "("):
                place = self.inner(place)
            else:
                place += 1
        raise _UnclearError

    def brackets(self, place: int) -> int:
        """Past the bracket that closes the one at `place`; a `case` or a here-document inside is not followed."""
        depth, number = 0, self.text.startswith("((", place)
        while place < len(self.text):
            char = self.text[place]
            if char in "\\'\"`":
                place = self.quoted(place)
                continue
            if not number and (self.text.startswith("<<", place) or char == "#" or self.text.startswith("case", place)):
                raise _UnclearError
            depth += (char == "(") - (char == ")")
            place += 1
            if depth == 0:
                return place
        raise _UnclearError
