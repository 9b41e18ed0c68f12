"""Reads through ssh: a lease on the node, one `sftp` session, and a new `ssh cat` for each.

Run it: `python -m bench.remote HOST [READS]`, with a host that ssh reaches without a question.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from toolroll import Fleet

_CAT_READS = 20


def measure(read: Callable[[], bytes], count: int) -> list[float]:
    """The milliseconds of each read."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        assert b"100" in read()
        times.append((time.perf_counter() - began) * 1000)
    return times


def show(name: str, times: list[float]) -> None:
    high = sorted(times)[len(times) * 95 // 100]
    print(f"{name:<24} {len(times):>6} reads   median {statistics.median(times):8.2f} ms   95 % {high:8.2f} ms")


def read_by_sftp(host: str, path: Path, count: int) -> list[float]:
    """Reads in one session of the client: the answer to `lpwd` says that the file has come."""
    with subprocess.Popen(["sftp", "-q", host], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None

        def read() -> bytes:
            os.write(child.stdin.fileno(), f"get {path} {path}.copy\nlpwd\n".encode())  # type: ignore[union-attr]
            while not child.stdout.readline().startswith(b"Local working"):  # type: ignore[union-attr]
                pass
            return path.with_name(f"{path.name}.copy").read_bytes()

        times = measure(read, count)
        child.stdin.close()
        return times


def main(host: str, count: int = 1000) -> None:
    """Print one row for each way."""
    with tempfile.TemporaryDirectory(prefix="bench-remote-") as folder:
        path = Path(folder, "a.txt")
        path.write_text("".join(f"{number}\n" for number in range(1, 101)))
        began = time.perf_counter()
        with Fleet(folder, engine=f"ssh:{host}") as fleet:
            print(f"start {time.perf_counter() - began:.1f} s {fleet.problems or ''}")
            lease = fleet.lease()
            show("lease", measure(lambda: bytes(lease.call("read", {"path": "a.txt"}).text, "utf-8"), count))
            lease.close()
        show("sftp, one session", read_by_sftp(host, path, count))
        words = ["ssh", host, "cat", str(path)]
        cat = measure(lambda: subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout, min(count, _CAT_READS))
        show("ssh cat", cat)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
