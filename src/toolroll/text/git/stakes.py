"""Say what a git command would lose: the files or commits by name."""

from __future__ import annotations

from collections.abc import Sequence

from toolroll.text.git.names import show_path, show_text
from toolroll.text.git.requests import GitCommand, Plan
from toolroll.text.git.status import parse_status
from toolroll.text.lines import list_some

_MAX_NAMED = 10


def describe_stake(kind: str, verb: str, names: Sequence[str]) -> Plan:
    """The plan that returns what would be lost as a sentence, or "" when that is nothing.

    `kind` and `names` are those of `policy.git.GitStake`; paths are relative to the working tree.
    """
    if kind == "changes":
        words = ("status", "--porcelain=v2", "-z", "--ignore-submodules=dirty", "--untracked-files=no", "--", *names)
        found = parse_status((yield GitCommand(words, may_fail=True)).out)
        rows = dict.fromkeys(show_path(one.path) for one in (*found.conflicts, *found.staged, *found.unstaged))
        return _sentence(verb, "throws uncommitted changes away", list(rows))
    if kind in ("untracked", "ignored"):
        which = ("--exclude-standard",) if kind == "untracked" else ()
        words = ("ls-files", "--others", "--directory", "--no-empty-directory", *which, "-z", "--", *names)
        listed = (yield GitCommand(words, may_fail=True)).out.split("\0")
        return _sentence(verb, "deletes files that are in no commit", [show_path(one) for one in listed if one])
    if kind == "pushed":
        return (yield from _pushed(verb, names[0]))
    return (yield from _sent(verb, names, overwrites=kind == "overwritten"))


def _sent(verb: str, names: Sequence[str], *, overwrites: bool) -> Plan:
    """Where a push goes, and which commits of the remote it would overwrite."""
    remote, branch = names if len(names) == 2 else ("origin", "")
    local, there = (f"refs/heads/{branch}", f"refs/remotes/{remote}/{branch}") if branch else ("HEAD", "@{push}")
    url = (yield GitCommand(("remote", "get-url", "--push", "--", remote), may_fail=True)).out.strip()
    where = f"{show_text(remote)}{f' ({show_text(url)})' if url else ''}"
    if overwrites:
        lost = yield GitCommand(("log", "--format=%h %s", f"{local}..{there}", "--"), may_fail=True)
        if rows := _rows(lost.out):
            return _sentence(verb, f"overwrites commits of {where}", rows)
        return f"`git {verb}` overwrites what others may have pushed to {where}."
    return f"`git {verb}` sends commits to {where}, where others see them."


def _pushed(verb: str, base: str) -> Plan:
    """The commits that would be rewritten and that a remote has."""
    log, span = ("log", "--format=%h %s"), ("--end-of-options", f"{base}..HEAD", "--")
    rewritten = _rows((yield GitCommand((*log, *span), may_fail=True)).out)
    if not rewritten:
        return ""
    own = _rows((yield GitCommand((*log, "--not", "--remotes", "--not", *span), may_fail=True)).out)
    return _sentence(verb, "rewrites commits that a remote has", [one for one in rewritten if one not in own])


def _rows(printed: str) -> list[str]:
    return [show_text(line) for line in printed.split("\n") if line]


def _sentence(verb: str, what: str, rows: Sequence[str]) -> str:
    return f"`git {verb}` {what}: {list_some(rows, _MAX_NAMED)}." if rows else ""
