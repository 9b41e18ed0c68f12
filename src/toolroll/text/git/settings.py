"""Settings under which git runs no program but itself, whatever the settings of a repository say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from toolroll.result import ErrorCode, ToolError

Value = TypeVar("Value")

SENTINEL = "toolroll.guard"  # a marker setting: when git does not list it, it takes no settings from its environment

_FIXED: Mapping[str, str] = {
    SENTINEL: "true",
    "safe.directory": "*",  # what it guards against is switched off here
    # Programs.
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": ":",  # takes every text as it is, and starts nothing
    "sequence.editor": "false",
    "core.askPass": "",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "diff.external": "",
    "interactive.diffFilter": "cat",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "tag.forceSignAnnotated": "false",
    "log.showSignature": "false",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.program": "false",
    "gpg.ssh.defaultKeyCommand": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "http.saveCookies": "false",
    "http.lowSpeedLimit": "1",  # bytes a second
    "http.lowSpeedTime": "20",  # seconds
    "pull.twohead": "",
    "pull.octopus": "",
    "diff.submodule": "short",  # else git runs itself in a submodule, by the settings there
    # Looking leaves the index as it is.
    "diff.autoRefreshIndex": "false",
    # What git prints, so that it can be parsed.
    "merge.conflictStyle": "diff3",
    "core.quotePath": "false",
    "color.ui": "false",
    "color.diff": "false",
    "log.showRoot": "true",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.wordRegex": "",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
    "status.submoduleSummary": "false",
    "blame.coloring": "none",
}

# Settings with a name of the repository's own choice in the middle, which therefore have to be listed first.
_NAMED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), value)
    for pattern, value in (
        (r"filter\..*\.(?:clean|smudge|process)", ""),
        (r"diff\..*\.(?:command|textconv)", ""),
        (r"merge\..*\.driver", "false"),  # an empty one would end git; this one makes it a conflict
        (r"credential\..*\.helper", ""),
        (r"gpg\..*\.(?:program|defaultkeycommand)", "false"),
        (r"remote\..*\.vcs", "false"),
        (r"branch\..*\.mergeoptions", ""),
        (r"http\..*\.savecookies", "false"),
        (r"protocol\..*\.allow", "never"),
        (r"trailer\..*\.(?:command|cmd)", "false"),
        (r"hook\..*\.command", "false"),
        (r"(?:difftool|mergetool|browser|man|guitool|tar)\..*\.(?:cmd|path|command)", "false"),
        (r"submodule\..*\.update", "none"),
        (r"pager\..+", "false"),
    )
)
_FILTER = re.compile(r"filter\.(.*)\.[^.]+", re.DOTALL)
_HOOK = re.compile(r"hook\.(.*)\.[^.]+", re.DOTALL)
_MAX_SETTINGS = 1000
# Stands in for a program that shows differences: git gives it the path, the old file, two words, the new file.
_PLAIN_DIFF = 'show() { diff -u --label "a/$1" --label "b/$1" "$2" "$5"; :; }; show'


def harmless_settings(listed: Iterable[str], *, strict: bool = False) -> dict[str, str]:
    """The settings to give to git, by the names of those that it has found.

    With `strict`, a file that is to go through a filter is an error: it would be stored unfiltered, which for an
    encrypting filter means in the clear. Else such a file is taken as it is.
    """
    names = set(listed)
    settings = dict(_FIXED)
    settings |= {name: value for name in names for pattern, value in _NAMED if pattern.fullmatch(name)}
    settings |= {f"hook.{found[1]}.enabled": "false" for name in names if (found := _HOOK.fullmatch(name))}
    # The users' own settings, where Git LFS is mostly set up, are not read: its filter is known all the same.
    filters = {found[1] for name in names if (found := _FILTER.fullmatch(name))} | {"lfs"}
    settings |= {f"filter.{name}.required": "true" if strict else "false" for name in filters}
    if odd := next((name for name in settings if "\ufffd" in name), None):
        raise ToolError(
            ErrorCode.SECURITY,
            f"The repository's settings name a program as {odd!r}, which is not UTF-8; git is not run there. Look at "
            ".git/config.",
        )
    if len(settings) > _MAX_SETTINGS:
        raise ToolError(
            ErrorCode.SECURITY,
            f"The repository's settings name {len(settings)} programs; git is not run there. Look at .git/config.",
        )
    return settings


def quiet_settings(listed: Iterable[str]) -> dict[str, str]:
    """The settings for a git command of somebody else, which lacks the options that switch drivers off."""
    names = set(listed)
    settings = harmless_settings(names)
    settings |= {name: "cat" for name in settings if name.startswith("diff.") and name.endswith(".textconv")}
    settings |= {name: _PLAIN_DIFF for name in settings if name.startswith("diff.") and name.endswith(".command")}
    if "diff.external" in names:
        return settings | {"diff.external": _PLAIN_DIFF}
    del settings["diff.external"]  # git would run an empty one
    return settings


def setting_variables(settings: Mapping[str, Value]) -> dict[str, str | Value]:
    """The settings as git takes them from its environment. On its command line a name with "=" would be cut."""
    made: dict[str, str | Value] = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        made[f"GIT_CONFIG_KEY_{number}"] = name
        made[f"GIT_CONFIG_VALUE_{number}"] = value
    return made


_VERSION = re.compile(r"git version (\d+)\.(\d+)(?:\.(\d+))?")
_LAZY_FETCH = {39: 4, 40: 2, 41: 1, 42: 2, 43: 4, 44: 1}  # the first repaired release of each 2.x


def knows_lazy_fetch(version: str) -> bool:
    """Whether a git, by what `git version` prints, fetches no missing objects where GIT_NO_LAZY_FETCH says so."""
    found = _VERSION.match(version)
    major, minor, patch = (int(one or 0) for one in found.groups()) if found else (0, 0, 0)
    return (major, minor) >= (2, 45) or (major == 2 and minor in _LAZY_FETCH and patch >= _LAZY_FETCH[minor])


# What runs in a remote that is a folder of this machine: no program that the folder names, and nothing in its
# working tree. A folder that lacks objects fetches none.
SERVICE = " ".join((
    "GIT_ALLOW_PROTOCOL=none git", *(f"-c {one}" for one in (
        "safe.directory=*", "core.hooksPath=/dev/null", "core.alternateRefsCommand=false", "core.fsmonitor=false",
        "gc.auto=0", "receive.autogc=false", "receive.denyCurrentBranch=refuse",
    )),
))  # fmt: skip


ENVIRONMENT: Mapping[str, str] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "LC_ALL": "C",
    "LANGUAGE": "",
}
