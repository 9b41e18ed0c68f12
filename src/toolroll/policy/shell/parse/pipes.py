"""What a command passes on through a pipe, as far as its text shows it."""

from __future__ import annotations

from toolroll.policy.shell.parse.words import SimpleCommand

DOWNLOADED = "\0"
"""A mark for what a download gives."""


def piped_text(command: SimpleCommand) -> str | None:
    """What a literal echo or printf prints, or cat passes on; a mark for what a download gives."""
    if command.downloaded or command.program in ("curl", "wget"):
        return DOWNLOADED
    words = command.literal
    if not words:
        return None
    if words == ("cat",):
        return command.stdin
    if words[0] == "echo" and not (words[1:] and words[1].startswith("-")) and "\\" not in command.text:
        return " ".join(words[1:])
    if words[0] == "printf" and len(words) == 2 and "%" not in words[1]:
        return words[1].replace("\\n", "\n")
    return None
