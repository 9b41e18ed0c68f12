"""Plans that move a branch or files: merge, rebase, cherry-pick, revert, reset, restore; tags and working trees."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Generator

from toolroll.result import ErrorCode, ToolError
from toolroll.text.git import history
from toolroll.text.git.conflicts import CONTINUED, describe, how_to_go_on, summarize
from toolroll.text.git.names import Action, Sub, show_text
from toolroll.text.git.requests import (
    GitChange,
    GitCommand,
    GitOutput,
    GitRequest,
    Plan,
    WorkingFile,
    invalid,
    look_at_status,
    make_refusal,
    read_status,
)
from toolroll.text.git.skipped import note_skipped
from toolroll.text.git.status import RepositoryStatus

# No strategy, signature or mainline of the repository's settings. To pick a merge is to pick what it brought.
_START: dict[str, tuple[str, ...]] = {
    "merge": ("--no-edit", "--no-stat", "--no-verify", "--no-verify-signatures", "--no-gpg-sign", "--no-autostash"),
    "rebase": ("--merge", "--no-stat", "--no-verify", "--no-gpg-sign", "--no-autostash"),
    "cherry-pick": ("--no-gpg-sign", "--mainline=1"),
    "revert": ("--no-edit", "--no-gpg-sign", "--mainline=1"),
}
_DONE = {"merge": "Merged", "rebase": "Rebased onto", "cherry-pick": "Picked", "revert": "Reverted"}
_STEPS = {"rebase": "rebase-merge/git-rebase-todo", "cherry-pick": "sequencer/todo", "revert": "sequencer/todo"}
_STEP = re.compile(r"[ \t]*(?:#.*|(?:pick|p|reword|r|squash|s|fixup|f|drop|d|revert)(?:[ \t].*)?)?")
_OTHER_STRATEGY = re.compile(r"strategy[ \t]*=(?![ \t]*(?:ort|recursive)[ \t]*$)", re.IGNORECASE | re.MULTILINE)
_MAX_STEPS_CHARS = 100_000
_ENDED = {"continue": "Continued", "skip": "Skipped a commit of", "abort": "Took back"}


def start(asked: GitRequest) -> Plan:
    """Begin an operation that may stop at conflicts."""
    verb = asked.action
    ref = asked.ref or ("@{upstream}" if verb == "rebase" else None)
    if ref is None:
        raise invalid(f"`ref` is required: which commit or branch to {verb}.")
    before = read_status(asked, (yield look_at_status()))
    if before.ongoing in CONTINUED:
        error = f"{summarize(before)} {how_to_go_on(before.ongoing, len(before.conflicts))}"
        raise ToolError(ErrorCode.CONFLICT, f"End what was begun first. {error}")
    message = (f"--message={asked.message}",) if asked.message and verb == "merge" else ()
    words = (verb, *_START[verb], "--strategy=ort", *message, ref)
    ran = yield GitCommand(words, changes=True, may_fail=True, force=asked.force)
    return (yield from _outcome(asked, ran, f"{_DONE[verb]} {show_text(ref)}.", before))


def _go_on(asked: GitRequest) -> Plan:
    before = read_status(asked, (yield look_at_status()))
    steps = "" if asked.sub == "abort" else (yield from _steps(asked, before))
    ran = yield GitCommand((asked.action, f"--{asked.sub}"), changes=True, may_fail=True, shown=steps)
    return (yield from _outcome(asked, ran, f"{_ENDED[asked.sub]} the {asked.action}.", before))


def _steps(asked: GitRequest, now: RepositoryStatus) -> Generator[GitCommand | WorkingFile, GitOutput, str]:
    """The steps that git would take when it goes on; raises ToolError for one that could run a program."""
    if asked.action == "merge" or (asked.action == "rebase" and now.ongoing != "rebase"):
        return ""  # it only commits, or git says that there is none
    read = yield WorkingFile(_STEPS[asked.action], own=True)
    strategy = yield WorkingFile("rebase-merge/strategy", own=True)
    options = yield WorkingFile("sequencer/opts", own=True)
    odd = next((line for line in read.out.split("\n") if not _STEP.fullmatch(line)), "")
    if read.status and asked.action == "rebase":
        odd = "a list of steps that is not there or not text"  # as of `git rebase --apply`
    elif len(read.out) > _MAX_STEPS_CHARS:
        odd = f"a list of steps with more than {_MAX_STEPS_CHARS:,} characters"
    elif _OTHER_STRATEGY.search(f"strategy = {strategy.out.strip() or 'ort'}\n{options.out}"):
        odd = "a merge strategy that is a program"
    if odd:
        what = (
            f"Nothing was started: only pick, reword, squash, fixup and drop are continued here, and there is {odd!r}."
        )
        ways = f"Sub `abort` takes the {asked.action} back. `bash` may go on: `git {asked.action} --{asked.sub}`."
        raise ToolError(ErrorCode.SECURITY, f"{show_text(what[:500])} {ways}")
    return read.out


def _outcome(asked: GitRequest, ran: GitOutput, did: str, before: RepositoryStatus) -> Plan:
    looked = yield look_at_status()
    now = read_status(asked, looked)
    if ran.status and now.conflicts and looked.ongoing == asked.action:
        return (yield from describe(asked, f"The {asked.action} stopped. {summarize(now)}", looked))
    if ran.status:
        raise make_refusal(ran, asked.action)
    moved = now.commit != before.commit
    same = not moved and asked.sub == "list"
    notes = [how_to_go_on(looked.ongoing, len(now.conflicts)), where_it_was(before) if moved else ""]
    if moved and before.commit:
        words = shlex.join(("git", asked.action, *((asked.ref,) if asked.ref else ())))
        again = f"git reset --keep {before.commit[:10]} && {words}"
        amend = "git commit --amend --no-edit" if asked.action != "rebase" else ""
        notes.append(note_skipped(ran, amend if asked.sub == "continue" else again, asked.inside))
    return GitChange("Already up to date." if same else did, now, "\n".join(filter(None, notes)))


def where_it_was(before: RepositoryStatus) -> str:
    """How to get back: the journal knows the branches of the workspace's own repository only."""
    if before.commit is None:
        return ""
    name = f"Branch {show_text(before.branch)}" if before.branch else "HEAD"
    return (
        f"({name} was at {before.commit[:10]}: `undo` goes back, or, in a repository further down, action `reset` "
        "with sub `hard` and that `ref`.)"
    )


def _reset(asked: GitRequest) -> Plan:
    before = read_status(asked, (yield look_at_status()))
    ref = asked.ref or "HEAD"
    if asked.files:
        if asked.sub != "list":
            raise invalid(f"A {asked.sub} reset is one of the whole tree. Leave `files` out, or use action restore.")
        words: tuple[str, ...] = ("reset", "--quiet", ref, "--", *asked.files)
    else:
        mode = "mixed" if asked.sub == "list" else asked.sub
        words = ("reset", "--quiet", f"--{mode}", ref)
    done = yield GitCommand(words, changes=True, force=asked.force)
    now = read_status(asked, (yield look_at_status()))
    notes = [where_it_was(before) if now.commit != before.commit else "", note_skipped(done, inside=asked.inside)]
    return GitChange(f"Reset to {show_text(ref)}.", now, "\n".join(filter(None, notes)))


def _restore(asked: GitRequest) -> Plan:
    if not asked.files:
        raise invalid('`files` is required: which to restore; "." for all.')
    source = (f"--source={asked.ref}",) if asked.ref else ()
    where = "--staged" if asked.sub == "staged" else "--worktree"
    words = ("restore", "--quiet", "--no-recurse-submodules", where, *source, "--", *asked.files)
    done = yield GitCommand(words, changes=True, force=asked.force)
    did = "Unstaged." if asked.sub == "staged" else f"Restored from {show_text(asked.ref or 'what is staged')}."
    note = "" if asked.sub == "staged" else note_skipped(done, inside=asked.inside)
    return GitChange(did, read_status(asked, (yield look_at_status())), note)


_TAG_LIST = GitCommand(("for-each-ref", "--sort=-creatordate", f"--format={history.TAG}", "refs/tags"))
_TREE_LIST = GitCommand(("worktree", "list", "--porcelain", "-z"))


def _tags(_asked: GitRequest) -> Plan:
    return history.parse_tags((yield _TAG_LIST).out)


def _tag(asked: GitRequest) -> Plan:
    message = ("--annotate", f"--message={asked.message}") if asked.message else ()
    name, ref = named(asked, "tag"), asked.ref or "HEAD"
    done = yield GitCommand(("tag", "--no-sign", *message, name, ref), changes=True)
    note = note_skipped(done, f"git tag --force --sign {shlex.quote(name)} {shlex.quote(ref)}", asked.inside)
    return GitChange(f"Created tag {name!r}.", history.parse_tags((yield _TAG_LIST).out), note)


def _untag(asked: GitRequest) -> Plan:
    done = yield GitCommand(("tag", "--delete", named(asked, "tag")), changes=True)
    return GitChange(show_text(done.out), history.parse_tags((yield _TAG_LIST).out))


def _worktrees(_asked: GitRequest) -> Plan:
    return history.parse_worktrees((yield _TREE_LIST).out)


def _add_worktree(asked: GitRequest) -> Plan:
    name, path = named(asked, "branch"), _folder(asked)
    known = yield GitCommand(("rev-parse", "--verify", "--quiet", f"refs/heads/{name}"), may_fail=True)
    branch = (path, name) if not known.status else ("--no-track", "-b", name, path, asked.ref or "HEAD")
    yield GitCommand(("worktree", "add", "--quiet", "--no-guess-remote", *branch), changes=True)
    now = history.parse_worktrees((yield _TREE_LIST).out)
    return GitChange(f"Created a working tree of {name!r} in {asked.inside}{asked.path}.", now)


def _remove_worktree(asked: GitRequest) -> Plan:
    force = ("--force",) if asked.force else ()
    yield GitCommand(("worktree", "remove", *force, _folder(asked)), changes=True, force=asked.force)
    now = history.parse_worktrees((yield _TREE_LIST).out)
    return GitChange(f"Removed the working tree in {asked.inside}{asked.path}.", now)


def named(asked: GitRequest, what: str) -> str:
    """The name that the call gives; raises ToolError without one."""
    if not asked.name:
        raise invalid(f"Which {what}? Give its `name` to {asked.sub}.")
    return asked.name


def _folder(asked: GitRequest) -> str:
    if not asked.path or asked.path == ".":
        raise invalid("`files` must name one folder, that of the working tree.")
    return f"./{asked.path}"


_ENDINGS: tuple[Sub, ...] = ("continue", "skip", "abort")
PLANS: dict[tuple[Action, Sub], Callable[[GitRequest], Plan]] = {
    **{(action, "list"): start for action in CONTINUED},
    **{(action, sub): _go_on for action in CONTINUED for sub in _ENDINGS if (action, sub) != ("merge", "skip")},
    ("restore", "list"): _restore,
    ("restore", "staged"): _restore,
    ("reset", "list"): _reset,
    ("reset", "soft"): _reset,
    ("reset", "hard"): _reset,
    ("tag", "list"): _tags,
    ("tag", "create"): _tag,
    ("tag", "delete"): _untag,
    ("worktree", "list"): _worktrees,
    ("worktree", "create"): _add_worktree,
    ("worktree", "delete"): _remove_worktree,
}
