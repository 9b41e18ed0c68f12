"""The tests behind the destructive rows: what a call of a program would destroy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from toolroll.policy.shell.parse import options
from toolroll.policy.shell.parse.options import OptionSpec
from toolroll.policy.shell.parse.targets import TargetKind, kind_of_word, takes_files
from toolroll.policy.shell.parse.words import Piece, SimpleCommand, Word, names, plain
from toolroll.policy.shell.parse.wrappers import SHELLS

Harms = Callable[[SimpleCommand], bool]

ABROAD = frozenset(
    {TargetKind.ROOT, TargetKind.HOME, TargetKind.PARENT, TargetKind.SYSTEM, TargetKind.DEVICE, TargetKind.KERNEL}
)
"""Places outside the work at hand."""


def any_call(command: SimpleCommand) -> bool:
    """Any call but one for help."""
    return not any(word.text in ("--help", "--version") for word in command.words[1:2])


def has_word(words: str, always: str) -> Harms:
    """A call with one of these words, or any call of the programs in `always`."""
    wanted, programs = frozenset(words.split()), frozenset(always.split())

    def harms(command: SimpleCommand) -> bool:
        return command.program in programs or any(word.text in wanted for word in command.words[1:])

    return harms


def _operands(command: SimpleCommand) -> list[Word]:
    """The words that do not look like options; the program's own options are not known here."""
    found, ended = [], False
    for word in command.words[1:]:
        if word.text == "--" and not ended:
            ended = True
        elif ended or not word.text.startswith("-") or word.text == "-":
            found.append(word)
    return found


def _flag(command: SimpleCommand, letters: str, *long: str) -> bool:
    for word in command.words[1:]:
        if word.text == "--":
            return False
        if word.text in long or (re.match(r"-\w", word.text) and set(letters) & set(word.text[1:])):
            return True
    return False


def _places(command: SimpleCommand, words: list[Word]) -> Iterator[TargetKind]:
    for word in words:
        found = kind_of_word(command.where, word)
        if found:
            yield found


def deletes_by_force(command: SimpleCommand) -> bool:
    """Whole folders, with no question asked."""
    return _flag(command, "rR", "--recursive") and _flag(command, "f", "--force")


def deletes(command: SimpleCommand) -> bool:
    """Places outside, or with -r the workspace as a whole."""
    lost = ABROAD | {TargetKind.KEYS}
    if command.program == "rm" and _flag(command, "rR", "--recursive"):
        lost |= {TargetKind.WORKSPACE, TargetKind.HISTORY}
    return _gets_too_much(command) or any(place in lost for place in _places(command, _operands(command)))


def _gets_too_much(command: SimpleCommand) -> bool:
    """`find / | xargs rm`."""
    return command.source is not None and command.source.program == "find" and _is_wide(command.source)


DELETING = names("rm unlink shred mv chmod chown chgrp truncate dd rmdir srm")
NARROWING = names("-name -iname -path -ipath -regex -iregex -wholename -lname -newer -samefile -inum")


def finds_and_deletes(command: SimpleCommand) -> bool:
    """From a place outside, and all that is there unless a name narrows it."""
    texts = [word.text for word in command.words]
    runs = any(
        text in ("-exec", "-execdir", "-ok", "-okdir")
        and texts[at + 1 : at + 2]
        and texts[at + 1].rpartition("/")[2] in DELETING
        for at, text in enumerate(texts)
    )
    return (runs or "-delete" in texts) and _is_wide(command)


def _is_wide(command: SimpleCommand) -> bool:
    """Whether find looks at places outside, with no name to narrow it."""
    texts = [word.text for word in command.words]
    roots = []
    for word in command.words[1:]:
        if word.text in ("-L", "-P", "-H"):
            continue
        if word.text.startswith(("-", "(", "!")):
            break
        roots.append(word)
    found = set(_places(command, roots))
    narrow = any(text in NARROWING and texts[at + 1 : at + 2] not in (["*"], ["./*"]) for at, text in enumerate(texts))
    if found & {TargetKind.ROOT, TargetKind.SYSTEM} and not _temporary(roots):
        return True
    return not narrow and bool(found & ABROAD - {TargetKind.SYSTEM})


def _temporary(roots: list[Word]) -> bool:
    return all((root.place or "").rstrip("/") in ("/tmp", "/var/tmp") for root in roots)


def _destination(command: SimpleCommand) -> list[Word]:
    """Where mv and cp put things: the last operand, or the folder of -t."""
    given = options.read(command.words[1:], OptionSpec("t:S:m:o:g:", "target-directory= suffix= mode= owner= group="))
    folder = [_value(word, text) for name, word, text in given.options if name in ("t", "target-directory") and word]
    if folder:
        return folder[-1:]
    return given.operands[-1:] if len(given.operands) > 1 else []


def _value(word: Word, text: str) -> Word:
    """The value of an option, which may be a part of the word that it stands in."""
    return plain(text) if word.literal else word


def moves_away(command: SimpleCommand) -> bool:
    """What is not ours, or into nothing."""
    target = _destination(command)
    sources = [word for word in _operands(command) if word not in target]
    lost = ABROAD | {TargetKind.KEYS}
    onto = {TargetKind.ROOT, TargetKind.SYSTEM, TargetKind.DEVICE, TargetKind.KERNEL, TargetKind.NULL}
    return any(place in lost for place in _places(command, sources)) or any(
        place in onto for place in _places(command, _filled(command, target))
    )


def _filled(command: SimpleCommand, words: list[Word]) -> list[Word]:
    """Of the places that files are put in, those that are not there for it."""
    return [word for word in words if not takes_files(command.where, word)]


def writes_over(command: SimpleCommand) -> bool:
    """Files of the system, or devices."""
    onto = {TargetKind.DEVICE, TargetKind.KERNEL, TargetKind.SYSTEM, TargetKind.ROOT}
    if command.program in ("tee", "truncate", "sponge"):
        return any(place in onto for place in _places(command, _operands(command)))
    target = _destination(command)
    if command.program == "rsync" and any(word.text.startswith("--delete") for word in command.words):
        onto |= {TargetKind.HOME, TargetKind.PARENT}
    else:
        target = _filled(command, target)
    return any(place in onto for place in _places(command, target))


def edits_system(command: SimpleCommand) -> bool:
    """Files of the system, changed in place by sed or perl."""
    onto = {TargetKind.DEVICE, TargetKind.KERNEL, TargetKind.SYSTEM}
    return _flag(command, "i", "--in-place") and any(place in onto for place in _places(command, _operands(command)))


def changes_owner(command: SimpleCommand) -> bool:
    """Rights or owners of the system, or of all the user has."""
    onto = {TargetKind.ROOT, TargetKind.SYSTEM, TargetKind.DEVICE, TargetKind.KERNEL}
    if _flag(command, "R", "--recursive"):
        onto |= {TargetKind.HOME, TargetKind.PARENT}
    return _gets_too_much(command) or any(place in onto for place in _places(command, _operands(command)))


def copies_to_disk(command: SimpleCommand) -> bool:
    """dd with of= outside."""
    for word in command.words[1:]:
        if word.start.startswith("of="):
            first = word.pieces[0]
            rest = plain(word.text[3:]) if word.literal else Word((Piece(first.kind, first.text[3:]), *word.pieces[1:]))
            if kind_of_word(command.where, rest) in (TargetKind.DEVICE, TargetKind.KERNEL, TargetKind.SYSTEM):
                return True
    return False


def redirects_over(command: SimpleCommand) -> bool:
    """A redirection onto a device, a setting of the kernel or a file of the system."""
    return len(command.words) > 1 and kind_of_word(command.where, command.words[1]) in (
        TargetKind.DEVICE,
        TargetKind.KERNEL,
        TargetKind.SYSTEM,
    )


LOOKING = names("-l --list -p --print -I -i -V print --info list id-ctrl smart-log status luksDump")


def names_device(command: SimpleCommand) -> bool:
    """A tool for disks that is given a device, and not only to look at it."""
    texts = [word.text for word in command.words[1:]]
    if set(texts) & LOOKING:
        return False
    return any(place is TargetKind.DEVICE for place in _places(command, _operands(command)))


def formats_drive(command: SimpleCommand) -> bool:
    """`format c:`."""
    return any(re.fullmatch(r"[A-Za-z]:\\?", word.text) for word in command.words[1:])


def kills_all(command: SimpleCommand) -> bool:
    """Process -1 stands for all of them, 1 for the first of all."""
    texts = [word.text for word in command.words[1:]]
    signal = "TERM"
    if texts[:1] and texts[0] in ("-s", "-n", "--signal"):
        signal, texts = (texts[1:2] or [""])[0], texts[2:]
    elif texts[:1] and re.fullmatch(r"-(\d+|[A-Za-z]\w*)", texts[0]):
        signal, texts = texts[0][1:], texts[1:]
    ends = signal.upper().removeprefix("SIG") in ("9", "15", "KILL", "TERM", "2", "INT", "3", "QUIT", "6", "ABRT")
    stops = signal.upper().removeprefix("SIG") not in ("0", "L")
    return ("-1" in texts and stops) or ("1" in texts and ends)


PKILL = OptionSpec(
    "u:U:G:g:P:s:t:fxnovewqilr", "euid= uid= group= pgroup= parent= session= terminal= signal= exact full"
)
KILLALL = OptionSpec("u:s:y:o:n:Z:egIilqrvw", "user= signal= younger-than= older-than= ns= regexp exact process-group")


def kills_user(command: SimpleCommand) -> bool:
    """All processes of a user, or of any name."""
    given = options.read(command.words[1:], KILLALL if command.program == "killall" else PKILL)
    names = [word.text for word in given.operands]
    user = given.has("u", "U", "euid", "uid", "user", "G", "group")
    return (user and not names) or any(name in (".", ".*", "", "*", "^") for name in names)


GIT = OptionSpec("C:c:pP", "git-dir= work-tree= namespace= exec-path? no-pager bare")


def git_outside(command: SimpleCommand) -> bool:
    """`git clean` by force in a place outside."""
    given = options.read(command.words[1:], GIT, stop=True)
    words = given.operands
    if not words or words[0].text != "clean":
        return False
    flags = [word.text for word in words[1:] if word.text.startswith("-")]
    if "--dry-run" in flags or any(re.match(r"-\w*n", flag) for flag in flags):
        return False
    if not any(flag == "--force" or re.match(r"-\w*f", flag) for flag in flags):
        return False
    targets = [word for word in words[1:] if not word.text.startswith("-")]
    targets += [_value(word, text) for name, word, text in given.options if name in ("C", "work-tree") and word]
    return any(place in ABROAD for place in _places(command, targets))


def unpacks_over(command: SimpleCommand) -> bool:
    """An archive unpacked over the system."""
    texts = [word.text for word in command.words[1:]]
    if command.program in ("tar", "bsdtar"):
        if not any(re.match(r"-?[a-zA-Z]*x", text) for text in texts[:1]) and not _flag(
            command, "x", "--extract", "--get"
        ):
            return False
        folders = _values(command, "-C", "--directory")
    else:
        folders = _values(command, "-d", "-D", "--directory", "-o")
    return any(place in (TargetKind.ROOT, TargetKind.SYSTEM) for place in _places(command, _filled(command, folders)))


def _values(command: SimpleCommand, *names: str) -> list[Word]:
    found: list[Word] = []
    for at, word in enumerate(command.words):
        for name in names:
            if word.text == name:
                found += command.words[at + 1 : at + 2]
            elif (
                word.literal
                and word.text.startswith(f"{name}=" if name.startswith("--") else name)
                and word.text != name
            ):
                found.append(plain(word.text[len(name) :].lstrip("=")))
    return found


DOWNLOADS = re.compile(r"[$<]\(\s*(?:curl|wget)\s")
CODE = OptionSpec("abcefhiklmnprstuvxBCDEHPTo:O:", "norc noprofile posix login")


def runs_download(command: SimpleCommand) -> bool:
    """A shell or an interpreter whose program is what a download gives, by a pipe or by a substitution."""
    words = command.words[1:]
    if command.program in ("eval", "source", "."):
        return any(DOWNLOADS.match(word.text) for word in words)
    given = options.read(words, CODE, stop=True)
    if given.operands and DOWNLOADS.match(given.operands[0].text):
        return True
    bare = not given.operands or given.operands[0].text == "-" or (command.program in SHELLS and given.has("s"))
    return command.downloaded and bare and not given.has("c", "m", "e")
