"""The user's name and e-mail for commits, given to commands by environment variables.

The user's git settings hold credentials at times, so commands cannot read them.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from toolroll.host.files.openat import STEP
from toolroll.host.runtime.launcher import PIPE, AccessRules
from toolroll.result import ToolError
from toolroll.text.git.names import decode_output

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.launcher import Launcher

_TIMEOUT_S = 5.0
_MAX_CONFIG_BYTES = 1 << 20
# Under Landlock git would find the user's settings, fail to read them, and end.
_NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull}
_WHO = ("AUTHOR", "COMMITTER")
_USER = re.compile(r"^\s*\[user\](.*(?:\n(?!\s*\[).*)*)", re.IGNORECASE | re.MULTILINE)
_KEY = re.compile(r"^\s*(name|email)\s*=", re.IGNORECASE | re.MULTILINE)


class GitIdentity:
    """Asks git once, when a command needs it first. Safe to use from many threads."""

    def __init__(self, root: Root, environ: Mapping[str, str], launcher: Launcher) -> None:
        self._root = root
        self._launcher = launcher
        self._environ = environ
        self._lock = threading.Lock()
        self._found: dict[str, str] | None = None

    def variables(self, argv: Sequence[str]) -> Mapping[str, str]:
        """The variables for a command; git is not asked while there is neither a repository nor a word about git."""
        with self._lock:
            if self._found is None:
                if not os.path.lexists(f"{self._root.path}/.git") and not any("git" in word for word in argv):
                    return _NO_SETTINGS
                self._found = {**_NO_SETTINGS, **self._ask()}
            return self._found

    def _ask(self) -> dict[str, str]:
        from toolroll.host.runtime.cancellation import CancelToken

        words = ("--global", "--includes", "-z", "--get-regexp", r"^user\.(name|email)$")
        try:
            rows = read_settings(self._launcher, self._environ, CancelToken(), words)
        except (ToolError, OSError):  # there is no git: a command that needs it says so
            return {}
        return identity(rows, self._repository_config(), self._environ)

    def _repository_config(self) -> str:
        """The text of the repository's own settings, as far as they are in the workspace."""
        try:
            with os.fdopen(self._root.file(".git/config"), "rb") as file:
                return file.read(_MAX_CONFIG_BYTES).decode("utf-8", "replace")
        except (ToolError, OSError):
            return ""


def identity(rows: Iterable[str], config: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables, from the records of the user's settings and from our own variables, which come first.

    What the repository's own `config` says is left to the git that a command runs.
    """
    found = dict(row.split("\n", 1) for row in rows if "\n" in row)
    name = found.get("user.name") or environ.get("USER") or "toolroll"
    email = found.get("user.email") or f"{name.replace(' ', '.')}@localhost"
    own = {key.lower() for section in _USER.findall(config) for key in _KEY.findall(section)}
    given = {what: value for what, value in (("name", name), ("email", email)) if what not in own}
    variables = {f"GIT_{who}_{what.upper()}": value for who in _WHO for what, value in given.items()}
    ours = (f"GIT_{who}_{what}" for who in _WHO for what in ("NAME", "EMAIL"))
    return variables | {one: environ[one] for one in ours if one in environ}


def read_settings(
    launcher: Launcher, environ: Mapping[str, str], token: CancelToken, words: Iterable[str]
) -> list[str]:
    """What `git config` prints with these words, taken apart at NUL: as the user has set git up.

    Settings may include files anywhere in the user's own folders, so git reads those and writes nothing.
    """
    from toolroll.host.runtime.processes import stream

    names = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL")
    given = {name: environ[name] for name in names if name in environ}
    access = AccessRules((), tuple(path for path in given.values() if os.path.isabs(path)))
    folder = os.open("/", STEP)
    try:
        process = launcher.start(
            [launcher.program("git"), "config", *words], access, cwd=folder, stdout=PIPE, env=given
        )
    finally:
        os.close(folder)
    with stream(process, token=token, deadline=time.monotonic() + _TIMEOUT_S) as running:
        return decode_output(b"".join(running)).split("\0")
