"""Patches of single files between two releases of django, as they are and in three ways misquoted.

The numbers of hunks are off by up to 40 lines, or the counts in their headers are wrong, or lines of context have
blanks at their ends that the file has not. Each name says how many of the patches came out right, and how many were
taken but came out wrong; the others were refused. Then some of them are applied and taken back, and a refusal takes
less than a change. toolroll's way is atomic, durable and journalled; the peers write in place and keep nothing.
"""

from __future__ import annotations

import io
import os
import random
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench import corpora
from bench.cases import Settings
from bench.measure import Contestant, Race, Role, timed
from toolroll import Kit

RELEASES = (
    ("5.1", "848a5980e8efb76eea70872fb0e4bc5e371619c70fffbe48e3e1b50b2c09455d"),
    ("5.2", "1a47f7a7a3d43ce64570d350e008d2949abe8c7e21737b351b6a1611277c6d89"),
)
PATCHES = 500
MEASURED = 20  # of them, the same for everybody
FARTHEST = 40  # lines by which the numbers of hunks are off
_HEADER = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

Apply = Callable[["Patch", bool], bool]
"""Apply a patch (or take it back) in the folder of a contestant, and say whether that was claimed to work."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A diff of one file, and the file before and after it."""

    path: str
    diff: str
    before: bytes
    after: bytes


def races(settings: Settings) -> Iterator[Race]:
    patches = real(*(unpacked(*release) for release in RELEASES))
    chosen = random.Random(1).sample(patches, 40 if settings.quick else PATCHES)
    for name, disturb in DISTURBANCES.items():
        chance = random.Random(name)
        disturbed = [replace(one, diff=disturb(one.diff, chance)) for one in chosen]
        folder = settings.scratch / re.sub(r"\W+", "-", name)
        with Kit(laid_out(folder / "ours", disturbed), state_dir=settings.state / folder.name) as kit:
            yield Race(
                f"{len(disturbed)} patches, {name}",
                [
                    contestant("toolroll patch", folder / "ours", disturbed, partial(ours, kit)),
                    *peers(folder, disturbed),
                    Contestant("read and write the files", "floor", timed(rewriting(folder / "floor", disturbed))),
                ],
            )


def exact(diff: str, _: random.Random) -> str:
    return diff


def shifted(diff: str, chance: random.Random) -> str:
    """All numbers of the patch off by as much, as in a file that has gained or lost lines above."""
    first = min(int(number) for found in _HEADER.finditer(diff) for number in found.group(1, 3))
    by = chance.choice([shift for shift in range(max(1 - first, -FARTHEST), FARTHEST + 1) if shift])
    return _HEADER.sub(lambda found: _header(int(found[1]) + by, found[2], int(found[3]) + by, found[4]), diff)


def miscounted(diff: str, chance: random.Random) -> str:
    def wrong(found: re.Match[str]) -> str:
        old, new = (str(max(1, int(count or 1) + chance.choice((-2, -1, 1, 2)))) for count in (found[2], found[4]))
        return _header(int(found[1]), old, int(found[3]), new)

    return _HEADER.sub(wrong, diff)


def blanks(diff: str, chance: random.Random) -> str:
    """Each line of context with a blank or more at its end."""
    lines = diff.split("\n")
    return "\n".join(line + " " * chance.randint(1, 3) if line.startswith(" ") else line for line in lines)


DISTURBANCES = {
    "exact": exact,
    "shifted": shifted,
    "wrong counts": miscounted,
    "blanks in context": blanks,
}


def _header(old: int, olds: str | None, new: int, news: str | None) -> str:
    first, second = (f",{count}" if count is not None else "" for count in (olds, news))
    return f"@@ -{old}{first} +{new}{second} @@"


def unpacked(version: str, digest: str) -> Path:
    """A release of django, downloaded once."""
    folder = corpora.FOLDER / f"django-release-{version}"
    if not folder.exists():
        data = corpora.download("django", version, digest)
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(data)) as packed:
            packed.extractall(part, filter="data")
        next(part.iterdir()).rename(folder)
        part.rmdir()
    return folder


def real(old: Path, new: Path) -> list[Patch]:
    """The difference of each text file that both have."""
    command = ["git", "diff", "--no-index", "--no-renames", "--diff-filter=M", old.name, new.name]
    found = subprocess.run(command, cwd=old.parent, capture_output=True, check=False).stdout
    patches = []
    for part in re.split(rb"^(?=diff --git )", found, flags=re.MULTILINE):
        named = re.search(rb"^\+\+\+ b/[^/\n]+/(.+)$", part, re.MULTILINE)
        if named is None:
            continue
        path = named[1].decode()
        hunks = part[part.index(b"\n@@") + 1 :]
        before, after = (old / path).read_bytes(), (new / path).read_bytes()
        try:
            diff = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunks.decode()}"
        except UnicodeDecodeError:
            continue
        patches.append(Patch(path, diff, before, after))
    return patches


def laid_out(folder: Path, patches: Sequence[Patch]) -> Path:
    for one in patches:
        path = folder / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.before)
    return folder


def contestant(name: str, folder: Path, patches: Sequence[Patch], apply: Apply) -> Contestant:
    """One way to apply patches, after a look at how many it gets right."""
    right = wrong = 0
    for one in patches:
        taken = apply(one, False)
        found = (folder / one.path).read_bytes()
        if found == one.after and apply(one, True) and (folder / one.path).read_bytes() == one.before:
            right += 1
        elif found != one.before or taken:
            wrong += 1
        (folder / one.path).write_bytes(one.before)

    def there_and_back() -> None:
        for back in (False, True):
            for one in patches[:MEASURED]:
                apply(one, back)

    role: Role = "ours" if "toolroll" in name else "peer"
    share = right / len(patches)
    return Contestant(f"{name}: {right} right, {wrong} wrong", role, timed(there_and_back), share if not wrong else 0.0)


def ours(kit: Kit, patch: Patch, back: bool) -> bool:
    return kit.call("patch", {"patch": patch.diff, "reverse": back}).ok


def peers(folder: Path, patches: Sequence[Patch]) -> Iterator[Contestant]:
    commands = {
        "git apply": ["git", "apply", "-"],
        "git apply, lenient": ["git", "apply", "--recount", "-C1", "--ignore-whitespace", "-"],
        "GNU patch": ["patch", "-p1", "-s", "-f", "-r", "-", "--no-backup-if-mismatch"],
    }
    for name, command in commands.items():
        if shutil.which(command[0]) is None:
            continue
        where = laid_out(folder / re.sub(r"\W+", "-", name), patches)
        yield contestant(name, where, patches, partial(spawned, where, command))


def spawned(folder: Path, command: Sequence[str], patch: Patch, back: bool) -> bool:
    words = [*command[:2], "-R", *command[2:]] if back else list(command)
    # The folder is no part of a repository that is above it: git would pass over files that are not that one's.
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(words, cwd=folder, input=patch.diff.encode(), capture_output=True, check=False, env=env)
    return done.returncode == 0


def rewriting(folder: Path, patches: Sequence[Patch]) -> Callable[[], None]:
    laid_out(folder, patches)

    def run() -> None:
        for one in [*patches[:MEASURED], *patches[:MEASURED]]:
            path = folder / one.path
            path.write_bytes(path.read_bytes())

    return run
