"""The words of a shell text as the shell would see them, and what they make up: commands, redirections and more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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


NAMED = {PieceKind.HOME: "~", PieceKind.HERE: ".", PieceKind.USER: "user"}
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
                parts.append(NAMED.get(piece.kind, piece.text))
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
BRACE = Piece(PieceKind.UNKNOWN, "{")


def join(pieces: Iterable[Piece]) -> Word:
    """The word made of these pieces, with braces looked at as a whole."""
    gathered = tuple(pieces)
    if len(gathered) == 1 and gathered[0].kind is PieceKind.TEXT:
        return Word(gathered)
    if not any("]" in piece.text for piece in gathered):  # a bracket that nothing closes is a plain character
        gathered = tuple(Piece(PieceKind.TEXT, "[") if piece == OPEN else piece for piece in gathered)
    if BRACE in gathered:
        raw = "".join(piece.text for piece in gathered)
        if re.search(r"\{.*(,|\.\.).*\}", raw, re.DOTALL):
            return Word((*gathered[: gathered.index(BRACE)], Piece(PieceKind.UNKNOWN, raw)))
        gathered = tuple(Piece(PieceKind.TEXT, "{") if piece == BRACE else piece for piece in gathered)
    return Word(gathered)


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


def _program(word: Word) -> str | None:
    pieces = [piece for piece in word.pieces if piece.text]
    known = word.literal or (
        bool(pieces) and pieces[0].kind is PieceKind.HOME and all(piece.kind is PieceKind.TEXT for piece in pieces[1:])
    )
    return word.text.rpartition("/")[2] if known else None


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One simple command that the shell would run."""

    words: tuple[Word, ...]
    text: str
    where: str | None = "."
    """The folder it runs in as far as the text shows it: relative to the workspace, absolute, or None."""
    stdin: str | None = None
    """What it reads, when the text itself says it."""
    downloaded: bool = False
    """It reads what a download in front of the pipe gives."""
    source: SimpleCommand | None = None
    """The command in front of the pipe whose lines become its words, as with xargs."""
    more: bool = False
    """Further, unknown words are added when it runs, as xargs does."""
    sure: bool = True
    """The program is certain to be this one."""
    whole: bool = True
    """So are all its words."""
    clear: bool = False
    """It does nothing but run another command, which is listed by itself."""

    program: str | None = field(init=False, compare=False)
    """The last part of the program's path, or None when it is computed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "program", _program(self.words[0]) if self.words else None)

    @property
    def literal(self) -> tuple[str, ...] | None:
        """The words, or None when one of them is computed."""
        if self.more or not all(word.literal for word in self.words):
            return None
        return tuple(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Redirection:
    """A file that the shell itself opens for a command."""

    target: Word
    text: str
    writes: bool
    where: str | None = "."
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that is set, for one command or from here on."""

    name: str
    value: Word | None
    text: str
    lasting: bool = True


@dataclass(frozen=True, slots=True)
class UnclearPart:
    """Something that cannot be judged, with the reason."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ForkBomb:
    """A function that starts itself twice or more each time it runs."""

    text: str


Item = SimpleCommand | Redirection | Assignment | UnclearPart | ForkBomb


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item, and the function in whose body it stands."""

    item: Item
    owner: str | None = None


def normalise_path(path: str) -> str:
    """`path` without doubled slashes, "." and names that ".." takes back; globs are names like any other."""
    lead = "/" if path.startswith("/") else ""
    names: list[str] = []
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == ".." and names and names[-1] not in ("..", "~"):
            names.pop()
        elif name != ".." or not lead:
            names.append(name)
    return lead + "/".join(names) or "."


def resolve(where: str | None, path: str) -> str | None:
    """`path` as seen from the workspace when the command runs in `where`; None when that is not known."""
    if path.startswith(("/", "~")):
        return normalise_path(path)
    if where is None:
        return None
    found = normalise_path(f"{where}/{path}")
    return f"./{found}" if found.startswith("~") and not where.startswith("~") else found  # a file of that name


def folder_after(where: str | None, words: Sequence[Word]) -> str | None:
    """The folder that the next command runs in, after this one."""
    names = [word.text for word in words]
    while names and names[0] in ("command", "builtin"):
        names.pop(0)
        words = words[1:]
    if not names or names[0] not in ("cd", "pushd", "popd", "eval", "source", "."):
        return where
    operands = [word for word in words[1:] if word.text not in ("-P", "-L", "-e", "--")]
    if names[0] not in ("cd", "pushd") or len(operands) > 1:
        return None
    place = operands[0].place if operands else "~"
    if place is None or place.startswith(("-", "+")) or any(mark in place for mark in "*?["):
        return None
    return resolve(where, place)


def of_workspace(where: str | None, word: Word) -> bool:
    """Whether a program is a file below the workspace that happens to have the name of another program."""
    name = word.place or ""
    if "/" not in name:
        return False
    path = resolve(where, name)
    return path is None or not path.startswith(("/", "~", ".."))


DOWNLOADED = "\0"
"""A mark for what a download gives."""


def piped_text(command: SimpleCommand) -> str | None:
    """What a literal echo or printf prints, or cat passes on; a mark for what a download gives."""
    if command.downloaded or command.program in ("curl", "wget"):
        return DOWNLOADED
    words = command.literal
    if not words:
        return None
    if words == ("cat",):
        return command.stdin
    if words[0] == "echo" and not (words[1:] and words[1].startswith("-")):
        return " ".join(words[1:])
    if words[0] == "printf" and len(words) == 2 and "%" not in words[1]:
        return words[1].replace("\\n", "\n")
    return None
