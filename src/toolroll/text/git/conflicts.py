"""Show conflicts with both sides, and resolve them."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field

from toolroll.result import ErrorCode, Status, ToolError
from toolroll.text.escape import escape_text
from toolroll.text.git.names import Action, Sub, show_path, show_text
from toolroll.text.git.requests import (
    GitChange,
    GitCommand,
    GitOutput,
    GitRequest,
    Plan,
    WorkingFile,
    invalid,
    look_at_status,
    read_status,
)
from toolroll.text.git.status import RepositoryStatus
from toolroll.text.lines import counted

CONTINUED: frozenset[Action] = frozenset({"merge", "rebase", "cherry-pick", "revert"})
"""Operations that stop at a conflict and are continued."""
_KINDS = {
    "DD": "both deleted", "AU": "added by us", "UD": "deleted by them", "UA": "added by them", "DU": "deleted by us",
    "AA": "both added", "UU": "both modified",
}  # fmt: skip
_MAX_FILES = 20  # shown with their text
_MAX_HUNKS = 20  # of one file
_MAX_LINES = 40  # of one side
_MAX_CHARS = 4000  # of one side
_MARKER = re.compile(r"(<{7,}|\|{7,}|={7,}|>{7,})(?: (.*))?")
_PART_OF = {"<": "ours", "|": "base", "=": "theirs"}
_GITLINK = "160000"


@dataclass(slots=True)
class ConflictHunk:
    """One place of a file where both sides changed the same lines; line numbers are those of the file with markers."""

    first: int
    last: int = 0
    ours: str = ""
    base: str | None = None
    theirs: str = ""
    ours_name: str = ""
    theirs_name: str = ""

    def __str__(self) -> str:
        sides = [
            (f"ours ({self.ours_name})", self.ours),
            ("base", self.base),
            (f"theirs ({self.theirs_name})", self.theirs),
        ]
        shown = (f"  {title}:\n{_indent(text)}" for title, text in sides if text is not None)
        return "\n".join((f"  lines {self.first}-{self.last}", *shown))


@dataclass(frozen=True, slots=True)
class ConflictFile:
    """A file in conflict, and how it came to be."""

    path: str
    kind: str
    hunks: list[ConflictHunk] = field(default_factory=list)
    note: str = ""

    def __str__(self) -> str:
        shown = [str(one) for one in self.hunks[:_MAX_HUNKS]]
        more = [f"  ... and {len(self.hunks) - _MAX_HUNKS} more places"] if len(self.hunks) > _MAX_HUNKS else []
        return "\n".join([f"{show_path(self.path)}: {self.kind}{self.note}", *shown, *more])


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What is in conflict, and what to do next."""

    did: str
    files: list[ConflictFile]
    ongoing: str = ""
    note: str = ""
    status: Status = "partial"

    def __str__(self) -> str:
        return "\n".join([self.did, *map(str, self.files)])


def parse_hunks(text: str) -> list[ConflictHunk]:
    """The places between conflict markers."""
    found: list[ConflictHunk] = []
    part, lines = "", list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        marker = _MARKER.fullmatch(line.rstrip("\r"))
        if marker is None or (not part and marker[1][0] != "<"):
            lines.append(line)
            continue
        if part:
            setattr(found[-1], part, _clip(lines))
        lines = []
        if marker[1][0] == "<":
            found.append(ConflictHunk(number, ours_name=show_text(marker[2] or "")))
        elif marker[1][0] == ">":
            found[-1].last, found[-1].theirs_name = number, show_text(marker[2] or "")
        part = _PART_OF.get(marker[1][0], "")
    return [one for one in found if one.last]


def describe(
    asked: GitRequest, did: str, looked: GitOutput
) -> Generator[GitCommand | WorkingFile, GitOutput, Conflicts]:
    """The conflicts that a status shows, with the text of both sides."""
    files = []
    for nth, (letters, path) in enumerate(_unmerged(looked.out)):
        hunks: list[ConflictHunk] = []
        note = ""
        if nth < _MAX_FILES and letters in ("UU", "AA"):
            read = yield WorkingFile(path)
            hunks = parse_hunks(read.out)
            note = "" if hunks else f" ({read.errors or 'no conflict markers are left: `add` it if it is right'})"
        files.append(ConflictFile(f"{asked.inside}{path}", _KINDS.get(letters, letters), hunks, note))
    return Conflicts(did, files, looked.ongoing, how_to_go_on(looked.ongoing, len(files)))


def how_to_go_on(ongoing: str, conflicts: int) -> str:
    """What to do next in the middle of an operation."""
    end = f"action `{ongoing}` with sub `continue`" if ongoing in CONTINUED else ""
    back = "; sub `abort` goes back" if end else ""
    if not conflicts:
        return f"{end[0].upper()}{end[1:]} concludes it{back}." if end else ""
    swapped = " In a rebase, ours is what you rebase onto, theirs your own commit." if ongoing == "rebase" else ""
    ways = "Resolve each file: action `resolve` with sub `ours` or `theirs` or with `content`, or edit it and `add` it."
    return f"{ways}{f' Then {end}{back}.' if end else ''}{swapped}"


def check_markers(asked: GitRequest, listed: str) -> Generator[GitCommand | WorkingFile, GitOutput, None]:
    """Raise ToolError for a file in conflict that still holds its markers, given `git ls-files --stage -z`."""
    rows = (record.partition("\t") for record in listed.split("\0"))
    unmerged = dict.fromkeys(path for head, _, path in rows if head and head[-1] != "0")
    for path in list(unmerged)[:_MAX_FILES]:
        hunks = parse_hunks((yield WorkingFile(path)).out)
        if hunks:
            lines = ", ".join(f"{one.first}-{one.last}" for one in hunks[:_MAX_HUNKS])
            held = f"{show_path(f'{asked.inside}{path}')} still holds conflict markers in lines {lines}."
            raise ToolError(ErrorCode.CONFLICT, f"{held} Resolve them first; action conflicts shows them.")


def _conflicts(asked: GitRequest) -> Plan:
    looked = yield look_at_status(asked.files)
    now = read_status(asked, looked)
    if not now.conflicts:
        return Conflicts("No conflicts.", [], looked.ongoing, how_to_go_on(looked.ongoing, 0), "success")
    return (yield from describe(asked, summarize(now), looked))


def summarize(now: RepositoryStatus) -> str:
    """Such as "Merge in progress, 2 conflicts."."""
    doing = [f"{now.ongoing.capitalize()} in progress"] if now.ongoing else []
    return ", ".join([*doing, *([counted(len(now.conflicts), "conflict")] if now.conflicts else [])]) + "."


def _take_side(asked: GitRequest) -> Plan:
    stages = yield from _stages(asked)
    side = {"ours": "2", "theirs": "3"}[asked.sub]
    kept = {path: found[side] for path, found in stages.items() if side in found}
    gone = [f":(literal){path}" for path in stages if path not in kept]
    if kept:
        yield from _store(kept)
    if gone:
        yield GitCommand(("rm", "--quiet", "--", *gone), changes=True)
    return (yield from _resolved(asked, stages))


def _take_content(asked: GitRequest) -> Plan:
    if asked.content is None:
        raise invalid("How? Set `sub` to ours or theirs, or give the whole file as `content`; or edit it and `add` it.")
    stages = yield from _stages(asked)
    if len(stages) != 1:
        raise invalid(f"`content` is that of one file, and {len(stages)} are in conflict. Name one in `files`.")
    ((path, found),) = stages.items()
    mode = next(found[stage][0] for stage in "231" if stage in found)
    if mode == _GITLINK:
        raise invalid(f"{path!r} is a submodule, which has no content. Set `sub` to ours or theirs.")
    stored = yield GitCommand(("hash-object", "-w", f"--path={path}", "--"), changes=True, text=asked.content)
    yield from _store({path: (mode, stored.out.strip())})
    return (yield from _resolved(asked, stages))


_Stages = dict[str, dict[str, tuple[str, str]]]


def _stages(asked: GitRequest) -> Generator[GitCommand | WorkingFile, GitOutput, _Stages]:
    """Mode and object of each side, by path and stage: 1 is the base, 2 ours, 3 theirs."""
    listed = yield GitCommand(("ls-files", "--unmerged", "-z", "--", *asked.files))
    found: _Stages = {}
    for record in filter(None, listed.out.split("\0")):
        head, _, path = record.partition("\t")
        mode, name, stage = head.split()
        found.setdefault(path, {})[stage] = mode, name
    if not found:
        raise ToolError(ErrorCode.NOT_FOUND, "No file of these is in conflict. Action status lists those that are.")
    return found


def _store(kept: dict[str, tuple[str, str]]) -> Generator[GitCommand | WorkingFile, GitOutput, None]:
    """Put these objects into the index and the working tree."""
    rows = (f"{mode},{name},{path}" for path, (mode, name) in kept.items())
    words = (word for row in rows for word in ("--cacheinfo", row))
    yield GitCommand(("update-index", *words), changes=True)
    files = [path for path, (mode, _) in kept.items() if mode != _GITLINK]
    if files:
        yield GitCommand(("checkout-index", "--quiet", "--force", "--", *files), changes=True)


def _resolved(asked: GitRequest, stages: Iterable[str]) -> Plan:
    looked = yield look_at_status()
    now = read_status(asked, looked)
    names = ", ".join(show_path(f"{asked.inside}{path}") for path in stages)
    return GitChange(f"Resolved {names}.", now, how_to_go_on(looked.ongoing, len(now.conflicts)))


PLANS: dict[tuple[Action, Sub], Callable[[GitRequest], Plan]] = {
    ("conflicts", "list"): _conflicts,
    ("resolve", "list"): _take_content,
    ("resolve", "ours"): _take_side,
    ("resolve", "theirs"): _take_side,
}


def _unmerged(printed: str) -> list[tuple[str, str]]:
    """The letters and paths of files in conflict, from `git status --porcelain=v2 -z`."""
    rows = (record.split(" ", 10) for record in printed.split("\0") if record.startswith("u "))
    return [(row[1], row[10]) for row in rows]


def _clip(lines: Sequence[str]) -> str:
    text = "\n".join(lines[:_MAX_LINES])[:_MAX_CHARS]
    shown = text.count("\n") + 1 if text else 0
    return f"{text}\n... ({len(lines) - shown} more lines)" if len(lines) > shown and lines else text


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in escape_text(text, keep="\t\n").split("\n")) if text else "    (nothing)"
