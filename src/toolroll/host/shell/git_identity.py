"""The user's name and e-mail for commits, given to commands by environment variables.

The user's git settings hold credentials at times, so commands cannot read them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from toolroll.host.runtime.launcher import AccessRules, Launcher
from toolroll.result import ToolError
from toolroll.text.git.names import decode_output

if TYPE_CHECKING:
    from toolroll.host.files.root import Root

_TIMEOUT_S = 5.0
_MAX_CONFIG_BYTES = 1 << 20
# Under Landlock git would find the user's settings, fail to read them, and end.
NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull}
_WHO = ("AUTHOR", "COMMITTER")
_USER = re.compile(r"^\s*\[user\](.*(?:\n(?!\s*\[).*)*)", re.IGNORECASE | re.MULTILINE)
_KEY = re.compile(r"^\s*(name|email)\s*=", re.IGNORECASE | re.MULTILINE)


def find_identity(
    root: Root, environ: Mapping[str, str], launcher: Launcher, argv: Sequence[str]
) -> dict[str, str] | None:
    """The variables for commands; None, with git not asked, while there is neither a repository nor a word of git."""
    if not os.path.lexists(f"{root.path}/.git") and not any("git" in word for word in argv):
        return None
    try:
        found = read_settings(launcher, environ, r"^user\.(name|email)$")
    except (ToolError, OSError):  # there is no git: a command that needs it says so
        return {**NO_SETTINGS}
    return {**NO_SETTINGS, **identity(found, _repository_config(root), environ)}


def _repository_config(root: Root) -> str:
    """The text of the repository's own settings, as far as they are in the workspace."""
    try:
        with os.fdopen(root.file(".git/config"), "rb") as file:
            return file.read(_MAX_CONFIG_BYTES).decode("utf-8", "replace")
    except (ToolError, OSError):
        return ""


def identity(found: Mapping[str, str], config: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables, from the user's settings and from our own variables, which come first.

    What the repository's own `config` says is left to the git that a command runs.
    """
    name = found.get("user.name") or environ.get("USER") or "toolroll"
    email = found.get("user.email") or f"{name.replace(' ', '.')}@localhost"
    own = {key.lower() for section in _USER.findall(config) for key in _KEY.findall(section)}
    given = {what: value for what, value in (("name", name), ("email", email)) if what not in own}
    variables = {f"GIT_{who}_{what.upper()}": value for who in _WHO for what, value in given.items()}
    ours = (f"GIT_{who}_{what}" for who in _WHO for what in ("NAME", "EMAIL"))
    return variables | {one: environ[one] for one in ours if one in environ}


def read_settings(launcher: Launcher, environ: Mapping[str, str], pattern: str) -> dict[str, str]:
    """The user's own git settings whose names match a pattern, by name; the repository's are not read.

    Settings may include files anywhere in the user's own folders, so git reads those and writes nothing.
    """
    from toolroll.host.sandbox.git.git_process import ask_git

    names = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL")
    given = {name: environ.get(name) for name in names}
    access = AccessRules((), tuple(path for path in given.values() if path and os.path.isabs(path)))
    words = ["config", "--global", "--includes", "-z", "--get-regexp", pattern]
    rows = decode_output(ask_git(launcher, words, access, _TIMEOUT_S, variables=given)[0]).split("\0")
    return dict(row.split("\n", 1) for row in rows if "\n" in row)
