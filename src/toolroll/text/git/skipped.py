"""What git would do besides by a repository's settings and hooks, and the git tool does not."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from toolroll.text.git.names import show_text
from toolroll.text.git.requests import GitOutput
from toolroll.text.lines import list_some

HOOKS: Mapping[str, tuple[str, ...]] = {
    "commit": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    "merge": ("pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"),
    "rebase": ("pre-rebase", "post-rewrite"),
    "cherry-pick": ("prepare-commit-msg", "post-commit"),
    "revert": ("prepare-commit-msg", "post-commit"),
    "push": ("pre-push",),
}
"""The hooks of each command that check, change or send something."""
SIGNING: Mapping[str, str] = {
    **dict.fromkeys(("commit", "merge", "rebase", "cherry-pick", "revert"), "commit.gpgsign"), "tag": "tag.gpgsign",
}  # fmt: skip
"""The setting by which each command signs."""
CHECKS_OUT = frozenset({"merge", "rebase", "cherry-pick", "revert", "switch", "restore", "reset", "stash"})
"""Commands that write files, through the filters of the settings."""
_FILTER = re.compile(r"filter\.(.+)\.(?:smudge|process)", re.DOTALL)


def list_filters(names: Iterable[str]) -> list[str]:
    """The filters for files that are checked out, by the names of the settings; those that a pathspec can name."""
    found = {match[1] for name in names if (match := _FILTER.fullmatch(name))}
    return sorted(name for name in found if re.fullmatch(r"[\w.-]+", name))


def note_skipped(done: GitOutput, instead: str = "", inside: str = "") -> str:
    """The note about what was not done, and the command of `bash` that does it; `inside` is where the repository is."""
    where = f"cd {shlex.quote(inside.rstrip('/'))} && " if inside else ""
    notes = []
    if done.skipped and instead:
        notes.append(f"(Not done here: {list_some(done.skipped, 10)}. `bash` does it: {show_text(where + instead)})")
    if done.filters:
        named = list_some(list(map(repr, done.filters)), 10)
        again = f"{where}rm FILES && git checkout -- FILES"
        notes.append(f"(Files of the filter {named} are as git stores them. `bash` runs it: {again})")
    return "\n".join(notes)
