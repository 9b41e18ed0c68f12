"""Change a settings file of another program: atomically, through links, with a backup."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_MAX_LINKS = 40  # as the kernel


def rewrite(path: str, edit: Callable[[str], str]) -> tuple[bool, str | None]:
    """Replace a file atomically by `edit` of its text. Returns whether it changed, and the backup of what it was.

    Raises ValueError when the text cannot be edited, and leaves the file unchanged.
    """
    real = _follow_links(path)
    try:
        with open(real, "rb") as file:
            data = file.read()
        mode = os.stat(real).st_mode & 0o777
    except FileNotFoundError:
        data, mode = b"", 0o600
    try:
        before = data.decode()
        after = _keep_line_ends(before, edit(before))
    except ValueError as error:
        raise ValueError(f"{path!r} is left as it is: {error}. Change the entry by hand.") from None
    if after == before:
        return False, None
    os.makedirs(os.path.dirname(real), exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    backup = _write_file(_free_backup_name(f"{real}.{stamp}"), before, mode) if before else None
    draft = _write_file(f"{real}.{os.getpid()}.draft", after, mode)
    os.replace(draft, real)
    return True, backup


def _keep_line_ends(before: str, after: str) -> str:
    """The new text with the line ends of the old one."""
    plain = after.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if "\r\n" in before else plain


def _follow_links(path: str) -> str:
    """The target of a link: users who link their settings keep the links."""
    for _ in range(_MAX_LINKS):
        if not os.path.islink(path):
            return path
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    raise ValueError(f"{path!r} is a link to itself.")


def _free_backup_name(path: str) -> str:
    """An unused name for a backup."""
    names = (f"{path}{f'-{number}' if number else ''}.backup" for number in range(1000))
    return next(name for name in names if not os.path.lexists(name))


def _write_file(path: str, text: str, mode: int) -> str:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(fd)
    return path
