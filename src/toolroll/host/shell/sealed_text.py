"""Texts that a command reads by descriptor, so that no other process can change them before they are run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence

from toolroll.host.runtime.state import nameless


class SealedText:
    """A text in a file without a name, which nothing can write to. A command that gets `fd` reads it at `path`."""

    def __init__(self, text: str, label: str, *, shown: bool = True, main: bool = False) -> None:
        """`label` stands for the path where a command is shown; `display_word`: the approver reads the text as well.

        `main`: it is the last word, and the processes that the command starts find it too, as multiprocessing needs.
        """
        self.text = text
        self.label = label
        self.shown = shown
        self.main = main and sys.platform == "linux"
        self.fd = -1
        self.fd = nameless(text.encode(), sealed=True)
        self.path = f"/proc/self/fd/{self.fd}" if sys.platform == "linux" else f"/dev/fd/{self.fd}"
        self._paths = re.compile(rf"/(?:proc/(?:self|\d+)|dev)/fd/{self.fd}\b")

    def relabelled(self, output: str) -> str:
        """What a command has printed, with the label in place of the path."""
        return self._paths.sub(self.label, output)

    def __enter__(self) -> SealedText:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let it go; a command that has been started keeps it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


_EXEC = 'fd=$1; shift; exec "$@" "/proc/$$/fd/$fd"'

Word = str | SealedText
"""A word of a command, or a text that it reads."""


def display_word(word: Word) -> str:
    """A word as it is shown and judged."""
    return word.label if isinstance(word, SealedText) else word


def prepare_words(argv: Sequence[Word], variables: Mapping[str, Word]) -> tuple[list[str], dict[str, str], list[int]]:
    """The words and variables of a command with the paths of its texts in them, and the descriptors it needs."""
    fds = [one.fd for one in (*argv, *variables.values()) if isinstance(one, SealedText)]
    words, last = [_path(one) for one in argv], argv[-1]
    if isinstance(last, SealedText) and last.main:
        # "self" would be another process in each of them; the shell has the number that the program will have.
        words = ["/bin/sh", "-c", _EXEC, "toolroll", str(last.fd), *words[:-1]]
    return words, {name: _path(value) for name, value in variables.items()}, fds


def _path(word: Word) -> str:
    return word.path if isinstance(word, SealedText) else word
