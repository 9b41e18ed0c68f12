"""The first code of a worker on another machine, beside other workers of the same user."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from toolroll.host.fleet.node_start import _remove_unused


def test_folders_that_other_workers_rename_meanwhile_are_passed_over(tmp_path: Path) -> None:
    is_over = threading.Event()

    def rename() -> None:
        while not is_over.is_set():
            for number in range(50):
                (tmp_path / f"new-{number}").mkdir()
            for number in range(50):
                (tmp_path / f"new-{number}").rename(tmp_path / f"app-{number}")
            for number in range(50):
                (tmp_path / f"app-{number}").rmdir()

    other = threading.Thread(target=rename)
    other.start()
    try:
        for _ in range(300):
            _remove_unused(str(tmp_path))
    finally:
        is_over.set()
        other.join()


def test_an_app_that_was_not_used_for_two_weeks_is_removed(tmp_path: Path) -> None:
    for name, age in (("old", 15), ("new", 1)):
        (tmp_path / name).mkdir()
        then = (tmp_path / name).stat().st_mtime - age * 86400
        os.utime(tmp_path / name, (then, then))
    _remove_unused(str(tmp_path))
    assert [one.name for one in tmp_path.iterdir()] == ["new"]
