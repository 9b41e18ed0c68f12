"""Landlock: rules about files, TCP, signals and abstract sockets that a thread puts upon itself and its children."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Iterable

from toolroll.host.files.openat import PATH
from toolroll.host.sandbox.syscalls import Kernel

_VERSION = 1  # the flag that asks for the ABI instead of making a ruleset
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}  # from this ABI on, that many rights about files
_TCP_ABI, _TCP = 4, 0b11
_SCOPE_ABI, _SCOPES = 6, 0b11

READ = _EXECUTE | _READ_FILE | _READ_DIR
LIST = _READ_DIR
EXECUTE = _EXECUTE
DEVICE = _READ_FILE | _WRITE_FILE | _IOCTL_DEV
WRITE = ((1 << 16) - 1) & ~_MAKE_CHAR & ~_MAKE_BLOCK

TRUNCATE_ABI = 3  # from this ABI on Landlock itself keeps files from being emptied

MISSING = (
    (2, "move and link files between folders"),
    (3, "keep files outside from being emptied (seccomp does it instead)"),
    (4, "tell TCP from other sockets (seccomp denies sockets instead)"),
    (6, "keep signals from other processes of the user"),
)
"""What an older ABI cannot do: the ABI that brought it, and what it is."""


def abi(kernel: Kernel) -> int:
    """The version of Landlock that the kernel offers; 0 for none."""
    try:
        return kernel.call("landlock_create_ruleset", 0, 0, _VERSION)
    except OSError:
        return 0


def ruleset(kernel: Kernel, version: int, rules: Iterable[tuple[str, int]], *, network: bool) -> int:
    """A descriptor of rules that allow these rights at these paths and nothing else; missing paths are left out."""
    handled = (1 << max(count for since, count in _RIGHTS.items() if since <= version)) - 1
    tcp = _TCP if version >= _TCP_ABI and not network else 0
    scopes = _SCOPES if version >= _SCOPE_ABI else 0
    words = 3 if version >= _SCOPE_ABI else 2 if version >= _TCP_ABI else 1
    made = kernel.call("landlock_create_ruleset", struct.pack("=3Q", handled, tcp, scopes)[: 8 * words], 8 * words, 0)
    try:
        for path, rights in rules:
            _allow(kernel, made, path, rights & handled)
    except BaseException:
        os.close(made)
        raise
    return made


def restrict(kernel: Kernel, rules: int) -> None:
    """Put the rules upon the calling thread, for good."""
    kernel.call("landlock_restrict_self", rules, 0)


def _allow(kernel: Kernel, rules: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # what we cannot reach, the command cannot either
    except OSError as error:
        if error.errno == errno.ELOOP:
            return
        raise
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FILE
        kernel.call("landlock_add_rule", rules, _PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)
