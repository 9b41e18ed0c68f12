"""Find the commands that a command runs: through a wrapper, a nested shell, find, xargs, eval or trap."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from toolroll.policy.shell.parse import options
from toolroll.policy.shell.parse.options import OptionSpec
from toolroll.policy.shell.parse.words import (
    Assignment,
    Item,
    Piece,
    PieceKind,
    SimpleCommand,
    UnclearPart,
    Word,
    of_workspace,
    plain,
    unknown,
)
from toolroll.policy.shell.parse.wrappers import EXACT, PATTERNS, SHELLS, Wrapper

SAME = frozenset({PieceKind.TEXT, PieceKind.GLOB, PieceKind.HOME, PieceKind.HERE, PieceKind.USER})
"""What means the same in the shell inside as outside."""
MAX_GIVEN_WORDS = 20
"""Arguments of parallel that are looked at."""
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.DOTALL)


@dataclass(slots=True)
class WrappedCommands:
    """What was found: items, shell texts to read, and whether the outer command does nothing else."""

    items: list[Item] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    clear: bool = False


def unwrap(command: SimpleCommand) -> WrappedCommands | None:
    """What `command` runs inside itself, or None when it is a plain program."""
    program = command.program
    if program is None or of_workspace(command.where, command.words[0]):
        return None
    if program in SHELLS:
        return _shell(command, program)
    special = SPECIAL.get(program)
    if special:
        return special(command)
    row = EXACT.get(program)
    if row is None and program.startswith("ld"):
        row = next((row for pattern, row in PATTERNS if fnmatchcase(program, pattern)), None)
    return _read_row(command, row) if row else None


def script(words: Sequence[Word]) -> str:
    """The words as one shell text; what is not known of them is a variable."""
    return " ".join("".join(piece.text if piece.kind in SAME else "${_}" for piece in word.pieces) for word in words)


def _inner(command: SimpleCommand, words: Sequence[Word], **changes: object) -> SimpleCommand:
    text = " ".join(word.text for word in words)
    inner = replace(command, words=tuple(words), text=text, sure=command.whole)
    return replace(inner, **changes) if changes else inner  # type: ignore[arg-type]


def _read_row(command: SimpleCommand, row: Wrapper) -> WrappedCommands:
    given = options.read(command.words[1:], row.options, stop=True)
    words = given.operands
    inside = WrappedCommands(clear=row.clear and given.unknown is None)
    if row.verbs:
        if not words or words[0].text not in row.verbs:
            return inside
        again = options.read(words[1:], row.options, stop=True)
        again.options = given.options + again.options
        given, words = again, [words[0], *again.operands]
    if row.text and _texts(inside, given, row):
        return inside
    words = _variables(inside, words) if row.variables else words
    words = words[row.skip :]
    if row.each:
        inside.texts += [script([word]) for word in words if not given.doubtful]
    elif row.joined and words and not given.has("x", "exec"):
        inside.texts += _shell_texts(words) if not given.doubtful else []
    elif words:
        where = None if given.has("C", "chdir", "cd") else command.where
        inside.items.append(_inner(command, words, sure=command.whole and not given.doubtful, where=where))
    return inside


def _texts(inside: WrappedCommands, given: options.GivenOptions, row: Wrapper) -> bool:
    """Shell text in an option, which may stand after an operand, as in `su root -c ...`."""
    for one in (given, options.read(given.operands, row.options)):
        for name, word, _ in one.options:
            if name in row.text and word is not None:
                inside.texts.append(str(one.value(name)) if word.literal else script([word]))
                return True
    return False


def _shell_texts(words: Sequence[Word]) -> list[str]:
    """parallel's arguments after `:::` are commands when nothing stands before it."""
    marks = [place for place, word in enumerate(words) if word.text in (":::", "::::", ":::+")]
    if not marks:
        return [script(words)]
    command, given = script(words[: marks[0]]), words[marks[0] + 1 :]
    if not command:
        return [script([word]) for word in given]
    if len(marks) > 1 or words[marks[0]].text != ":::":
        return [command]
    command = command if "{}" in command else f"{command} {{}}"
    texts = (shlex.quote(word.text) if word.literal else "${_}" for word in given[:MAX_GIVEN_WORDS])
    return [command.replace("{}", text) for text in texts]


def _variables(inside: WrappedCommands, words: list[Word]) -> list[Word]:
    while words and (found := ASSIGNMENT.match(words[0].start)):
        value = plain(words[0].text[found.end() :]) if words[0].literal else unknown(words[0].text)
        inside.items.append(Assignment(found[1], value, words[0].text, lasting=False))
        words = words[1:]
    return words


SHELL_OPTIONS = OptionSpec(
    "abcefhiklmnprstuvxBCDEHPTo:O:", "norc noprofile posix login rcfile= init-file= noediting restricted"
)


def _shell(command: SimpleCommand, program: str) -> WrappedCommands:
    words = [word for word in command.words[1:] if not re.fullmatch(r"\+[a-zA-Z]+", word.text)]
    given = options.read(words, SHELL_OPTIONS, stop=True)
    if given.has("c"):
        if not given.operands:
            return WrappedCommands()
        only = len(given.options) == 1 and given.unknown is None and program in ("sh", "bash", "dash")
        return WrappedCommands(texts=[script(given.operands[:1])], clear=only and given.operands[0].literal)
    if command.stdin is not None and (not given.operands or given.has("s")):
        return WrappedCommands(texts=[command.stdin])
    return WrappedCommands()


def _env(command: SimpleCommand) -> WrappedCommands:
    row = EXACT["env"]
    if command.words[1:2] and command.words[1].text == "-":
        command = replace(command, words=(command.words[0], plain("-i"), *command.words[2:]))  # it says the same
    given = options.read(command.words[1:], row.options, stop=True)
    for name, word, text in given.options:
        if name in ("S", "split-string") and word is not None:
            place = next(at for at, one in enumerate(command.words) if one is word)
            rest = (shlex.quote(one.text) for one in command.words[place + 1 :] if one.literal)
            return WrappedCommands(texts=[" ".join(["env", text if word.literal else "${_}", *rest])])
    inside = _read_row(command, row)
    only = command.words[1:2] and not command.words[1].text.startswith("-")
    inside.clear = inside.clear and bool(inside.items) and bool(only)
    return inside


def _command(command: SimpleCommand) -> WrappedCommands | None:
    """`command -v name` only tells where it is."""
    if len(command.words) > 1 and command.words[1].text in ("-v", "-V"):
        return None
    return _read_row(command, EXACT["command"])


def _eval(command: SimpleCommand) -> WrappedCommands:
    words = command.words[1:]
    return WrappedCommands(texts=[script(words[1:] if words and words[0].text == "--" else words)])


def _trap(command: SimpleCommand) -> WrappedCommands | None:
    words = [word for word in command.words[1:] if word.text != "--"]
    if len(words) < 2 or words[0].text in ("-", "", "-p", "-l") or words[0].text.isdecimal():
        return None
    return WrappedCommands(texts=[script(words[:1])])


XARGS = OptionSpec(
    "0rtpoxa:d:E:e::I:i::L:l::n:P:s:",
    "null no-run-if-empty verbose interactive open-tty exit arg-file= delimiter= eof? replace? max-lines? max-args="
    " max-procs= max-chars= process-slot-var= show-limits",
)


def _xargs(command: SimpleCommand) -> WrappedCommands:
    given = options.read(command.words[1:], XARGS, stop=True)
    mark = next((text or "{}" for name, _, text in given.options if name in ("I", "i", "replace")), None)
    clear = given.unknown is None and not given.has("p", "interactive", "o", "open-tty")
    words = given.operands or [plain("echo")]
    known = command.stdin if not given.has("a", "arg-file", "d", "delimiter", "0", "null") else None
    if mark is None:
        more = [] if known is None else [plain(text) for text in known.split()]
        simple = _inner(command, [*words, *more], more=known is None, stdin=None)
    else:
        simple = _inner(command, [_fill_word(word, mark, known) for word in words], stdin=None)
    simple = replace(simple, sure=simple.sure and not given.doubtful)
    return WrappedCommands(items=[simple], clear=clear)


def _fill_word(word: Word, mark: str, known: str | None) -> Word:
    if mark not in word.text:
        return word
    if not word.literal:
        return unknown(word.text)
    return plain(word.text.replace(mark, known)) if known is not None else _fill(word.text, mark)


def _fill(text: str, mark: str) -> Word:
    """The word with something unknown wherever the mark stands."""
    first, *rest = text.split(mark)
    pieces = [Piece(PieceKind.TEXT, first)]
    for part in rest:
        pieces += [Piece(PieceKind.VALUE, mark), Piece(PieceKind.TEXT, part)]
    return Word(tuple(piece for piece in pieces if piece.text))


FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")


def _find(command: SimpleCommand) -> WrappedCommands | None:
    inside = WrappedCommands()
    at = 1
    while at < len(command.words):
        if command.words[at].text not in FIND_RUNS:
            at += 1
            continue
        start = at + 1
        while at < len(command.words) and not _ends_run(command.words, at):
            at += 1
        files = Word((Piece(PieceKind.GLOB, "{}"),))
        words = [files if word.text == "{}" else word for word in command.words[start:at]]
        words = [_fill(word.text, "{}") if "{}" in word.text and word.literal else word for word in words]
        inside.items.append(_inner(command, words) if words else UnclearPart(command.text, "find runs nothing"))
    return inside if inside.items else None


def _ends_run(words: Sequence[Word], at: int) -> bool:
    return words[at].text == ";" or (words[at].text == "+" and words[at - 1].text == "{}")


def _fd(command: SimpleCommand) -> WrappedCommands | None:
    for place, word in enumerate(command.words):
        if word.text in ("-x", "-X", "--exec", "--exec-batch"):
            return WrappedCommands(items=[_inner(command, command.words[place + 1 :], more=True)])
    return None


def _flock(command: SimpleCommand) -> WrappedCommands | None:
    given = options.read(command.words[1:], EXACT["flock"].options, stop=True)
    words = given.operands[1:]
    if words and words[0].text in ("-c", "--command"):
        return WrappedCommands(texts=[script(words[1:2])])
    return WrappedCommands(items=[_inner(command, words)]) if words else None


def _daemon(command: SimpleCommand) -> WrappedCommands | None:
    given = options.read(command.words[1:], EXACT["start-stop-daemon"].options)
    program = given.value("x", "exec", "a", "startas")
    return WrappedCommands(items=[_inner(command, [plain(program), *given.operands])]) if program else None


def _callback(command: SimpleCommand) -> WrappedCommands | None:
    """For builtins that take shell text after -C; anything else they run is unknown."""
    words = command.words
    texts = [script([words[at + 1]]) for at in range(len(words) - 1) if words[at].text == "-C"]
    return WrappedCommands(texts=texts) if texts else None


def _after_dashes(command: SimpleCommand) -> WrappedCommands | None:
    """For programs with many options of their own: what follows `--` is the command."""
    for place, word in enumerate(command.words):
        if word.text == "--" and place + 1 < len(command.words):
            return WrappedCommands(items=[_inner(command, command.words[place + 1 :])])
    row = EXACT.get(command.program or "")
    return _read_row(command, row) if row else None


def _screen(command: SimpleCommand) -> WrappedCommands | None:
    """Only a new session that is left alone runs a command."""
    given = options.read(command.words[1:], EXACT["screen"].options, stop=True)
    return WrappedCommands(items=[_inner(command, given.operands)]) if given.has("m") and given.operands else None


def _capsh(command: SimpleCommand) -> WrappedCommands | None:
    """`capsh -- args` gives the arguments to bash."""
    for place, word in enumerate(command.words):
        if word.text == "--":
            return WrappedCommands(items=[_inner(command, [plain("bash"), *command.words[place + 1 :]])])
    return None


def _setarch(command: SimpleCommand) -> WrappedCommands | None:
    words = [word for word in command.words[1:] if not word.text.startswith("-")]
    start = 1 if words and re.fullmatch(r"\w*86\w*|arm\w*|aarch64|linux\d\d|uname26", words[0].text) else 0
    return WrappedCommands(items=[_inner(command, words[start:])]) if words[start:] else None


SPECIAL: dict[str, Callable[[SimpleCommand], WrappedCommands | None]] = {
    "env": _env, "command": _command, "eval": _eval, "trap": _trap, "xargs": _xargs, "find": _find, "fd": _fd,
    "fdfind": _fd, "flock": _flock, "start-stop-daemon": _daemon, "capsh": _capsh, "screen": _screen,
    "setarch": _setarch, "bwrap": _after_dashes, "firejail": _after_dashes,
    **dict.fromkeys(("compgen", "complete", "mapfile", "readarray"), _callback),
}  # fmt: skip
