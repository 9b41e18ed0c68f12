"""`python -m bench.changelogs OLDER NEWER REPOSITORY`: a git repository from two releases of a project.

The archives are source releases with a ChangeLog, as they come from the project or from a distribution. The tree is
the older release throughout, so it knows nothing of what came after. The entries of its ChangeLog are the past; those
that only the newer release has are the changes to ask about, with `python -m bench.localise REPOSITORY`. The texts of
past changes are not in a ChangeLog, so a commit says which files it touched by turning the bit that makes them
executable.

An entry names files and functions (`* src/sort.c (main): Check the size.`). The message of its commit is what it says
without the files, which are the answer: "(main): Check the size." What then has too few words that tell of any one
place ("Update copyright years.") is part of the past, but is not asked about.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.localise import MOST_FILES, is_source
from toolroll.text.ranking.weights import STOP

LOG = re.compile(r"ChangeLog(?:[.-]\d+)?")
RECORD = re.compile(r"^(?=commit [0-9a-f]{7,40}$|\d{4}-\d\d-\d\d\b)", re.MULTILINE)
TOUCHED = re.compile(r"^(?:[ACDMRT]\d*\t(\S+)| (\S+) +\| +\d+ [+-]*)$", re.MULTILINE)
SUMMED = re.compile(r"^ \d+ files? changed.*$", re.MULTILINE)
BODY = re.compile(r"^(?:[ \t]+\S.*|\s*)$", re.MULTILINE)
BULLET = re.compile(r"^ ?(?=\* )", re.MULTILINE)
PLACES = re.compile(r"\* ((?:[^:(]|\([^)]*\)|:(?=\S))*):(?=\s|\Z)")
ASIDE = re.compile(r"\([^)]*\)?|\[[^]]*\]?|<[^>]*>?|\{[^}]*\}?")
FILES = re.compile(r"^Files: (.*(?:\n.*)*)", re.MULTILINE)
RECORDED = re.compile(r"^(?:\+ commit [0-9a-f]+|--)$", re.MULTILINE)
AREA = re.compile(r"[a-z][\w./+-]{1,30}(?:, [\w./+-]{2,30})*: \S")
WORD = re.compile(r"[^\W\d_]{2,}")
FORMULAS = frozenset({"ditto", "likewise"})
FEWEST_WORDS = 4  # different ones, that are not of any sentence or any change


class Change(NamedTuple):
    """What was said of a change, and the files that it touched."""

    message: str
    files: tuple[str, ...]
    day: str = ""
    titled: bool = True
    """False if all that was said is notes on the files."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.changelogs", description=__doc__.partition("\n")[0])
    parser.add_argument("older", type=Path, help="the archive of a release: the tree, and the past")
    parser.add_argument("newer", type=Path, help="the archive of a later one: the changes to ask about")
    parser.add_argument("repository", type=Path, help="where to make it: a folder that is not there yet")
    parser.add_argument("--commits", type=int, default=100, metavar="N", help="how many to ask about (default 100)")
    options = parser.parse_args(arguments)
    files, past, asked = read(options.older, options.newer, options.commits)
    if not asked:
        print("The newer ChangeLog tells of no change of these files.", file=sys.stderr)
        return 1
    make(options.repository, files, [*past, *asked])
    print(f"{len(files)} files, {len(past)} past changes; ask with --commits {len(asked)}")
    return 0


def read(older: Path, newer: Path, most: int) -> tuple[Mapping[str, bytes], list[Change], list[Change]]:
    """The files of the older release, the changes before it and the next ones after it, the oldest first."""
    files = unpacked(older)
    known = changes(files)
    said, last = {change.message for change in known}, max((change.day for change in known), default="")
    later = [one for one in changes(unpacked(newer, logs=True)) if one.message not in said and one.day >= last]
    paths = Paths(files)
    past = [change for change in map(paths.located, known) if change.files]
    return files, past, [change for change in map(paths.located, later) if askable(change)][:most]


def unpacked(archive: Path, logs: bool = False) -> dict[str, bytes]:
    """The files of a release by their paths in it, or its ChangeLogs alone."""
    found: dict[str, bytes] = {}
    with tarfile.open(archive) as packed:
        for member in packed:
            path = member.name.removeprefix("./").partition("/")[2]
            if path and member.isfile() and (LOG.fullmatch(path) or not logs):
                found[path] = packed.extractfile(member).read()  # type: ignore[union-attr]
    return found


def changes(files: Mapping[str, bytes]) -> list[Change]:
    """The changes that the ChangeLogs of a release tell of, the oldest first."""
    logs = [files[path].decode(errors="replace").replace("\r", "") for path in filter(LOG.fullmatch, files)]
    records = [record for log in logs for record in RECORD.split(log)[1:]]
    records.sort(key=lambda record: record[:10] if record[0].isdigit() else "", reverse=True)
    return [change for record in reversed(records) for change in reversed(list(told(record)))]


def told(record: str) -> Iterator[Change]:
    """The changes that a record tells of: what git printed is one, a person's entry of a day may be several."""
    head, _, rest = record.partition("\n")
    day = head[:10] if head[0].isdigit() else ""
    body = "\n".join(BODY.findall(SUMMED.sub("", TOUCHED.sub("", rest))))
    body = re.sub(r"^(?: {8}| {4}|\t)", "", body, flags=re.MULTILINE)
    touched = tuple(first or second for first, second in TOUCHED.findall(record))
    if touched:
        yield Change(body.strip().removeprefix("* "), touched, day)
        return
    for entry in entries(RECORDED.sub("", body)):
        yield parted(entry)._replace(day=day)


def entries(body: str) -> Iterator[str]:
    """The entries of a day. One begins with a line that names no file, or it is a paragraph of its own."""
    entry, titled, named = "", False, False
    for paragraph in filter(str.strip, re.split(r"\n\s*\n", body.strip("\n"))):
        bullet = bool(BULLET.match(paragraph))
        more = paragraph.startswith(("(", "Files: ")) or (titled if bullet else not (named or AREA.match(paragraph)))
        if entry and not more:
            yield entry
            entry, named = "", False
        if not entry:
            titled = not bullet
        entry += f"{paragraph}\n\n"
        named = named or bool(BULLET.search(paragraph))
    if entry:
        yield entry


def parted(entry: str) -> Change:
    """What an entry says without the files that it is said of, and the files."""
    said: list[str] = []
    files: list[str] = []
    if listed := FILES.search(entry):
        entry = entry[: listed.start()]
        files += listed[1].split()
    first, *notes = BULLET.split(entry)
    titled = bool(first.strip())
    for note in notes:
        places = PLACES.match(note)
        named, text = (places[1], note[places.end() :]) if places is not None else ("", note.removeprefix("* "))
        files += [name for name in re.split(r"[\s,]+", ASIDE.sub(" ", named)) if name]
        titled = titled or text.startswith("\n")
        functions = ", ".join(ASIDE.findall(named))
        said.append(f"{functions}: {text.strip()}" if functions else text.strip())
    message = "\n".join(filter(None, (first.strip(), *said)))
    return Change(message, tuple(dict.fromkeys(files)), titled=titled)


class Paths:
    """The files of a tree, as people name them."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = frozenset(files)
        self._ends: dict[str, set[str]] = {}
        for path in self._files:
            self._ends.setdefault(path.rpartition("/")[2], set()).add(path)

    def located(self, change: Change) -> Change:
        """The change with the paths of its files, as far as they are in the tree."""
        found = dict.fromkeys(path for name in change.files for path in self._named(name))
        return change._replace(files=tuple(found))

    def _named(self, name: str) -> Sequence[str]:
        if name in self._files:
            return (name,)
        ends = self._ends.get(name.rpartition("/")[2], ())
        fits = [path for path in ends if path.endswith(f"/{name}")]
        return fits if len(fits) == 1 else ()


def askable(change: Change) -> bool:
    """Whether a change says something, and is one of a few source files."""
    sources = sum(map(is_source, change.files))
    return change.titled and 0 < sources <= MOST_FILES and telling(change.message) >= FEWEST_WORDS


def telling(message: str) -> int:
    """How many different words a message has that may tell where the change is."""
    return len(set(map(str.lower, WORD.findall(message))) - STOP - FORMULAS)


def make(repository: Path, files: Mapping[str, bytes], changed: Sequence[Change]) -> None:
    """A repository with a commit of all files, and one for each change."""
    repository.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=repository, check=True)
    stream = b"".join(imported(files, changed))
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repository, input=stream, check=True)
    subprocess.run(["git", "reset", "--quiet", "--hard"], cwd=repository, check=True)


def imported(files: Mapping[str, bytes], changed: Sequence[Change]) -> Iterator[bytes]:
    """What `git fast-import` reads."""
    marks = {path: number for number, path in enumerate(files, 1)}
    for path, number in marks.items():
        yield b"blob\nmark :%d\ndata %d\n%b\n" % (number, len(files[path]), files[path])
    modes = dict.fromkeys(files, 0o100644)
    for time, change in enumerate([Change("All files", tuple(files)), *changed]):
        message = change.message.encode()
        yield b"commit refs/heads/main\ncommitter A <a@b.c> %d +0000\ndata %d\n%b\n" % (
            10**9 + time,
            len(message),
            message,
        )
        for path in change.files:
            yield b'M %o :%d "%b"\n' % (
                modes[path],
                marks[path],
                path.replace("\\", "\\\\").replace('"', '\\"').encode(),
            )
            modes[path] ^= 0o111


if __name__ == "__main__":
    sys.exit(main())
