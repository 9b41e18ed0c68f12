"""What a program printed, as a model can read it: clean text within a budget, the rest kept under a handle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.host.files.spill import Spill
from toolroll.text.terminal import clean, is_binary
from toolroll.text.truncate import Keep, bound

if TYPE_CHECKING:
    from toolroll.host.shell.output import CapturedOutput


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """The text that is shown, and the handle of the whole when that is more."""

    text: str
    handle: str | None = None

    @property
    def note(self) -> str:
        """Where the rest is, in words."""
        return f"[Cut. The whole output is kept: `read` or `grep` {self.handle!r}.]" if self.handle else ""


def show_output(output: CapturedOutput, spill: Spill, most: int, keep: Keep) -> ShownOutput:
    """What was printed so far, within `most` characters; `keep` tells which part stays."""
    head, omitted, tail = output.ends(4 * most)  # a character is at most four bytes
    if is_binary(head or tail):
        return ShownOutput(f"({output.total} bytes of binary output, not shown)", output.handle())
    if omitted == 0:
        text = clean(head + tail)
        shown = bound(text, most, keep)
        return ShownOutput(shown.text, (output.handle() or spill.keep(text)) if shown.cut else None)
    # Memory may hold all of it still, and a file is the only way to what is left out.
    return ShownOutput(_ends(clean(head), clean(tail), omitted, most, keep), output.handle(make=True))


def _ends(head: str, tail: str, omitted: int, most: int, keep: Keep) -> str:
    """Both ends of something too long, or one of them, around a line that says what is missing."""
    notice = f"[Output truncated...] More than {omitted} bytes left out."
    room = max(0, most - len(notice) - 2)
    ends = {"head": (room, 0), "tail": (0, room), "middle": (room - room // 2, room // 2)}[keep]
    first, last = head[: ends[0]], tail[len(tail) - ends[1] :] if ends[1] else ""
    return "\n".join(part for part in (first, notice, last) if part)
