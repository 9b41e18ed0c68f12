"""What the repository of a command says about it: which work it would lose, and how git runs no other program there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from toolroll.policy.effects import Effect
from toolroll.result import ToolError
from toolroll.text.git.settings import ENVIRONMENT, quiet_settings, setting_variables

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

    def quiet_variables(self) -> dict[str, Word]:
        """The variables with which git runs no program that the repository's settings name."""
        ...


FindRepository = Callable[[str, float], GitLook]
"""The repository of a folder; raises ToolError when there is none."""


def name_losses(judgement: Judgement, cwd: str, find: FindRepository) -> Judgement:
    """The judgement with a question about the work that git commands would lose, if there is any."""
    from toolroll.policy.commands import JudgedPart
    from toolroll.policy.git import find_stake

    if judgement.decision == "deny":
        return judgement
    for part in judgement.parts:
        if part.by_rule or not part.words or part.words[0].rpartition("/")[2] != "git":
            continue
        loss = ""
        if stake := find_stake(part.words):
            with suppress(ToolError, OSError):  # no repository, or none in reach: git will say so itself
                loss = find(cwd, _LOOK_SECONDS).find_loss(stake, cwd)
        if loss:
            asked = JudgedPart(part.words, part.text, "ask", loss, firm=True)
            return replace(judgement, decision="ask", reason=loss, parts=(*judgement.parts, asked))
    return judgement


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

    asks = Effect.SHELL in policy.ask or policy.commit != "auto"
    if how.get("writes") != "nothing" and not (asks and judge(text).decision == "allow"):
        return True, extra
    how["writes"] = "nothing"
    variables: Mapping[str, Word] = {**ENVIRONMENT, **setting_variables(quiet_settings(()))}
    if find is not None:
        with suppress(ToolError, OSError):  # there is no repository yet
            variables = find(os.path.join(root, how["cwd"]), _LOOK_SECONDS).quiet_variables()
    return False, {**variables, **extra}
