"""Texts that a command reads by descriptor, so that no other process can change them before they are run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from toolroll.host.state import nameless


class SealedText:
    """A text in a file without a name, which nothing can write to. A command that gets `fd` reads it at `path`."""

    def __init__(self, text: str, label: str, *, shown: bool = True) -> None:
        """`label` stands for the path where a command is shown; `shown`: the approver reads the text as well."""
        self.text = text
        self.label = label
        self.shown = shown
        self.fd = nameless(text.encode(), sealed=True)
        self.path = f"/proc/self/fd/{self.fd}" if sys.platform == "linux" else f"/dev/fd/{self.fd}"

    def __enter__(self) -> SealedText:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let it go; a command that has been started keeps it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


Word = str | SealedText
"""A word of a command, or a text that it reads."""


def shown(word: Word) -> str:
    """A word as it is shown and judged."""
    return word.label if isinstance(word, SealedText) else word


def handed(argv: Sequence[Word], variables: Mapping[str, Word]) -> tuple[list[str], dict[str, str], list[int]]:
    """The words and variables of a command with the paths of its texts in them, and the descriptors it needs."""
    fds = [one.fd for one in (*argv, *variables.values()) if isinstance(one, SealedText)]
    return [_path(one) for one in argv], {name: _path(value) for name, value in variables.items()}, fds


def _path(word: Word) -> str:
    return word.path if isinstance(word, SealedText) else word
