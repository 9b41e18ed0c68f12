"""What a plan is made of: the checked call, git commands and their output, and looking at the status."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from toolroll.result import CouldNotLookError, ErrorCode, ToolError
from toolroll.text.git.history import Branches, GitTags, Stashes, Worktrees
from toolroll.text.git.names import LISTING, LOOKING, Action, Sub
from toolroll.text.git.status import RepositoryStatus, parse_status


@dataclass(frozen=True, slots=True)
class GitRequest:
    """A call whose values were checked: none of them can become an option or lead elsewhere."""

    action: Action
    sub: Sub = "list"
    files: tuple[str, ...] = ()
    path: str = ""
    """The only one of them, without magic."""
    ref: str | None = None
    name: str | None = None
    remote: str | None = None
    message: str | None = None
    content: str | None = None
    limit: int = 10
    lines: str | None = None
    force: bool = False
    prefix: str = ""
    """What git puts before paths of the workspace, when its working tree is larger."""
    inside: str = ""
    """What is before paths of the working tree, when that is a folder of the workspace."""

    @property
    def changes(self) -> bool:
        return not only_reads(self.action, self.sub)


def only_reads(action: str, sub: str) -> bool:
    """Whether a call of the git tool only looks."""
    return action in LOOKING or (action in LISTING and sub == "list")


@dataclass(frozen=True, slots=True)
class GitCommand:
    """The words behind `git`."""

    words: tuple[str, ...]
    changes: bool = False
    strict: bool = False
    """A file that is to go through a filter is an error."""
    may_fail: bool = False
    force: bool = False
    """It may lose work that is not committed, or commits that others have."""
    remote: str = ""
    """The remote that it talks to."""
    folder: bool = False
    """That remote is a folder, which git reaches by a shell."""
    text: str | None = None
    """The content of a file that is named behind the words."""
    shown: str = ""
    """What it will do, as the files of the repository say: read by the person who is asked."""


@dataclass(frozen=True, slots=True)
class WorkingFile:
    """Asks for the text of a file, in place of a command."""

    path: str
    own: bool = False
    """It is one of the repository's own folder, not of the working tree."""


@dataclass(frozen=True, slots=True)
class GitOutput:
    """What became of a command."""

    out: str
    errors: str = ""
    status: int = 0
    ongoing: str = ""
    """What the repository is in the middle of afterwards, such as "merge"."""
    skipped: tuple[str, ...] = ()
    """What git would have done besides by the repository's settings and hooks, and was kept from."""
    filters: tuple[str, ...] = ()
    """Filters of files that it may have written, which were not run."""


Plan = Generator[GitCommand | WorkingFile, GitOutput, Any]
"""Yields commands, receives the output of each, and returns the result."""


@dataclass(frozen=True, slots=True)
class GitChange:
    """What was done, and how things stand now."""

    did: str
    now: RepositoryStatus | Branches | Stashes | GitTags | Worktrees
    note: str = ""

    def __str__(self) -> str:
        return f"{self.did}\n{self.now}"


def look_at_status(files: tuple[str, ...] = ()) -> GitCommand:
    """The command that `read_status` parses the output of."""
    words = ("status", "--porcelain=v2", "--branch", "--show-stash", "-z", "--ignore-submodules=dirty")
    return GitCommand((*words, "--untracked-files=normal", "--", *files))


def read_status(asked: GitRequest, looked: GitOutput) -> RepositoryStatus:
    """The status, with paths as the workspace has them."""
    if not looked.out:  # the branch is always named
        raise CouldNotLookError("git", "it printed no status.", "Ask the user to look at `git --version` there.")
    return parse_status(looked.out, asked.prefix, asked.inside, looked.ongoing)


def invalid(message: str) -> ToolError:
    """The error for values that do not go together."""
    return ToolError(ErrorCode.VALIDATION, message)


def make_refusal(printed: GitOutput, verb: str) -> ToolError:
    """The error for a command that git refused."""
    from toolroll.text.git.refusals import explain

    return explain(printed.errors or printed.out, verb)
