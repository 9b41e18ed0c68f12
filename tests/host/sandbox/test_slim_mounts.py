"""Commands of forks start without the mounts of other forks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolroll.host.forks import overlay
from toolroll.host.sandbox.slim_mounts import SlimMounts
from toolroll.host.sandbox.syscalls import Kernel, machine, run_apart

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts without a namespace of users")


@pytest.fixture
def forks(tmp_path: Path) -> Iterator[list[str]]:
    made = []
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a.txt").write_text("base\n")
    for name in ("one", "two"):
        folders = [tmp_path / name / part for part in ("upper", "work", "files")]
        for one in folders:
            one.mkdir(parents=True)
        try:
            overlay.mount(str(tmp_path / "base"), *map(str, folders))
        except OSError as error:
            pytest.skip(f"no overlays here: {error}")
        made.append(str(folders[-1]))
        Path(made[-1], "a.txt").write_text(f"{name}\n")
    yield made
    for path in made:
        overlay.unmount(path)


def list_mounts() -> list[str]:
    return [line.split()[4] for line in Path("/proc/thread-self/mountinfo").read_text().splitlines()]


def test_a_thread_has_the_mount_of_its_own_fork_only_and_is_back_afterwards(forks: list[str]) -> None:
    found = machine()
    assert found is not None
    slim = SlimMounts(Kernel(found.numbers), ["/usr"], forks[:1])

    def look(fork: str) -> tuple[list[str], str, list[str]]:
        with slim.enter(fork):
            inside = list_mounts(), Path(fork, "a.txt").read_text()
        return *inside, list_mounts()

    for fork, name in zip(forks, ("one", "two"), strict=True):
        inside, content, afterwards = run_apart(lambda path=fork: look(path))  # type: ignore[misc]  # a default
        assert [one for one in inside if one in forks] == [fork]
        assert "/proc" in inside
        assert content == f"{name}\n"
        assert set(forks) <= set(afterwards)
    assert set(forks) <= set(list_mounts())


def test_a_fork_that_is_gone_starts_nothing(forks: list[str], tmp_path: Path) -> None:
    found = machine()
    assert found is not None
    slim = SlimMounts(Kernel(found.numbers), ["/usr"], forks[:1])

    def enter() -> None:
        with slim.enter(str(tmp_path / "gone")):
            raise AssertionError("it was entered")

    with pytest.raises(FileNotFoundError):
        run_apart(enter)
