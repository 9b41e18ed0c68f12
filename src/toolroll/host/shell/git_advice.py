"""What the repository of a command says about it: which work it would lose, and how git runs no other program there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from toolroll.host.sandbox.git.git_process import git_variables
from toolroll.policy.effects import Effect
from toolroll.result import ToolError
from toolroll.text.git.settings import quiet_settings

if TYPE_CHECKING:
    from toolroll.host.shell.command_launcher import Word
    from toolroll.policy.commands import Judgement
    from toolroll.policy.git import GitStake
    from toolroll.policy.rules import Policy

_LOOK_SECONDS = 10.0


class GitLook(Protocol):
    """A repository, as far as a command is concerned."""

    def find_loss(self, stake: GitStake | None, cwd: str = ".") -> str:
        """What would be lost, by name."""
        ...

    def quiet_settings(self) -> dict[str, Word]:
        """The settings with which git runs no program that those of the repository name."""
        ...


FindRepository = Callable[[str, float], GitLook]
"""The repository of a folder; raises ToolError when there is none."""


def name_losses(judgement: Judgement, cwd: str, find: FindRepository) -> Judgement:
    """The judgement with a question about the work that git commands would lose, if there is any."""
    from toolroll.policy.commands import JudgedPart
    from toolroll.policy.git import find_folder, find_stake

    if judgement.decision == "deny":
        return judgement
    for part in judgement.parts:
        if part.by_rule or not part.words or part.words[0].rpartition("/")[2] != "git":
            continue
        loss, stake = "", find_stake(part.words)
        if stake and part.where is None:
            loss = f"`git {stake.verb}` may lose work: the folder that it runs in is not known before it runs."
        elif stake:
            folder = _join(cwd, part.where, find_folder(part.words))
            with suppress(ToolError, OSError):  # no repository, or none in reach: git will say so itself
                loss = find(folder, _LOOK_SECONDS).find_loss(stake, folder)
        if loss:
            asked = JudgedPart(part.words, part.text, "ask", loss, firm=True)
            return replace(judgement, decision="ask", reason=loss, parts=(*judgement.parts, asked))
    return judgement


def _join(start: str, *folders: str | None) -> str:
    """The folder that a command runs in; the one where it starts if there is none of that name, so that `cd` fails."""
    found = os.path.normpath(os.path.join(start, *(os.path.expanduser(one or ".") for one in folders)))
    return found if os.path.isdir(found) else start


def quieten(
    text: str,
    root: str,
    how: dict[str, Any],
    extra: Mapping[str, Word],
    policy: Policy,
    find: FindRepository | None,
) -> tuple[bool, Mapping[str, Word]]:
    """Whether to record what a text with git changes, and its variables; changes `how` it is started.

    Where it runs only because it is known to read, git must run no program that the repository's settings name, and
    can write nothing. Elsewhere such programs run, so that what they change is recorded.
    """
    from toolroll.policy.commands import judge

    asks, judged = Effect.SHELL in policy.ask or policy.commit != "auto", judge(text)
    if how.get("writes") != "nothing" and not (asks and judged.decision == "allow"):
        return True, extra
    how["writes"] = "nothing"
    settings: dict[str, Word] = {**quiet_settings(())}
    start = os.path.join(root, how["cwd"])
    for folder in {_join(start, part.where) for part in judged.parts}:
        with suppress(ToolError, OSError):  # there is no repository yet
            settings |= find(folder, _LOOK_SECONDS).quiet_settings() if find is not None else {}
    return False, {**git_variables(settings), "GIT_OPTIONAL_LOCKS": "0", **extra}
