"""Explain why git refused, and what to do next."""

from __future__ import annotations

import re

from toolroll.result import ErrorCode, ToolError

# The code of the error, a regular expression for what git says, which "|" may continue, and below it our message.
_TABLE = r"""
NotFound: not a git repository: '(?P<name>.*)'
    {name!r} is not the inside of a git repository, or not a whole one. Ask the user to look at it.
Unsupported: clean filter '(?P<name>.*)' failed
    A file is to go through the filter {name!r}, a program of the repository's settings, which is not run here.
    Leave that file out of `files`, or add it with `bash`, where the filter runs confined: git add -- FILE.
Conflict: (?P<name>\.git/[^'\n]*\.lock|[^/'\n]*\.lock)': File exists
    Another git is at work in this repository. Try again in a moment; if it stays so, ask the user to remove {name}.
NotFound: does not have any commits yet|Failed to resolve 'HEAD'|bad revision 'HEAD(?:\^\{commit\})?'
|You do not have the initial commit yet|ambiguous argument 'HEAD'|no such ref: HEAD|[Nn]ot a valid object name: 'HEAD'
    There are no commits yet. `add` files and make the first one.
NotFound: pathspec '(?::\([^)]*\))?(?P<name>.*)' did not match any file\(s\) known to git
    git knows no file {name!r}. If it is a new one, `add` it first; else look at action status.
NotFound: pathspec '(?::\([^)]*\))?(?P<name>.*)' did not match any file
    There is no file {name!r} that git could take. Look at action status, or use `find`.
NotFound: path '(?P<name>.*?)' (?:does not exist|exists on disk, but not) in
    There is no file {name!r} in that commit.
ValidationError: dereferences to (?P<name>\w+) type
    `ref` is a {name}, not a commit. Give a file or folder as commit:path.
NotFound: bad revision '(?P<name>[^'\n]*\S \S[^'\n]*)'
    There is no {name!r} in this repository. Give one commit, branch or tag, or two of them as a..b.
NotFound: (?:bad revision|ambiguous argument|[Ii]nvalid object name|invalid reference:
|[Nn]ot a valid object name:?) (?:'(?P<name>[^'\n]*?)(?:\^\{commit\})?'|(?P<bare>[^'\n]+?)(?:\^\{commit\})?(?=:|\.?$
|\.?\n))
    There is no {name!r} in this repository. Actions log and branch list what there is.
Conflict: branch named '(?P<name>.*)' already exists
    There is a branch {name!r} already. Switch to it, or take another name.
NotFound: branch '(?P<name>.*)' not found
    There is no branch {name!r}. Action branch lists them.
Conflict: branch '(?P<name>.*)' is not fully merged
    Branch {name!r} has commits that are not merged: deleting it loses them, and is blocked: ask the user. If they
    agree, set `force`.
Conflict: [Cc]annot delete branch '(?P<name>.*)' (?:checked out|used by)
    Branch {name!r} is checked out. Switch to another one first.
Conflict: '(?P<name>.*)' is already (?:checked out|used by)
    Branch {name!r} is checked out in another working tree. Work there, or create a branch of another name.
ValidationError: a branch is expected, got (?:\w+ )+'(?P<name>.*)'
    {name!r} is no branch of this repository. Create one with it as `ref`, then switch to that.
Conflict: cannot switch branch (?:while|in the middle of) (?P<name>.*)
    Branches cannot be switched while {name}. End that first: resolve and `add` what is in conflict and `commit`, or
    ask the user.
Conflict: would be overwritten by \w+:\n(?P<name>(?:\t.+\n?)+)
    Changes that are not committed are in the way, and were kept: {name}. Commit them, or put them aside with stash
    save.
Conflict: would be overwritten by|[Pp]lease commit (?:your changes )?or stash them|contains uncommitted changes
|cannot rebase: |Entry '.*' not uptodate
    Changes that are not committed are in the way, and were kept. Commit them, or put them aside with stash save.
Conflict: is now empty|No changes - did you forget|nothing to commit, working tree clean
    Nothing is left of this commit: what it changes is there already. Set `sub` to skip, or to abort.
NotFound: There is no (?P<name>merge) (?:to abort|in progress)|[Nn]o (?P<other>cherry-pick or revert|rebase) in progress
|no (?P<third>cherry-pick|revert) in progress
    There is no {name} in progress. Action status says what is.
NotFound: no upstream configured for branch|no tracking information for the current branch|no such branch: '.*'
|HEAD does not point to a branch
    The branch has no upstream. Give `ref`.
NotFound: couldn't find remote ref (?P<name>.*)
    The remote has no branch {name!r}. Action fetch without `ref` brings all that it has.
PermissionDenied: could not read (?:Username|Password) for '(?P<name>[^']*)'
|Authentication failed for '(?P<other>[^']*)'|unable to access '(?P<third>[^']*)': .* error: 40[13]
    The remote {name} wants a user name or password, which commands here do not have. Ask the user to do it.
PermissionDenied: Could not resolve (?:host|proxy): (?P<name>\S+)|Failed to connect to (?P<other>.*?) (?:port|after)
|(?P<third>\S+) port \d+: Connection refused|CONNECT tunnel failed, response (?P<fourth>\d+)
    The remote cannot be reached ({name}). Commands here reach the hosts that the setting `network` names, as in
    `--network {name}`; if it is among them, it may be down. Ask the user.
Unsupported: transport '(?P<name>.*)' not allowed
    Remotes are reached by https, http or as folders of the workspace, not by {name!r}. Ask the user for another
    address.
NotFound: '(?P<name>.*)' does not appear to be a git repository|repository '(?P<other>.*)' (?:not found|does not exist)
    There is no repository at {name!r} that could be reached from here. Ask the user to look at the remote.
Conflict: \(stale info\)
    The remote has moved since the last fetch. `fetch`, look at what is new there, then push again.
Conflict: \[rejected\].*\((?:fetch first|non-fast-forward)\)|Updates were rejected
    The remote has commits that are not here. `pull` first, then push.
Conflict: \[remote rejected\] .*?\((?P<name>.*)\)|\[remote rejected\] \((?P<other>.*)\)
    The remote refused it: {name}.
Conflict: tag '(?P<name>.*)' already exists
    There is a tag {name!r} already. Take another name, or delete it first.
NotFound: tag '(?P<name>.*)' not found
    There is no tag {name!r}. Action tag lists them.
Conflict: '(?P<name>.*)' contains modified or untracked files, use --force
    The working tree {name!r} has changes that would be lost. Commit them there, or set `force`.
NotFound: '(?P<name>.*)' is not a working tree
    {name!r} is no working tree of this repository. Action worktree lists them.
Conflict: '(?P<name>.*)' already exists\n?\Z
    There is something at {name!r} already. Take another folder.
Conflict: CONFLICT \(|needs merge|unmerged files|[Mm]erge conflict
    There are conflicts. Action status lists the files: edit what stands between <<<<<<< and >>>>>>>, then `add`
    them.
NotFound: is not a valid reference|No stash entries|log for '.*stash' only has
    There is no such stash. Action stash lists them.
ValidationError: \Ausage: git\b
    git can make nothing of these values together. Give a commit, branch or tag as `ref`, and paths as `files`.
ValidationError: has only (?P<name>\d+) lines?
    The file ends at line {name}. Give `lines` before that.
ValidationError: ignored by one of your \.gitignore files:\n(?P<name>(?:(?!hint:).+\n?)*)
    Files that .gitignore leaves out are not added: {name!r}. Leave them out of `files`; the others are staged.
PermissionDenied: Read-only file system|Permission denied|insufficient permission
    The repository's own files cannot be changed from here.
"""
_ROW = re.compile(r"^(\w+): (.+(?:\n\|.+)*)\n((?: {4}.+\n)+)", re.MULTILINE)
_RULES = [
    (re.compile(pattern.replace("\n", "")), ErrorCode(code), " ".join(message.split()))
    for code, pattern, message in _ROW.findall(_TABLE)
]
_NOISE = re.compile(r"^(?:hint: .*|hint:|warning: .*|Use '--' to separate .*|'git <command>.*)\n?", re.MULTILINE)


def explain(said: str, verb: str) -> ToolError:
    """The error for what git has said; its own words follow where they tell more."""
    words = _NOISE.sub("", said).strip()
    for pattern, code, message in _RULES:
        if found := pattern.search(said):
            name = next((value for value in found.groupdict().values() if value), "")
            kept = " The stash is kept." if verb == "stash" and code is ErrorCode.CONFLICT else ""
            told = message.format(name=", ".join(name.split("\n\t")).strip()) + kept
            return ToolError(code, told, details={"git": words[:2000]})
    return ToolError(ErrorCode.EXECUTION, f"git {verb} failed. {words[:2000] or 'It said nothing.'}")
