"""What a search for knowledge looks through besides the library: earlier calls, notes, and the guidance that ships."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from toolroll.host.journal.log import undone
from toolroll.host.notes import Notes, path
from toolroll.text.chunks import markdown
from toolroll.text.passages import Passage

if TYPE_CHECKING:
    from toolroll.host.context import Context
    from toolroll.host.journal.entry import Entry

_CALLS = 5_000  # the latest that are looked through
_PATHS = 20  # of one call
_MESSAGE = 2_000


def calls(ctx: Context) -> list[Passage]:
    """The calls that changed something in this workspace, the oldest first."""
    entries = ctx.journal.entries()
    gone = undone(entries)
    return [_call(one, one.number in gone) for one in entries[-_CALLS:]]


def notes(ctx: Context) -> list[Passage]:
    """The notes of this workspace in pieces, the last changed last."""
    made = []
    for note in reversed(Notes(ctx.files, ctx.token).all()[0]):
        tags = "".join(f" #{tag}" for tag in note.tags)
        for part in markdown(note.content):
            title = " > ".join(filter(None, [note.title, part.title]))
            made.append(Passage(path(note.id), f"{note.type} note{tags}: {title}", part.text, 0.0))
    return made


def guidance() -> list[Passage]:
    """The texts on how to use these tools well."""
    from importlib.resources import files

    made = []
    folder = files("toolroll.text.guidance")
    for one in sorted(folder.iterdir(), key=lambda each: each.name):
        if one.name.endswith(".md"):
            head, _, body = one.read_text("utf-8").partition("\n")
            made.append(Passage(f"guidance/{one.name.removesuffix('.md')}", head.lstrip("# "), body.strip(), 0.0))
    return made


def _files(entry: Entry) -> list[str]:
    """The paths it touched, without folders that were only made or removed on the way."""
    told: dict[str, None] = {}
    for one in entry.changes:
        state = one.after or one.before
        if one.source is not None or (state is not None and state.kind != "directory"):
            told |= dict.fromkeys(filter(None, [one.source, one.path]))
    return list(told)


def _call(entry: Entry, taken_back: bool) -> Passage:
    paths = _files(entry) or entry.paths()
    more = f" and {len(paths) - _PATHS} more" if len(paths) > _PATHS else ""
    at = datetime.datetime.fromtimestamp(int(entry.time), datetime.UTC).strftime("%Y-%m-%d %H:%M")
    back = f", taking back {', '.join(map(str, entry.undoes))}" if entry.undoes else ""
    said = [
        f"{at} {entry.tool}: {', '.join(paths[:_PATHS])}{more}{back}",
        f"in session {entry.session}" if entry.session else "",
        "undone since" if taken_back else "",
    ]
    return Passage(
        f"call {entry.number}",
        "",
        "\n".join(filter(None, ["; ".join(filter(None, said)), entry.message[:_MESSAGE]])),
        0.0,
    )
