"""Copies of a tree, for forks where there are no overlays."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from toolroll.host.forks.tree_copy import FOLDER, TreeCopy
from toolroll.host.forks.views import walk
from toolroll.host.runtime.dir_entries import closing_fd


def test_copies_that_are_made_at_once_from_one_descriptor_are_whole(tmp_path: Path) -> None:
    names = [f"{number}.txt" for number in range(3)]
    (tmp_path / "base").mkdir()
    for name in names:
        (tmp_path / "base" / name).write_text(name)

    def make(number: int) -> tuple[list[str], list[str]]:
        (tmp_path / str(number)).mkdir()
        with closing_fd(os.open(tmp_path / str(number), FOLDER)) as target:
            TreeCopy(1 << 20, False).copy(base, target)
        return sorted(os.listdir(tmp_path / str(number))), sorted(path for path, _ in walk(base))

    with closing_fd(os.open(tmp_path / "base", FOLDER)) as base, ThreadPoolExecutor(8) as threads:
        assert list(threads.map(make, range(600))) == [(names, names)] * 600
