"""The thread that watches a repository. What it puts back is tested through the guard, in test_guard.py."""

import os
from pathlib import Path

from toolroll.host.sandbox.git.watch import GitWatch


def test_the_end_of_its_thread_and_its_close_may_come_in_any_order(tmp_path: Path) -> None:
    root = os.open(tmp_path, os.O_RDONLY)
    before = len(os.listdir("/proc/self/fd"))

    def close_it() -> None:
        watch.close()

    watch = GitWatch(root, close_it)
    watch.follow({(): None})
    (tmp_path / "new").touch()
    watch._thread.join(10)  # it closes itself at the first change
    watch.close()
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(root)
