"""Parse and write the subset of YAML front matter that notes use; all other lines are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

Value = str | tuple[str, ...]

_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|)$")
_GOES_ON = re.compile(r"[ \t\]}]|-(?:[ \t]|$)|#|$")
_DASH = re.compile(r"^-(?:[ \t]+|$)", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")
_BLOCK = re.compile(r"([|>])[-+0-9]*$")
_QUOTED = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')[ \t]*(?:#.*)?$""")
_ITEM = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^,\]]*))\s*([,\]]|$)""")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_FENCES = ("---", "...")

# Written without quotes: what begins with a letter and holds nothing that YAML reads as a sign, unless it is a word
# that YAML takes for another value, or could be a number (such as 1e3).
_PLAIN = re.compile(r"[^\W\d_][\w /.+()-]*(?<! )")
_WORDS = frozenset(["true", "false", "yes", "no", "on", "off", "null", "y", "n"])
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True)
class FrontMatterEntry:
    """The lines of one key, as they are written; lines that are of no key have none."""

    key: str
    lines: tuple[str, ...]

    @property
    def value(self) -> Value:
        found = _KEY.match(self.lines[0])
        first = (found[2] or "") if found else ""
        return _value(first, [line for line in self.lines[1:] if not line.lstrip().startswith("#")])


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Front matter and the text behind it. A text without any has no entries and is all body."""

    entries: tuple[FrontMatterEntry, ...]
    body: str
    faults: tuple[str, ...] = ()
    newline: str = "\n"

    def values(self) -> dict[str, Value]:
        """The value of each key; of a key that occurs twice, the last."""
        return {entry.key: entry.value for entry in self.entries if entry.key}

    def having(self, values: Mapping[str, Value]) -> FrontMatter:
        """The same with these keys set. All other lines stay as they are."""
        left = dict(values)
        entries = []
        for entry in self.entries:
            if entry.key not in values:
                entries.append(entry)
            elif entry.key in left:  # else it is there twice, and said already
                entries.append(_entry(entry.key, left.pop(entry.key)))
        return replace(self, entries=(*entries, *(_entry(key, value) for key, value in left.items())))

    def __str__(self) -> str:
        lines = ["---", *(line for entry in self.entries for line in entry.lines), "---", ""]
        return self.newline.join(lines) + self.body


def read_front_matter(text: str) -> FrontMatter:
    """The front matter of a text. What cannot be understood is a fault, and kept."""
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return FrontMatter((), newline + text if text else "", newline=newline)
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() in _FENCES), None)
    if end is None:
        return FrontMatter((), newline + text, ("The front matter has no end: a line of three dashes.",), newline)
    entries, faults = _entries([line.rstrip("\r") for line in lines[1:end]])
    return FrontMatter(entries, "\n".join(lines[end + 1 :]), faults, newline)


def scalar(text: str) -> str:
    """A text as YAML, in quotes where it could be read as something else."""
    plain = (_PLAIN.fullmatch(text) and text.lower() not in _WORDS) or _MOMENT.fullmatch(text)
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    made = json.dumps(text, ensure_ascii=False)
    # JSON leaves characters as they are that YAML does not print, or takes for the end of a line.
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", made)


def _entry(key: str, value: Value) -> FrontMatterEntry:
    said = scalar(value) if isinstance(value, str) else f"[{', '.join(map(scalar, value))}]"
    return FrontMatterEntry(key, (f"{key}: {said}",))


def _entries(lines: Sequence[str]) -> tuple[tuple[FrontMatterEntry, ...], tuple[str, ...]]:
    entries: list[tuple[str, list[str]]] = []
    faults: list[str] = []
    for number, line in enumerate(lines, start=2):
        if (found := _KEY.match(line)) is not None:
            entries.append((found[1], [line]))
        elif _GOES_ON.match(line) and entries:
            entries[-1][1].append(line)
        else:
            entries.append(("", [line]))
            if line.strip() and not line.startswith("#"):
                faults.append(f"Line {number} of the front matter is not of the form 'key: value': {line[:80]!r}.")
    return tuple(FrontMatterEntry(key, tuple(said)) for key, said in entries), tuple(faults)


def _value(first: str, rest: Sequence[str]) -> Value:
    head = _COMMENT.sub("", first).strip()
    if (block := _BLOCK.fullmatch(head)) is not None:
        return ("\n" if block[1] == "|" else " ").join(line.strip() for line in rest).strip()
    following = [line.strip() for line in rest if line.strip()]
    if not head and following and _DASH.match(following[0]):
        items = _DASH.split("\n".join(following))  # an item may go on in the next line
        return tuple(filter(None, (_text(item.replace("\n", " ")) for item in items)))
    whole = " ".join([first.strip(), *following]).strip()
    return _items(whole) if whole.startswith("[") else _text(whole)


def _items(said: str) -> tuple[str, ...]:
    items, at, sign = [], 1, ","
    while sign == ",":
        found = _ITEM.match(said, at)
        assert found is not None  # a plain item may be anything up to the next sign
        items.append(_unquoted(found[1], found[2], found[3]))
        at, sign = found.end(), found[4]
    return tuple(filter(None, items))


def _text(said: str) -> str:
    """A single value: what is in its quotes, or all of it without the comment."""
    said = said.strip()
    if (found := _QUOTED.match(said)) is not None:
        return _unquoted(found[1], found[2], None)
    return _COMMENT.sub("", said).strip()


def _unquoted(double: str | None, single: str | None, plain: str | None) -> str:
    if double is not None:
        # Two escapes may be the halves of one character, as JSON writes it.
        return _ESCAPE.sub(_escaped, double).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return single.replace("''", "'") if single is not None else (plain or "").strip()


def _escaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    number = int(code, 16) if code else 0
    return chr(min(number, 0x10FFFF)) if code else _ESCAPES.get(found[4], found[4])
