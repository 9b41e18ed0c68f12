"""What a command is: a name, options and a function. Parser, help and completion are loops over these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


Candidate = tuple[str, str]
"""A word that could be typed, and what it means."""


class UsageError(Exception):
    """The command line cannot be understood; the message says what to type instead."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, or a positional argument when its flag has no dash."""

    flags: tuple[str, ...]
    about: str
    value: str | None = None
    """What stands for the value in the help; None makes it a switch."""
    default: str | None = None
    choices: Callable[[], Sequence[str]] | None = None
    """The values there are, asked only when they are needed."""
    many: bool = False

    @property
    def positional(self) -> bool:
        return not self.flags[0].startswith("-")

    @property
    def name(self) -> str:
        return self.flags[0].lstrip("-")

    def add_to(self, parser: ArgumentParser) -> None:
        if self.positional:
            parser.add_argument(*self.flags, help=self.about, metavar=self.value, nargs="*" if self.many else "?")
        elif self.value is None:
            parser.add_argument(*self.flags, help=self.about, action="store_true")
        else:
            parser.add_argument(*self.flags, help=self.about, metavar=self.value, default=self.default)


@dataclass(frozen=True, slots=True)
class Command:
    """`toolroll NAME ...`. `run` gets the parsed options and returns the exit status."""

    name: str
    about: str
    run: Callable[[Namespace], int]
    options: tuple[Option, ...]
    more: str = ""
    """Shown below the options in its help."""
    helps_with: str = ""
    """The option that, given beside --help, makes `run` show the help."""
    propose: Callable[[Namespace, str], Iterable[Candidate]] | None = None
    """Candidates for the argument that is being typed, given the options before it."""


HELP = Option(("--help", "-h"), "Show this help.")


def parser_of(command: Command) -> ArgumentParser:
    """The parser of one command; what it does not understand is a UsageError."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise UsageError(f"{message[:1].upper()}{message[1:]}. See: toolroll {command.name} --help")

    parser = Parser(
        prog=f"toolroll {command.name}",
        description=command.about,
        epilog=command.more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    for option in (*command.options, HELP):
        option.add_to(parser)
    return parser


def parse(command: Command, argv: Sequence[str]) -> Namespace:
    """The options of one command line; raises UsageError."""
    args = parser_of(command).parse_intermixed_args(list(argv))
    for option in command.options:
        value: Any = getattr(args, option.name)
        if option.choices is not None and value != option.default and not args.help:
            one_of(option.name, value, option.choices())
    return args


def one_of(what: str, given: str, known: Iterable[str]) -> str:
    """The value, if it is among the known ones; else a UsageError with the nearest and all of them."""
    names = list(known)
    if given in names:
        return given
    raise UsageError(f"There is no {what} {given!r}.{near(given, names)} There are: {', '.join(names)}.")


def near(given: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` with the nearest of the known names, or nothing."""
    import difflib

    found = difflib.get_close_matches(given.lower(), list(known), n=1, cutoff=0.5)
    return f" Did you mean {found[0]!r}?" if found else ""
