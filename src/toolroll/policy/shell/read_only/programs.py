"""Whether a command only reads: one row for a program or a few, with the options that it may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolroll.policy.shell.parse import options
from toolroll.policy.shell.parse.options import GivenOptions, OptionSpec
from toolroll.policy.shell.parse.words import SimpleCommand, Word, names
from toolroll.policy.shell.read_only.scripts import awk_reads, sed_reads

NONE = OptionSpec()
FOLDERS = ("", "/bin/", "/usr/bin/", "/usr/local/bin/")
"""Where a program may be named in full; elsewhere it may be another one of the same name."""


@dataclass(frozen=True, slots=True)
class ReadOnlyProgram:
    """Programs that may be run without asking, with these options and operands, and examples of both answers."""

    programs: tuple[str, ...]
    options: OptionSpec = NONE
    operands: int | None = None
    """At most so many; with a limit, no operand may be left to expansion."""
    check: Callable[[GivenOptions], bool] | None = None
    words: Callable[[Sequence[Word]], bool] | None = None
    """Judges all words after the program by itself."""
    loose: bool = False
    """No option of the program does harm, so words may come from file names or from xargs."""
    values: bool = False
    """It only prints its words, so they may be variables."""
    numbers: bool = False
    """`-5` is an option."""
    allows: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()


def is_read_only(row: ReadOnlyProgram, command: SimpleCommand) -> bool:
    """Whether the row covers this call of its program."""
    name = command.words[0].text
    if name.removesuffix(command.program or "") not in FOLDERS:
        return False
    words = command.words[1:]
    if (command.more and not row.loose) or not all(_settled(row, word) for word in words):
        return False
    if row.words:
        return row.words(words)
    given = options.read(words, row.options, numbers=row.numbers)
    if given.unknown is not None or (row.operands is not None and len(given.operands) > row.operands):
        return False
    return row.check is None or row.check(given)


def _settled(row: ReadOnlyProgram, word: Word) -> bool:
    """Whether a word that is left to expansion can only become the name of a file."""
    if word.literal or (row.values and word.idle):
        return True
    if not word.tame or row.operands is not None:
        return False
    start = word.start
    if start.startswith("-"):
        return bool(re.match(r"--[\w-]+=", start))
    return row.loose or bool(start)


# The rules of single programs.


def is_sed(given: GivenOptions) -> bool:
    """Scripts that only print."""
    scripts = [(word, text) for name, word, text in given.options if name in ("e", "expression")]
    scripts = scripts or [(word, word.text) for word in given.operands[:1]]
    return bool(scripts) and all(word is not None and word.literal and sed_reads(text) for word, text in scripts)


def is_awk(given: GivenOptions) -> bool:
    """A program that only prints, and files."""
    if not given.operands or not given.operands[0].literal or not awk_reads(given.operands[0].text):
        return False
    return not any("inet" in word.text for word in given.operands[1:])


def has_operands(pattern: str, least: int = 0) -> Callable[[GivenOptions], bool]:
    """A check that so many operands are given, and that each has this form."""
    form = re.compile(pattern, re.DOTALL)
    return lambda given: len(given.operands) >= least and all(form.fullmatch(word.text) for word in given.operands)


FIND_ALONE = names(
    "-print -print0 -ls -prune -depth -d -daystart -follow -mount -xdev -noleaf -nouser -nogroup -empty -readable"
    " -writable -executable -true -false -quit -a -o -and -or -not ! ( ) , -L -P -H -E -x -ignore_readdir_race"
)
FIND_VALUE = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -atime -ctime -mmin"
    " -amin -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -links -inum -samefile -lname -ilname -fstype"
    " -maxdepth -mindepth -regextype -printf -used -context"
)
NEWER = re.compile(r"-newer[aBcmt][aBcmt]")


def is_tree(given: GivenOptions) -> bool:
    """tree takes the next word for a value even where letters follow the option: `-Io x y` writes to y."""
    return all(word is None or not re.match(r"-(?!-)", word.text) for _, word, _ in given.options)


def is_find(words: Sequence[Word]) -> bool:
    """Tests and printing; commands after -exec are judged by themselves."""
    at = 0
    while at < len(words):
        text = words[at].text
        if text in FIND_VALUE or NEWER.fullmatch(text):
            if at + 1 >= len(words) or not words[at + 1].literal:
                return False
            at += 2
        elif text in ("-exec", "-execdir"):
            while at < len(words) and not (
                words[at].text == ";" or (words[at].text == "+" and words[at - 1].text == "{}")
            ):
                at += 1
            at += 1
        elif text in FIND_ALONE or re.fullmatch(r"-O[0-3]", text) or not text.startswith(("-", "(", ")", "!", ",")):
            at += 1
        else:
            return False
    return True


def is_echo(_words: Sequence[Word]) -> bool:
    """Whatever echo prints, it only prints."""
    return True


def is_printf(words: Sequence[Word]) -> bool:
    """-v and %n set variables."""
    return bool(words) and words[0].literal and not re.search(r"^-|%[^a-zA-Z%]*n", words[0].text)


def is_test(words: Sequence[Word]) -> bool:
    """-v and -R evaluate a subscript."""
    return all(word.literal and not re.search(r"^-[vRt]\Z|[\[$`]", word.text) for word in words)


def is_bracket(words: Sequence[Word]) -> bool:
    """The same between brackets."""
    return bool(words) and words[-1].text == "]" and is_test(words[:-1])


def is_lookup(words: Sequence[Word]) -> bool:
    """`command -v name` tells where a program is."""
    return len(words) >= 2 and words[0].text in ("-v", "-V") and all(word.literal for word in words)


def is_git_look(words: Sequence[Word]) -> bool:
    """A git command that only reads."""
    from toolroll.policy.git import judge

    return (
        bool(words) and all(word.literal for word in words) and judge([one.text for one in words]).decision == "allow"
    )


def is_version(words: Sequence[Word]) -> bool:
    """Only asked for its version."""
    return len(words) == 1 and words[0].text in ("--version", "-V", "-version")


def is_node_version(words: Sequence[Word]) -> bool:
    """The same for node, to which -v means no more."""
    return is_version(words) or [word.text for word in words] == ["-v"]


def is_go(words: Sequence[Word]) -> bool:
    """Its version, or its settings."""
    texts = [word.text for word in words]
    return texts == ["version"] or (texts[:1] == ["env"] and all(re.fullmatch(r"[A-Z0-9_]+", one) for one in texts[1:]))
