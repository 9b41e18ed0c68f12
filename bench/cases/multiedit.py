"""A word replaced in 200 files of 20 KB, there and back.

toolroll changes all files or none, each atomically and durably, and keeps what undoing it needs. The peers change
one file after the other, in place, and keep nothing. git apply gets the finished diff.
"""

from __future__ import annotations

import difflib
import subprocess
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

from bench.cases import Settings
from bench.measure import Contestant, Race, Sample, timed
from toolroll import Kit

FILES = 200
WORDS = ("oldword", "newword")


def races(settings: Settings) -> Iterator[Race]:
    ours, python, sed, applied = (made(settings.scratch / name) for name in ("ours", "python", "sed", "applied"))
    diff = difference(applied)
    with Kit(ours, state_dir=settings.state) as kit:

        def multiedit(old: str, new: str) -> None:
            result = kit.call("multiedit", {"pattern": "*.txt", "find": old, "replace": new, "max_files": FILES})
            if not result.ok:
                raise RuntimeError(result.text)

        yield Race(
            "a word in 200 files",
            [
                Contestant("toolroll multiedit", "ours", there_and_back(multiedit)),
                Contestant("read, replace, write", "peer", there_and_back(lambda a, b: rewrite(python, a, b))),
                Contestant("sed -i", "peer", there_and_back(lambda a, b: run_sed(sed, a, b))),
                Contestant("git apply", "peer", there_and_back(lambda a, _: apply(applied, diff, back=a != WORDS[0]))),
                Contestant("read all files", "floor", timed(lambda: [p.read_bytes() for p in python.iterdir()])),
            ],
        )


def made(folder: Path) -> Path:
    """A folder of files that hold the first word once each."""
    folder.mkdir()
    half = "some words of an ordinary line, about as long as most\n" * 185
    for number in range(FILES):
        (folder / f"f{number}.txt").write_text(f"{half}here is the {WORDS[0]} of file {number}\n{half}")
    return folder


def difference(folder: Path) -> bytes:
    """The change as a diff."""
    parts = []
    for path in sorted(folder.iterdir()):
        before = path.read_text().splitlines(keepends=True)
        after = [line.replace(*WORDS) for line in before]
        parts += difflib.unified_diff(before, after, f"a/{path.name}", f"b/{path.name}")
    return "".join(parts).encode()


def there_and_back(replace: Callable[[str, str], None]) -> Callable[[], Sample]:
    pairs = cycle((WORDS, WORDS[::-1]))
    return timed(lambda: replace(*next(pairs)))


def rewrite(folder: Path, old: str, new: str) -> None:
    for path in folder.iterdir():
        text = path.read_text(encoding="utf-8")
        if old in text:
            path.write_text(text.replace(old, new), encoding="utf-8")


def run_sed(folder: Path, old: str, new: str) -> None:
    subprocess.run(["sed", "-i", f"s/{old}/{new}/g", *folder.iterdir()], check=True)


def apply(folder: Path, diff: bytes, *, back: bool) -> None:
    subprocess.run(["git", "apply", *(["-R"] if back else []), "-"], cwd=folder, input=diff, check=True)
