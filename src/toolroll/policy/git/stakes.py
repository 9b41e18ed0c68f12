"""What to look at before a git command runs: changes or commits that it may lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolroll.policy.git.places import takes_files
from toolroll.policy.git.verdict import GitCall, read_call

StakeKind = Literal["changes", "untracked", "ignored", "pushed", "sent", "overwritten"]

_FORCED = frozenset({"-f", "--force", "--discard-changes"})
_HARD = frozenset({"--hard", "--merge"})
_AMEND = frozenset({"--amend"})
_CONTINUES = frozenset({"--continue", "--abort", "--skip", "--quit", "--show-current-patch", "--edit-todo"})
_DRY = frozenset({"-n", "--dry-run"})
_IGNORED = frozenset({"-x", "-X"})
_STAGED, _WORKTREE = frozenset({"-S", "--staged"}), frozenset({"-W", "--worktree"})
_OVERWRITES = frozenset({"-f", "--force", "--force-with-lease", "--mirror"})


@dataclass(frozen=True, slots=True)
class GitStake:
    """What may be lost: changes of tracked files, untracked files, commits that a remote has, what a push sends."""

    kind: StakeKind
    verb: str
    names: tuple[str, ...] = ()
    """Paths from where it runs, all when empty; of a rebase the new base, of a push the remote and its branch."""


def find_stake(argv: Sequence[str]) -> GitStake | None:
    """What a command that begins with "git" puts at stake, by its words alone."""
    call = read_call(argv)
    if call is None or call.words.has(_DRY):
        return None
    kind, names = _judge(call)
    return GitStake(kind, call.key, names) if kind else None


def _judge(call: GitCall) -> tuple[StakeKind | None, tuple[str, ...]]:
    key, words = call.key, call.words
    paths = (*words.names, *words.paths)
    if (key == "reset" and words.has(_HARD)) or (key in ("checkout", "switch") and words.has(_FORCED)):
        return "changes", ()
    restores = key == "restore" and (words.has(_WORKTREE) or not words.has(_STAGED))
    if restores or (key == "checkout" and takes_files(words)):
        return "changes", paths
    if key == "clean" and words.has(_FORCED):
        return "ignored" if words.has(_IGNORED) else "untracked", paths or (".",)
    if key == "rebase" and not words.has(_CONTINUES):
        return "pushed", tuple(words.names[:1]) or ("@{upstream}",)
    if key == "commit" and words.has(_AMEND):
        return "pushed", ("HEAD~1",)
    if key == "push":
        forced = words.has(_OVERWRITES) or any(one.startswith("+") for one in words.names)
        branch = words.names[1].lstrip("+").rpartition(":")[2] if len(words.names) > 1 else ""
        return "overwritten" if forced else "sent", (*words.names[:1], branch.removeprefix("refs/heads/"))
    return None, ()
