"""The tests behind the destructive rows: what a call of a program would destroy."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from itertools import pairwise

from toolroll.policy.shell.parse import options
from toolroll.policy.shell.parse.options import OptionSpec
from toolroll.policy.shell.parse.targets import TargetKind, kind_of_word, takes_files
from toolroll.policy.shell.parse.unwrap import FIND_RUNS
from toolroll.policy.shell.parse.words import Piece, SimpleCommand, Word, names, plain
from toolroll.policy.shell.parse.wrappers import SHELLS

Harms = Callable[[SimpleCommand], bool]

MACHINE = frozenset({TargetKind.SYSTEM, TargetKind.DEVICE, TargetKind.KERNEL})
ROOTED = MACHINE | {TargetKind.ROOT}
ABROAD = ROOTED | {TargetKind.HOME, TargetKind.PARENT}
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


def _names(command: SimpleCommand, words: Iterable[Word], kinds: Container[TargetKind | None]) -> bool:
    """Whether one of the words names a place of these kinds."""
    return any(kind_of_word(command.where, word) in kinds for word in words)


def deletes_by_force(command: SimpleCommand) -> bool:
    """Whole folders, with no question asked."""
    return _flag(command, "rR", "--recursive") and _flag(command, "f", "--force")


def find_hosts(command: SimpleCommand) -> list[str]:
    """The hosts that are named in full and are not this machine. A word after an option may be the option's value."""
    words = [word.text if word.literal else "-" for word in command.words]
    alone = (one for before, one in pairwise(words) if not before.startswith("-") and not one.startswith("-"))
    named = (*alone, *(one for one in words[1:] if re.match(r"\w+://", one)))
    return [_HOST.sub(r"\1", one) for one in named if not _LOOPBACK.match(one)]


def reaches_out(command: SimpleCommand) -> bool:
    """Whether it names another machine."""
    return bool(find_hosts(command))


_HOST = re.compile(r"^(?:\w+://)?(?:[^/@]*@)?(\[[^]]*\]|[^/?#:]*).*$", re.DOTALL)
_LOOPBACK = re.compile(r"(?i)(?:https?://)?(?:localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:[/?#]|$)")


def deletes(command: SimpleCommand) -> bool:
    """Places outside, or with -r the workspace as a whole."""
    lost = ABROAD | {TargetKind.KEYS}
    if command.program == "rm" and _flag(command, "rR", "--recursive"):
        lost |= {TargetKind.WORKSPACE, TargetKind.HISTORY}
    return _gets_too_much(command) or _names(command, _operands(command), lost)


def _gets_too_much(command: SimpleCommand) -> bool:
    """`find / | xargs rm`."""
    return command.source is not None and command.source.program == "find" and _is_wide(command.source)


DELETING = names("rm unlink shred mv chmod chown chgrp truncate dd rmdir srm")
NARROWING = names("-name -iname -path -ipath -regex -iregex -wholename -lname -newer -samefile -inum")


def finds_and_deletes(command: SimpleCommand) -> bool:
    """From a place outside, and all that is there unless a name narrows it."""
    texts = [word.text for word in command.words]
    pairs = pairwise(texts)
    runs = any(text in FIND_RUNS and after.rpartition("/")[2] in DELETING for text, after in pairs)
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
    narrow = any(text in NARROWING and after not in ("*", "./*") for text, after in pairwise([*texts, ""]))
    temporary = all((root.place or "").rstrip("/") in ("/tmp", "/var/tmp") for root in roots)
    if not temporary and _names(command, roots, (TargetKind.ROOT, TargetKind.SYSTEM)):
        return True
    return not narrow and _names(command, roots, ABROAD - {TargetKind.SYSTEM})


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
    lost, onto = ABROAD | {TargetKind.KEYS}, ROOTED | {TargetKind.NULL}
    return _names(command, sources, lost) or _names(command, _unshared(command, target), onto)


def _unshared(command: SimpleCommand, words: list[Word]) -> list[Word]:
    """Of the places that files are put in, those that are not there for it."""
    return [word for word in words if not takes_files(command.where, word)]


def writes_over(command: SimpleCommand) -> bool:
    """Files of the system, or devices."""
    if command.program in ("tee", "truncate", "sponge"):
        return _names(command, _operands(command), ROOTED)
    target = _destination(command)
    if command.program == "rsync" and any(word.text.startswith("--delete") for word in command.words):
        return _names(command, target, ABROAD)
    return _names(command, _unshared(command, target), ROOTED)


def edits_system(command: SimpleCommand) -> bool:
    """Files of the system, changed in place by sed or perl."""
    return _flag(command, "i", "--in-place") and _names(command, _operands(command), MACHINE)


def changes_owner(command: SimpleCommand) -> bool:
    """Rights or owners of the system, or of all the user has."""
    onto = ABROAD if _flag(command, "R", "--recursive") else ROOTED
    return _gets_too_much(command) or _names(command, _operands(command), onto)


def copies_to_disk(command: SimpleCommand) -> bool:
    """dd with of= outside."""
    for word in command.words[1:]:
        if word.start.startswith("of="):
            first = word.pieces[0]
            rest = plain(word.text[3:]) if word.literal else Word((Piece(first.kind, first.text[3:]), *word.pieces[1:]))
            if _names(command, [rest], MACHINE):
                return True
    return False


def redirects_over(command: SimpleCommand) -> bool:
    """A redirection onto a device, a setting of the kernel or a file of the system."""
    return _names(command, command.words[1:2], MACHINE)


LOOKING = names("-l --list -p --print -I -i -V print --info list id-ctrl smart-log status luksDump")


def names_device(command: SimpleCommand) -> bool:
    """A tool for disks that is given a device, and not only to look at it."""
    looks = any(word.text in LOOKING for word in command.words[1:])
    return not looks and _names(command, _operands(command), (TargetKind.DEVICE,))


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
    signal = signal.upper().removeprefix("SIG")
    ends = signal in ("9", "15", "KILL", "TERM", "2", "INT", "3", "QUIT", "6", "ABRT")
    return ("-1" in texts and signal not in ("0", "L")) or ("1" in texts and ends)


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
    return _names(command, targets, ABROAD)


def unpacks_over(command: SimpleCommand) -> bool:
    """An archive unpacked over the system."""
    if command.program in ("tar", "bsdtar"):
        extracts = any(re.match(r"-?[a-zA-Z]*x", word.text) for word in command.words[1:2])
        if not extracts and not _flag(command, "x", "--extract", "--get"):
            return False
        folders = _values(command, "-C", "--directory")
    else:
        folders = _values(command, "-d", "-D", "--directory", "-o")
    return _names(command, _unshared(command, folders), (TargetKind.ROOT, TargetKind.SYSTEM))


def _values(command: SimpleCommand, *names: str) -> list[Word]:
    found: list[Word] = []
    for at, word in enumerate(command.words):
        for name in names:
            if word.text == name:
                found += command.words[at + 1 : at + 2]
            elif word.literal and word.text.startswith(f"{name}=" if name.startswith("--") else name):
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
