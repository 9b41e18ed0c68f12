"""Judge the operands of a git command: places elsewhere, addresses that run programs, forced references."""

from __future__ import annotations

import re

from toolroll.policy.git.words import GitWords
from toolroll.policy.paths import climbs, components, find_protected

_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")  # "ext::sh -c ..." names a program
_OPTION_AS_HOST = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@]*@)?)?-")  # ssh would take it for its option
_REMOTES = frozenset({
    "clone", "fetch", "pull", "push", "ls-remote", "send-pack", "remote add", "submodule add", "submodule set-url",
    "archive",
})  # fmt: skip
_ADDRESS = {
    "clone": 0, "fetch": 0, "pull": 0, "push": 0, "ls-remote": 0, "send-pack": 0, "submodule add": 0, "remote add": 1,
    "submodule set-url": 1,
}  # fmt: skip
"""Which of the names is that of another repository."""
_ADDRESSES = frozenset({"--remote", "--repo"})
_PATHS = frozenset({
    "add", "stage", "rm", "mv", "apply", "am", "init", "hash-object", "diff", "clone", "worktree add", "worktree move",
    "bundle create", "bundle verify", "bundle list-heads", "bundle unbundle", "submodule add", "checkout-index",
    "update-index", "merge-file", "index-pack", "unpack-objects", "mailinfo", "mailsplit", "stripspace", "verify-pack",
    "interpret-trailers", "pack-objects",
})  # fmt: skip
_STRATEGIES = frozenset({"ort", "recursive", "resolve", "octopus", "ours", "subtree"})
_STRATEGY = frozenset({"-s", "--strategy"})
_MERGING = frozenset({"merge", "pull", "cherry-pick", "revert", "rebase"})

_REVISION = re.compile(r".*[~^@].*|[0-9a-f]{7,40}|refs/.*|(?:origin|upstream)/.*|[^./]+")
_FILE = re.compile(r"\.\.?(?:/.*)?|:.*|.*[*?\[].*|.*/|(?:.*/)?[^/]+\.(?!x$)[A-Za-z]{1,5}|(?:.*/)?\.[^/]+")
_CREATING = frozenset({"-b", "--orphan"})

_HARMLESS_SETTINGS = re.compile(
    r"user\.(?:name|email)|init\.defaultbranch|color\.[a-z]+|core\.(?:autocrlf|eol|quotepath|abbrev|ignorecase)"
    r"|pull\.(?:ff|rebase)|push\.(?:default|autosetupremote)|merge\.(?:ff|conflictstyle)|commit\.verbose|advice\.[a-z]+"
    r"|branch\..+\.(?:remote|merge|rebase)|rerere\.enabled|fetch\.prune|rebase\.(?:autosquash|autostash)",
    re.IGNORECASE,
)
_READING_SETTINGS = frozenset({
    "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool", "-l", "--list",
})  # fmt: skip
_WIDE = frozenset({"--global", "--system"})
_WRITING = frozenset({
    "--add", "--replace-all", "--unset", "--unset-all", "--rename-section", "--remove-section",
})  # fmt: skip


def reason(key: str, words: GitWords) -> str | None:
    """Why a command reaches beyond the repository, or None."""
    if any(one.is_path and one.value is not None and outside(one.value) for one in words.options):
        return "reads or writes outside the repository"
    if key in _PATHS and any(outside(one) for one in _places(key, words)):
        return "names a place outside the repository, or in its .git"
    if key in _REMOTES and _names_program(words):
        return "has an address that names a program"
    if key in _REMOTES and any(_local(one) for one in _addresses(key, words)):
        return "names a repository elsewhere on this machine"
    if key in _MERGING and (option := words.has(_STRATEGY)) and option.value not in _STRATEGIES:
        return "names a program of its own as strategy"
    return _setting(words) if key == "config" else None


def lost(key: str, words: GitWords) -> str | None:
    """Why the names of a command would lose work, or None."""
    if key in ("push", "send-pack") and any(one[:1] in "+:" and one != ":" for one in words.names):
        return "overwrites or deletes a branch of the remote"
    if key in ("fetch", "pull") and any(_forced(one) for one in words.names[1:]):
        return "overwrites local branches"
    if key == "checkout" and takes_files(words):
        return "overwrites files of the working tree"
    if key == "reset" and _moves_branch(words):
        return "takes commits from the branch"
    if key == "symbolic-ref" and len(words.names) > 1:
        return "moves references without any check"
    return None


def outside(path: str) -> bool:
    """Whether a path lies elsewhere, by its text: absolute, above the start, or in the repository's own folder."""
    return path.startswith(("/", "~/")) or climbs(path) or find_protected(components(path)) is not None


def _places(key: str, words: GitWords) -> list[str]:
    """The names that are paths: all of them, or those behind an address."""
    if key in ("clone", "submodule add"):
        return [*words.names[1:], *words.paths[1 if not words.names else 0 :]]
    if key in ("worktree add", "bundle create"):
        return words.names[:1] or words.paths[:1]
    return [*words.names, *words.paths]


def _addresses(key: str, words: GitWords) -> list[str]:
    at = _ADDRESS.get(key, len(words.names) + len(words.paths))
    option = words.has(_ADDRESSES)
    return [*[*words.names, *words.paths][at : at + 1], *([option.value] if option and option.value else [])]


def _names_program(words: GitWords) -> bool:
    addresses = [*words.names, *words.paths]
    values = [one.value for one in words.options if one.value is not None]
    return any(_HELPER.match(one) for one in (*addresses, *values)) or any(
        _OPTION_AS_HOST.match(one) for one in addresses
    )


def _local(address: str) -> bool:
    path = address[len("file://") :] if address.lower().startswith("file://") else address
    return path.startswith(("/", "~")) or (":" not in path and climbs(path))


def _forced(refspec: str) -> bool:
    target = refspec.partition(":")[2]
    return refspec.startswith("+") and bool(target) and not target.startswith("refs/remotes/")


def takes_files(words: GitWords) -> bool:
    """Whether `git checkout` with these words takes files, not a branch."""
    if words.paths:
        return True
    if words.has(_CREATING):
        return False
    return len(words.names) > 1 or any(_FILE.fullmatch(one) for one in words.names)


def _moves_branch(words: GitWords) -> bool:
    if words.paths or len(words.names) != 1 or words.names[0] in ("HEAD", "@"):
        return False
    return _REVISION.fullmatch(words.names[0]) is not None


def _setting(words: GitWords) -> str | None:
    """Reading settings is a question; writing one that may run a program, or the user's own, is denied."""
    names = list(words.names)
    if words.has(_READING_SETTINGS) or (names and names[0] in ("get", "list")):
        return None
    if names and names[0] in ("edit", "rename-section", "remove-section"):
        return "changes settings that may run programs"
    setting = bool(names) and names[0] in ("set", "unset")
    names = names[1:] if setting else names
    if len(names) < 2 and not setting and not words.has(_WRITING):
        return None  # one name reads it
    if words.has(_WIDE):
        return "changes the user's own settings"
    return None if names and _HARMLESS_SETTINGS.fullmatch(names[0]) else "changes settings that may run programs"
