"""Leases of several programs of root, in one table of mounts or each in its own: what opening and a command take.

Run it: `python -m bench.mounts [PROGRAMS] [LEASES]`. docs/fleet.md has figures of it.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from bench.corpora import real
from bench.fleet import make_repository
from toolroll import Fleet
from toolroll.host.forks.overlay import separate_mounts

_COMMANDS = 20


def hold(workspace: Path, count: int, other: Connection, *, own_table: bool) -> None:
    """Open leases, run a command in some of them, send the seconds of one each, and hold them until an answer."""
    if own_table:
        separate_mounts()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with Fleet(workspace, commit="HEAD") as fleet:
        began = time.monotonic()
        leases = [fleet.lease() for _ in range(count)]
        opened = time.monotonic()
        for lease in leases[:_COMMANDS]:
            assert lease.call("bash", {"command": "echo hi > a; cat a"}).ok
        other.send(((opened - began) / count, (time.monotonic() - opened) / _COMMANDS))
        other.recv()


def measure(programs: int, count: int, workspace: Path, *, own_table: bool) -> None:
    """Start the programs one after another, and print a row for each."""
    print("each in its own table:" if own_table else "one table for all:")
    fresh, running = multiprocessing.get_context("spawn"), []
    for number in range(programs):
        here, there = fresh.Pipe()
        child = fresh.Process(target=hold, args=(workspace, count, there), kwargs={"own_table": own_table})
        child.start()
        running.append((child, here))
        opening, command = here.recv()
        leases = (number + 1) * count
        print(f"{leases:>7} leases: opening one {1000 * opening:.2f} ms, its first command {1000 * command:.0f} ms")
    for child, here in running:
        here.send("end")
        child.join()


def main(programs: int = 6, count: int = 1000) -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory(prefix="bench-mounts-") as folder:
        workspace = make_repository(real("django"), Path(folder, "django"))
        for own_table in (False, True):
            measure(programs, count, workspace, own_table=own_table)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
