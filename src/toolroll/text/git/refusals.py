"""Explain why git refused, and what to do next."""

from __future__ import annotations

import re

from toolroll.result import ErrorCode, ToolError

_TABLE: tuple[tuple[str, ErrorCode, str], ...] = (
    (
        r"not a git repository: '(?P<name>.*)'",
        ErrorCode.NOT_FOUND,
        "{name!r} is not the inside of a git repository, or not a whole one. Ask the user to look at it.",
    ),
    (
        r"clean filter '(?P<name>.*)' failed",
        ErrorCode.UNSUPPORTED,
        "A file is to go through the filter {name!r}, a program of the repository's settings, which is not run here. "
        "Leave that file out of `files`, or ask the user to add it.",
    ),
    (
        r"(?P<name>\.git/[^'\n]*\.lock|[^/'\n]*\.lock)': File exists",
        ErrorCode.CONFLICT,
        "Another git is at work in this repository. Try again in a moment; if it stays so, ask the user to remove "
        "{name}.",
    ),
    (
        r"does not have any commits yet|Failed to resolve 'HEAD'|bad revision 'HEAD(?:\^\{commit\})?'"
        r"|You do not have the initial commit yet|ambiguous argument 'HEAD'|no such ref: HEAD"
        r"|[Nn]ot a valid object name: 'HEAD'",
        ErrorCode.NOT_FOUND,
        "There are no commits yet. `add` files and make the first one.",
    ),
    (
        r"pathspec '(?::\([^)]*\))?(?P<name>.*)' did not match any file\(s\) known to git",
        ErrorCode.NOT_FOUND,
        "git knows no file {name!r}. If it is a new one, `add` it first; else look at action status.",
    ),
    (
        r"pathspec '(?::\([^)]*\))?(?P<name>.*)' did not match any file",
        ErrorCode.NOT_FOUND,
        "There is no file {name!r} that git could take. Look at action status, or use `find`.",
    ),
    (
        r"path '(?P<name>.*?)' (?:does not exist|exists on disk, but not) in",
        ErrorCode.NOT_FOUND,
        "There is no file {name!r} in that commit.",
    ),
    (
        r"dereferences to (?P<name>\w+) type",
        ErrorCode.VALIDATION,
        "`ref` is a {name}, not a commit. Give a file or folder as commit:path.",
    ),
    (
        r"bad revision '(?P<name>[^'\n]*\S \S[^'\n]*)'",
        ErrorCode.NOT_FOUND,
        "There is no {name!r} in this repository. Give one commit, branch or tag, or two of them as a..b.",
    ),
    (
        r"(?:bad revision|ambiguous argument|[Ii]nvalid object name|invalid reference:|[Nn]ot a valid object name:?) "
        r"(?:'(?P<name>[^'\n]*?)(?:\^\{commit\})?'|(?P<bare>[^'\n]+?)(?:\^\{commit\})?(?=:|\.?$|\.?\n))",
        ErrorCode.NOT_FOUND,
        "There is no {name!r} in this repository. Actions log and branch list what there is.",
    ),
    (
        r"branch named '(?P<name>.*)' already exists",
        ErrorCode.CONFLICT,
        "There is a branch {name!r} already. Switch to it, or take another name.",
    ),
    (r"branch '(?P<name>.*)' not found", ErrorCode.NOT_FOUND, "There is no branch {name!r}. Action branch lists them."),
    (
        r"branch '(?P<name>.*)' is not fully merged",
        ErrorCode.CONFLICT,
        "Branch {name!r} has commits that are not merged: deleting it loses them, and is blocked: ask the user. "
        "If they agree, set `force`.",
    ),
    (
        r"[Cc]annot delete branch '(?P<name>.*)' (?:checked out|used by)",
        ErrorCode.CONFLICT,
        "Branch {name!r} is checked out. Switch to another one first.",
    ),
    (
        r"'(?P<name>.*)' is already (?:checked out|used by)",
        ErrorCode.CONFLICT,
        "Branch {name!r} is checked out in another working tree. Work there, or create a branch of another name.",
    ),
    (
        r"a branch is expected, got (?:\w+ )+'(?P<name>.*)'",
        ErrorCode.VALIDATION,
        "{name!r} is no branch of this repository. Create one with it as `ref`, then switch to that.",
    ),
    (
        r"cannot switch branch (?:while|in the middle of) (?P<name>.*)",
        ErrorCode.CONFLICT,
        "Branches cannot be switched while {name}. End that first: mend and `add` what is in conflict and `commit`, "
        "or ask the user.",
    ),
    (
        r"would be overwritten by|[Pp]lease commit your changes or stash them",
        ErrorCode.CONFLICT,
        "Changes that are not committed are in the way, and were kept. Commit them, or put them aside with stash save.",
    ),
    (
        r"CONFLICT \(|needs merge|unmerged files|[Mm]erge conflict",
        ErrorCode.CONFLICT,
        "There are conflicts. Action status lists the files: mend what stands between <<<<<<< and >>>>>>>, then `add` "
        "them. A stash that was to be taken back is kept.",
    ),
    (
        r"is not a valid reference|No stash entries|log for '.*stash' only has",
        ErrorCode.NOT_FOUND,
        "There is no such stash. Action stash lists them.",
    ),
    (
        r"\Ausage: git ",
        ErrorCode.VALIDATION,
        "git can make nothing of these values together. Give a commit, branch or tag as `ref`, and paths as `files`.",
    ),
    (
        r"has only (?P<name>\d+) lines?",
        ErrorCode.VALIDATION,
        "The file ends at line {name}. Give `lines` before that.",
    ),
    (
        r"ignored by one of your \.gitignore files:\n(?P<name>(?:(?!hint:).+\n?)*)",
        ErrorCode.VALIDATION,
        "Files that .gitignore leaves out are not added: {name!r}. Leave them out of `files`; the others are staged.",
    ),
    (
        r"Read-only file system|Permission denied|insufficient permission",
        ErrorCode.PERMISSION,
        "The repository's own files cannot be changed from here.",
    ),
)
_RULES = tuple((re.compile(pattern), code, message) for pattern, code, message in _TABLE)
_NOISE = re.compile(r"^(?:hint: .*|hint:|warning: .*|Use '--' to separate .*|'git <command>.*)\n?", re.MULTILINE)


def explain(said: str, verb: str) -> ToolError:
    """The error for what git has said; its own words follow where they tell more."""
    words = _NOISE.sub("", said).strip()
    for pattern, code, message in _RULES:
        if found := pattern.search(said):
            name = next((value for value in found.groupdict().values() if value), "")
            return ToolError(code, message.format(name=name.strip()), details={"git": words[:2000]})
    return ToolError(ErrorCode.EXECUTION, f"git {verb} failed. {words[:2000] or 'It said nothing.'}")
