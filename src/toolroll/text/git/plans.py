"""The git commands of each action. Nothing is run here.

A plan is a generator: it yields commands, receives the output of each, and returns the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from toolroll.result import ErrorCode, ToolError
from toolroll.text.git import conflicts, history, operations, remotes
from toolroll.text.git.blame import Blame, parse_blame
from toolroll.text.git.changes import Diff, parse_part
from toolroll.text.git.names import Action, Sub, show_text
from toolroll.text.git.requests import (
    GitChange,
    GitCommand,
    GitRequest,
    Plan,
    invalid,
    look_at_status,
    make_refusal,
    read_status,
)
from toolroll.text.git.skipped import note_skipped
from toolroll.text.lines import counted

_HEAD = f"--format={history.COMMIT}"
_RAW = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--relative", "-z", "--numstat")
_LINES = re.compile(r"\s*(0*[1-9]\d{0,8})(?:\s*[-,:]\s*(\d{1,9}))?\s*")
_STASH = re.compile(r"(?:stash@)?\{?(\d{1,6})\}?")
_GITLINK = re.compile(r"160000 \S+ \d\t(.*)", re.DOTALL)
_EMBEDDED = re.compile(r"adding embedded git repository: (.*)")


@dataclass(frozen=True, slots=True)
class CommittedFile:
    """A file or folder as it was in a commit."""

    ref: str
    text: str

    def __str__(self) -> str:
        return self.text.rstrip("\n") or "(empty)"


def make_plan(asked: GitRequest) -> Plan:
    """The plan for a call; raises ToolError for a value that does not go with its action."""
    found = PLANS.get((asked.action, asked.sub))
    if found is not None:
        return found(asked)
    known = [sub for action, sub in PLANS if action == asked.action]
    if known == ["list"]:
        raise invalid(f"`sub` goes with other actions, not with {asked.action!r}. Leave it out.")
    raise invalid(f"`sub` of {asked.action!r} is one of {', '.join(known)}, not {asked.sub!r}.")


def _status(asked: GitRequest) -> Plan:
    return read_status(asked, (yield look_at_status(asked.files)))


def _diff(asked: GitRequest) -> Plan:
    words = ("diff", *_raw(asked), "--patch")
    if asked.ref:
        printed = yield GitCommand((*words, "--end-of-options", asked.ref, "--", *asked.files))
        found = [parse_part(f"Compared with {show_text(asked.ref)}", printed.out, asked.inside)]
    else:
        # Of a file in conflict, only the comparison with our side can be parsed and counted.
        staged = yield GitCommand((*words, "--cached", "--diff-filter=u", "--", *asked.files))
        unstaged = yield GitCommand((*words, "--ours", "--", *asked.files))
        found = [parse_part("Staged", staged.out, asked.inside), parse_part("Not staged", unstaged.out, asked.inside)]
    return Diff([one for one in found if one is not None])


def _log(asked: GitRequest) -> Plan:
    words = ("log", "--graph", "--no-color", "--decorate=short", "--no-show-signature", f"-n{asked.limit + 1}")
    refs = ("--end-of-options", asked.ref) if asked.ref else ()
    printed = yield GitCommand((*words, f"{_HEAD}%s%x00", *refs, "--", *asked.files))
    return history.parse_log(printed.out, asked.limit)


def _show(asked: GitRequest) -> Plan:
    ref = asked.ref or "HEAD"
    if ".." in ref.partition(":")[0]:
        raise invalid(f"`ref` {ref!r} is a range. `show` takes one commit; use `diff` or `log` for a range.")
    if ":" in ref and not ref.startswith(":/"):
        printed = yield GitCommand(("show", "--no-textconv", "--end-of-options", ref))
        return CommittedFile(ref, "(A binary file, which is not shown.)" if "\0" in printed.out else printed.out)
    # ":/text" is the newest commit whose message matches, and takes nothing behind it.
    commit = ("--end-of-options", ref if ref.startswith(":/") else f"{ref}^{{commit}}", "--")
    printed = yield GitCommand((*_show_words(asked), "--patch", *commit, *asked.files))
    if not printed.out:  # none of these files is in it
        printed = yield GitCommand(("show", "--no-patch", f"{_HEAD}%B%x00", *commit))
        return replace(
            history.parse_shown_commit(printed.out),
            note="(None of `files` changed. Action log finds what changed them.)",
        )
    return history.parse_shown_commit(printed.out, asked.inside)


def _add(asked: GitRequest) -> Plan:
    listed = yield GitCommand(("ls-files", "--stage", "-z", "--", *asked.files))
    # To see whether a submodule has changed, git would run itself there, by the submodule's own settings.
    submodules = [found[1] for record in listed.out.split("\0") if (found := _GITLINK.fullmatch(record))]
    if not asked.force:
        yield from conflicts.check_markers(asked, listed.out)
    left_out = tuple(f":(exclude,literal){path}" for path in submodules)
    added = yield GitCommand(("add", "--", *asked.files, *left_out), changes=True, strict=True)
    now = read_status(asked, (yield look_at_status(())))
    notes = [f"(Left out, being submodules: {', '.join(map(show_text, submodules))}.)"] if submodules else []
    if inner := _EMBEDDED.findall(added.errors):
        named = ", ".join(map(show_text, inner))
        notes.append(f"(Repositories of their own, of which only the commit is staged: {named}.)")
    return GitChange(f"Staged now: {counted(len(now.staged), 'file')}.", now, "\n".join(notes))


def _commit(asked: GitRequest) -> Plan:
    if asked.message is None:
        raise invalid("`message` is required for a commit. Say what changed and why.")
    if asked.files and not asked.prefix:
        raise invalid("A commit takes what is staged, not `files`. `add` them first, then commit.")
    # Asked before: a commit that finds nothing to commit looks into submodules, by the settings in them.
    now = read_status(asked, (yield look_at_status(())))
    if not now.staged and not now.conflicts and now.ongoing != "merge":
        stage = "Stage files with action `add` first."
        raise ToolError(ErrorCode.CONFLICT, f"Nothing was committed: nothing is staged. {stage}\n{now}")
    words = ("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status", "--cleanup=whitespace")
    made = yield GitCommand((*words, f"--message={asked.message}"), changes=True)
    found = history.parse_shown_commit((yield GitCommand((*_show_words(asked), "HEAD", "--"))).out, asked.inside)
    again = "git reset --soft HEAD~1 && git commit -C ORIG_HEAD"
    amend = "git commit --amend --no-edit"  # of the first commit or a merge nothing can be taken back
    note = note_skipped(made, again if len(found.commit.parents) == 1 else amend, asked.inside)
    return history.CommitResult(found.commit, found.files, note)


def _blame(asked: GitRequest) -> Plan:
    if not asked.path or asked.path == ".":
        raise invalid("`files` must name one file to blame.")
    span: tuple[str, ...] = ()
    if asked.lines:
        found = _LINES.fullmatch(asked.lines)
        if not found:
            raise invalid(f"`lines` is {asked.lines!r}. Give it as 10 or as 10-20.")
        span = (f"-L{found[1]},{found[2] or found[1]}",)
    refs = (asked.ref,) if asked.ref else ()
    words = ("blame", "--porcelain", "--no-textconv", "--no-progress", *span, *refs, "--", asked.path)
    printed = yield GitCommand(words, may_fail=True)
    path = f"{asked.inside}{asked.path}"
    if printed.status and "no such path" in printed.errors:
        note = f"(There is no file {path!r} in {asked.ref or 'HEAD'}: only what is committed has authors.)"
        return Blame(path, [], note, "partial")
    if printed.status:
        raise make_refusal(printed, "blame")
    if "\0" in printed.out:
        return Blame(path, [], f"({path!r} is a binary file, which has no lines.)", "partial")
    return parse_blame(printed.out, path)


def _branches(asked: GitRequest) -> Plan:
    if asked.name:
        raise invalid(f"What about branch {asked.name!r}? Set `sub` to create, switch or delete.")
    return history.parse_branches((yield _BRANCH_LIST).out)


def _create(asked: GitRequest) -> Plan:
    yield GitCommand(("branch", "--no-track", operations.named(asked, "branch"), asked.ref or "HEAD"), changes=True)
    now = history.parse_branches((yield _BRANCH_LIST).out)
    return GitChange(f"Created branch {asked.name!r}.", now, "To work on it, set `sub` to switch.")


def _switch(asked: GitRequest) -> Plan:
    discard = ("--discard-changes",) if asked.force else ()
    words = ("switch", "--quiet", "--no-recurse-submodules", *discard, operations.named(asked, "branch"))
    done = yield GitCommand(words, changes=True, force=asked.force)
    now = read_status(asked, (yield look_at_status(())))
    return GitChange(f"Switched to branch {asked.name!r}.", now, note_skipped(done, inside=asked.inside))


def _delete(asked: GitRequest) -> Plan:
    yield GitCommand(
        ("branch", "--quiet", "-D" if asked.force else "-d", operations.named(asked, "branch")), changes=True
    )
    return GitChange(f"Deleted branch {asked.name!r}.", history.parse_branches((yield _BRANCH_LIST).out))


def _stashes(_asked: GitRequest) -> Plan:
    return history.parse_stashes((yield _STASH_LIST).out)


def _save(asked: GitRequest) -> Plan:
    message = (f"--message={asked.message}",) if asked.message else ()
    paths = ("--", *asked.files) if asked.files else ()
    printed = yield GitCommand(("stash", "push", *message, *paths), changes=True)
    said = show_text(printed.out.partition("\n")[0]) or "Nothing to put aside."
    return GitChange(said, read_status(asked, (yield look_at_status(()))))


def _pop(asked: GitRequest) -> Plan:
    done = yield GitCommand(("stash", "pop", "--quiet", _stash(asked)), changes=True)
    now = read_status(asked, (yield look_at_status(())))
    return GitChange(f"Took back {_stash(asked)}.", now, note_skipped(done, inside=asked.inside))


def _drop(asked: GitRequest) -> Plan:
    yield GitCommand(("stash", "drop", "--quiet", _stash(asked)), changes=True)
    return GitChange(f"Dropped {_stash(asked)}.", history.parse_stashes((yield _STASH_LIST).out))


PLANS: dict[tuple[Action, Sub], Callable[[GitRequest], Plan]] = {
    ("status", "list"): _status,
    ("diff", "list"): _diff,
    ("log", "list"): _log,
    ("show", "list"): _show,
    ("add", "list"): _add,
    ("commit", "list"): _commit,
    ("blame", "list"): _blame,
    ("branch", "list"): _branches,
    ("branch", "create"): _create,
    ("branch", "switch"): _switch,
    ("branch", "delete"): _delete,
    ("stash", "list"): _stashes,
    ("stash", "save"): _save,
    ("stash", "pop"): _pop,
    ("stash", "drop"): _drop,
    **conflicts.PLANS,
    **operations.PLANS,
    **remotes.PLANS,
}
_BRANCH_LIST = GitCommand(("for-each-ref", f"--format={history.BRANCH}", "refs/heads", "refs/remotes"))
_STASH_LIST = GitCommand(("stash", "list", f"--format={history.STASH}"))


def _raw(asked: GitRequest) -> tuple[str, ...]:
    if not asked.inside:
        return _RAW
    return (*_RAW, f"--src-prefix=a/{asked.inside}", f"--dst-prefix=b/{asked.inside}")


def _show_words(asked: GitRequest) -> tuple[str, ...]:
    return ("show", *_raw(asked), "--diff-merges=first-parent", f"{_HEAD}%B%x00")


def _stash(asked: GitRequest) -> str:
    found = _STASH.fullmatch(asked.ref or "0")
    if not found:
        raise invalid(f"`ref` {asked.ref!r} is no stash. Give it as stash@{{0}}.")
    return f"stash@{{{found[1]}}}"
