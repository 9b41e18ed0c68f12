"""One word of a command as the shell would see it: its quotes removed, and what cannot be known marked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum


def names(text: str) -> frozenset[str]:
    """A set of names from text with blanks between them."""
    return frozenset(text.split())


class PieceKind(Enum):
    """What a piece of a word is."""

    TEXT = "text"
    GLOB = "glob"
    """An unquoted `*`, `?` or `[`."""
    HOME = "home"
    """`~`, `~user` or `$HOME`."""
    HERE = "here"
    """`$PWD`."""
    USER = "user"
    """`$USER`."""
    NUMBER = "number"
    """`$?`, `$$`, `$#` or `$!`."""
    VALUE = "value"
    """Any other variable, with nothing done to it."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word; `text` is decoded for TEXT, and as written for the others."""

    kind: PieceKind
    text: str


TAME = frozenset({PieceKind.TEXT, PieceKind.GLOB, PieceKind.HOME, PieceKind.NUMBER})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command. Only a literal one is certain to be exactly `text`."""

    pieces: tuple[Piece, ...]
    text: str = field(init=False, compare=False)
    """The word as the shell would see it; what is not known stays as it is written."""
    literal: bool = field(init=False, compare=False)
    """Nothing in it is left to expansion."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", "".join([piece.text for piece in self.pieces]))
        object.__setattr__(self, "literal", all(piece.kind is PieceKind.TEXT for piece in self.pieces))

    @property
    def start(self) -> str:
        """The known beginning; a word that begins with `~` begins with a slash."""
        known = ""
        for piece in self.pieces:
            if piece.kind is PieceKind.HOME and not known:
                return "/"
            if piece.kind is not PieceKind.TEXT:
                break
            known += piece.text
        return known

    @property
    def tame(self) -> bool:
        """Whether nothing but files, the home folder or numbers can come of its expansions."""
        return all(piece.kind in TAME for piece in self.pieces)

    @property
    def idle(self) -> bool:
        """Whether expanding it runs nothing and sets nothing, whatever comes of it."""
        return all(piece.kind is not PieceKind.UNKNOWN for piece in self.pieces)

    @property
    def place(self) -> str | None:
        """The path it names: `~` is the home folder, unquoted globs are kept; None when it cannot be known."""
        parts: list[str] = []
        for piece in self.pieces:
            if piece.kind in (PieceKind.UNKNOWN, PieceKind.NUMBER, PieceKind.VALUE):
                return None
            if piece.kind is PieceKind.TEXT:
                text = re.sub(r"[*?[]", "_", piece.text)  # quoted, so it is a name like any other
                parts.append(f"_{text}" if text.startswith("~") and not any(parts) else text)
            else:
                parts.append(
                    {PieceKind.HOME: "~", PieceKind.HERE: ".", PieceKind.USER: "user"}.get(piece.kind, piece.text)
                )
        return "".join(parts)


VARIABLES = {
    "HOME": PieceKind.HOME,
    "PWD": PieceKind.HERE,
    "USER": PieceKind.USER,
    "LOGNAME": PieceKind.USER,
    **dict.fromkeys("?$#!", PieceKind.NUMBER),
}


def variable(text: str) -> Piece:
    """The piece for an expansion as it is written."""
    name = text[2:-1] if text.startswith("${") else text[1:]
    other = PieceKind.VALUE if re.fullmatch(r"\w+|[@*]", name) else PieceKind.UNKNOWN
    return Piece(VARIABLES.get(name, other), text)


def plain(text: str) -> Word:
    """A literal word."""
    return Word((Piece(PieceKind.TEXT, text),))


def unknown(text: str) -> Word:
    """A word whose value is known only at run time; `text` is how it is written."""
    return Word((Piece(PieceKind.UNKNOWN, text),))


OPEN = Piece(PieceKind.GLOB, "[")


def join(pieces: Iterable[Piece]) -> Word:
    """The word made of these pieces, with braces looked at as a whole."""
    gathered = tuple(pieces)
    if len(gathered) == 1 and gathered[0].kind is PieceKind.TEXT:
        return Word(gathered)
    if not any("]" in piece.text for piece in gathered):  # a bracket that nothing closes is a plain character
        gathered = tuple(Piece(PieceKind.TEXT, "[") if piece == OPEN else piece for piece in gathered)
    if any(piece.kind is PieceKind.UNKNOWN and piece.text == "{" for piece in gathered):
        raw = "".join(piece.text for piece in gathered)
        if re.search(r"\{.*(,|\.\.).*\}", raw, re.DOTALL):
            return Word((*_before_brace(gathered), Piece(PieceKind.UNKNOWN, raw)))
        gathered = tuple(
            Piece(PieceKind.TEXT, "{") if piece.kind is PieceKind.UNKNOWN and piece.text == "{" else piece
            for piece in gathered
        )
    return Word(gathered)


def _before_brace(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    for index, piece in enumerate(pieces):
        if piece.text == "{" and piece.kind is PieceKind.UNKNOWN:
            return pieces[:index]
    return pieces


SPECIAL = re.compile(r"[\\*?\[{~]")
BARE = re.compile(r"\\(?:\n|.|$)|[*?\[]|\{|[^\\*?\[{]+", re.DOTALL)


def bare(raw: str, first: bool) -> list[Piece]:
    """The pieces of unquoted text; `first` when it begins the word, where `~` means the home folder."""
    if not SPECIAL.search(raw):
        return [Piece(PieceKind.TEXT, raw)]
    pieces = []
    if first and raw.startswith("~"):
        user = re.match(r"~[^/]*", raw)
        name = user.group() if user else "~"
        pieces.append(Piece(PieceKind.HOME if re.fullmatch(r"~[\w.]*", name) else PieceKind.UNKNOWN, name))
        raw = raw[len(name) :]
    for found in BARE.finditer(raw):
        token = found.group()
        if token[0] == "\\":
            if token != "\\\n":
                pieces.append(Piece(PieceKind.TEXT, token[1:] or "\\"))
        elif token in ("*", "?", "["):
            pieces.append(Piece(PieceKind.GLOB, token))
        else:
            pieces.append(Piece(PieceKind.UNKNOWN if token == "{" else PieceKind.TEXT, token))
    return pieces


def double(raw: str) -> Piece:
    """What stands in double quotes, without any expansion in it."""
    return Piece(PieceKind.TEXT, re.sub(r"\\([$`\"\\\n])", lambda found: found[1].strip("\n"), raw))


ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.)|(.))", re.DOTALL
)
SIMPLE = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def ansi(raw: str) -> Piece:
    """What stands between `$'` and `'`; a NUL ends it, as it does for the shell."""
    done = b""
    at = 0
    for found in ESCAPE.finditer(raw):
        done += raw[at : found.start()].encode("utf-8", "surrogatepass") + _escape(found)
        at = found.end()
    done += raw[at:].encode("utf-8", "surrogatepass")
    return Piece(PieceKind.TEXT, done.partition(b"\0")[0].decode("utf-8", "replace"))


def _escape(found: re.Match[str]) -> bytes:
    octal, byte, short, long, control, other = found.groups()
    if octal or byte:
        return bytes([int(octal, 8) & 255 if octal else int(byte, 16)])
    if short or long:
        number = int(short or long, 16)
        return chr(number).encode("utf-8", "replace") if number < 0x110000 else b"?"
    if control:
        return bytes([ord(control.upper()) & 31])
    if other in "\\'\"?":
        return str(other).encode()
    return SIMPLE.get(other, f"\\{other}").encode("utf-8", "replace")
