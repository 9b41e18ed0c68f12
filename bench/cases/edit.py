"""A unique text replaced in a 5 MB file, each time by another.

toolroll's edit is atomic and durable: a new file, synced, put in the place of the old one. Like the peers it
checks that the text is unique; it also shows what changed and keeps what undoing it needs. Of the peers only the
last one syncs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from bench.cases import Settings
from bench.measure import Contestant, Race, Sample, timed
from toolroll import Kit

SIZE = 5_000_000
TEXT = "the only place, number {:06}"


def races(settings: Settings) -> Iterator[Race]:
    folder = settings.scratch
    with Kit(folder, state_dir=settings.state) as kit:
        path = made(folder / "ours.txt")

        def edit(old: str, new: str) -> None:
            result = kit.call("edit", {"path": path.name, "old": old, "new": new})
            if not result.ok:
                raise RuntimeError(result.text)

        def peer(name: str, write: Callable[[Path, str], None]) -> Contestant:
            return Contestant(name, "peer", replacing(made(folder / f"{write.__name__}.txt"), write))

        data = path.read_bytes()
        yield Race(
            "unique text in 5 MB",
            [
                Contestant("toolroll edit", "ours", onwards(edit)),
                peer("read, replace, write", write_plain),
                peer("read, replace, new file, rename", write_new),
                peer("read, replace, new file, fsync, rename", write_synced),
                Contestant("write the bytes", "floor", timed(lambda: (folder / "floor").write_bytes(data))),
            ],
        )


def made(path: Path) -> Path:
    """A file with the first text in its middle."""
    line = "some words of an ordinary line, about as long as most\n"
    half = line * (SIZE // len(line) // 2)
    path.write_text(f"{half}{TEXT.format(0)}\n{half}")
    return path


def replacing(path: Path, write: Callable[[Path, str], None]) -> Callable[[], Sample]:
    def replace(old: str, new: str) -> None:
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise RuntimeError(f"{old!r} is not unique")
        write(path, text.replace(old, new))

    return onwards(replace)


def onwards(replace: Callable[[str, str], None]) -> Callable[[], Sample]:
    numbers = count()

    def run() -> None:
        number = next(numbers)
        replace(TEXT.format(number), TEXT.format(number + 1))

    return timed(run)


def write_plain(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def write_new(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def write_synced(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    with new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
