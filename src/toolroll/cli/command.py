"""Definition of a command: name, options and function. Parser, help and completion are made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


Candidate = tuple[str, str]
"""A completion and its description."""


class UsageError(Exception):
    """The command line is wrong; the message says what to type instead."""


class Option(msgspec.Struct, frozen=True):
    """One option, or a positional argument when its flag has no dash."""

    flags: tuple[str, ...]
    about: str
    value: str | None = None
    """Placeholder of the value in the help; None makes the option a switch."""
    default: str | None = None
    choices: Callable[[], Sequence[str]] | None = None
    """Returns the accepted values; called only when they are needed."""
    many: bool = False
    """Whether it may be given several times."""

    @property
    def is_positional(self) -> bool:
        return not self.flags[0].startswith("-")

    @property
    def name(self) -> str:
        return self.flags[0].lstrip("-").replace("-", "_")

    def add_to(self, parser: ArgumentParser) -> None:
        if self.is_positional:
            parser.add_argument(*self.flags, help=self.about, metavar=self.value, nargs="*" if self.many else "?")
        elif self.value is None:
            parser.add_argument(*self.flags, help=self.about, action="store_true")
        elif self.many:
            parser.add_argument(*self.flags, help=self.about, metavar=self.value, action="append", default=[])
        else:
            parser.add_argument(*self.flags, help=self.about, metavar=self.value, default=self.default)


class Command(msgspec.Struct, frozen=True):
    """`toolroll NAME ...`. `run` gets the parsed options and returns the exit status."""

    name: str
    about: str
    run: Callable[[Namespace], int]
    options: tuple[Option, ...]
    more: str = ""
    """Text below the options in the help."""
    helps_with: str = ""
    """With this option beside --help, `run` shows the help."""
    propose: Callable[[Namespace, str], Iterable[Candidate]] | None = None
    """Returns completions for an argument, by the options before it."""


_WIDTH = 80  # of a help that is not shown: to ask the terminal imports much
HELP = Option(("--help", "-h"), "Show this help.")


def make_parser(command: Command, width: int | None = None) -> ArgumentParser:
    """The parser of one command; it raises UsageError. Its help is as wide as the terminal, or `width`."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise UsageError(f"{message[:1].upper()}{message[1:]}. See: toolroll {command.name} --help")

    parser = Parser(
        prog=f"toolroll {command.name}",
        description=command.about,
        epilog=command.more,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=width),
        add_help=False,
        allow_abbrev=False,
    )
    for option in (*command.options, HELP):
        option.add_to(parser)
    return parser


def parse(command: Command, argv: Sequence[str]) -> Namespace:
    """Parse the options of one command; raises UsageError."""
    words = list(argv)
    many = next((one for one in command.options if one.is_positional and one.many), None)
    at = words.index("--") if many is not None and "--" in words else len(words)
    args = make_parser(command, _WIDTH).parse_intermixed_args(words[:at])
    if many is not None:  # what is behind "--" is taken as it is
        getattr(args, many.name).extend(words[at + 1 :])
    for option in command.options:
        value: Any = getattr(args, option.name)
        if option.choices is not None and value != option.default and not args.help:
            one_of(option.name, value, option.choices())
    return args


def one_of(what: str, given: str, known: Iterable[str]) -> str:
    """Return the value if it is known; else raise UsageError with the nearest and all known values."""
    names = list(known)
    if given in names:
        return given
    from toolroll.text.names import suggest_name

    raise UsageError(f"There is no {what} {given!r}.{suggest_name(given, names)} There are: {', '.join(names)}.")
