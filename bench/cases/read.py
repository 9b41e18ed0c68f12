"""200 lines of a 100 MB file, at its head, in its middle and at its tail: for the first time, and again.

Before each first read the file is touched, so that nothing that was learned of it counts. A read that comes again
uses where lines were found, as long as the file is the same; the peers keep nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from bench.cases import Settings
from bench.measure import Contestant, Race, timed
from toolroll import Kit

LINE = 64  # bytes, with the line end
WINDOW = 200
CHUNK = 1 << 18
SETTLED = 0.2  # seconds after which the times of a file tell of the next change


def races(settings: Settings) -> Iterator[Race]:
    count = (10_000_000 if settings.quick else 100_000_000) // LINE
    path = settings.scratch / "long.txt"
    path.write_text("".join(f"line {number:>9} ".ljust(LINE - 1, ".") + "\n" for number in range(1, count + 1)))
    places = {"head": 1, "middle": count // 2, "tail": count - WINDOW + 1}
    with Kit(settings.scratch, state_dir=settings.state) as kit:
        for place, first in places.items():
            name = f"{place} of {count * LINE // 1_000_000} MB"
            peers = [Contestant("islice over a text file", "peer", timed(sliced(path, first))), *_sed(path, first)]
            for again in (False, True):
                ours = Contestant("toolroll read", "ours", timed(reading(kit, path, first, again)))
                floor = Contestant("read the bytes up to there", "floor", timed(passed(path, first)))
                if again:
                    time.sleep(SETTLED)
                    floor = Contestant("read the bytes of the lines", "floor", timed(passed(path, first, skip=True)))
                yield Race(f"{name}, again" if again else name, [ours, *peers, floor])


def reading(kit: Kit, path: Path, first: int, again: bool) -> Callable[[], None]:
    arguments = {"path": path.name, "offset": first, "limit": WINDOW}
    if kit.call("read", arguments).data["content"] != sliced(path, first)().rstrip("\n"):
        raise RuntimeError(f"read shows other lines from {first} on")

    def run() -> None:
        if not again:
            os.utime(path)
        kit.call("read", arguments)

    return run


def sliced(path: Path, first: int) -> Callable[[], str]:
    def run() -> str:
        with path.open(encoding="utf-8") as file:
            return "".join(islice(file, first - 1, first - 1 + WINDOW))

    return run


def passed(path: Path, first: int, *, skip: bool = False) -> Callable[[], None]:
    end = (first - 1 + WINDOW) * LINE

    def run() -> None:
        buffer = bytearray(WINDOW * LINE if skip else CHUNK)
        with path.open("rb", buffering=0) as file:
            file.seek((first - 1) * LINE if skip else 0)
            while file.tell() < end and file.readinto(buffer):
                pass

    return run


def _sed(path: Path, first: int) -> list[Contestant]:
    program = shutil.which("sed")
    if program is None:
        return []
    last = first - 1 + WINDOW
    command = [program, "-n", f"{first},{last}p;{last}q", str(path)]
    return [Contestant("sed -n", "peer", timed(lambda: subprocess.check_output(command)))]
