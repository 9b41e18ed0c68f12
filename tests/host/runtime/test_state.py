"""State folders do not pile up: those of workspaces that are gone are removed, and none that is in use."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.waiting import until
from toolroll import Kit
from toolroll.host.runtime import state as states
from toolroll.host.runtime.state import State, sweep

DAY = 86_400


@pytest.fixture
def above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "toolroll"


def keep(tmp_path: Path, name: str, *, gone: bool = False, days: float = 2, size: int = 10) -> State:
    """A state that was last used so many days ago."""
    workspace = tmp_path / "work" / name
    workspace.mkdir(parents=True)
    state = State.of(str(workspace))
    state.put("some", "file", b"x" * size)
    state.close()
    if gone:
        workspace.rmdir()
    age(state, days)
    return state


def age(state: State, days: float) -> None:
    then = time.time() - days * DAY
    for folder, folders, files in os.walk(state.path, topdown=False):
        for one in (*folders, *files):
            os.utime(os.path.join(folder, one), (then, then))
    os.utime(state.path, (then, then))


@pytest.mark.parametrize(
    ("gone", "days", "removed"), [(True, 2, True), (True, 0.1, False), (False, 2, False), (False, 400, False)]
)
def test_what_is_removed(above: Path, tmp_path: Path, gone: bool, days: float, removed: bool) -> None:
    state = keep(tmp_path, "one", gone=gone, days=days)
    assert (sweep(str(above)) == [os.path.basename(state.path)]) is removed
    assert os.path.exists(state.path) is not removed
    assert [name for name in os.listdir(above) if name.startswith(".gone")] == []


@pytest.mark.parametrize(("days", "removed"), [(2, False), (29, False), (31, True)])
def test_a_disk_that_is_not_there_may_come_back(above: Path, tmp_path: Path, days: float, removed: bool) -> None:
    state = keep(tmp_path, "one", gone=True)
    path = Path(state.path, ".workspace")
    path.write_text(path.read_text().rpartition("\n")[0] + "\n12345")  # it was on another device
    age(state, days)
    assert bool(sweep(str(above))) is removed


@pytest.mark.parametrize(("days", "removed"), [(2, False), (31, True)])
def test_one_that_does_not_say_whose_it_is(above: Path, tmp_path: Path, days: float, removed: bool) -> None:
    state = keep(tmp_path, "one")
    os.unlink(os.path.join(state.path, ".workspace"))
    age(state, days)
    assert bool(sweep(str(above))) is removed


def test_a_live_kit_keeps_its_state(above: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    with Kit(workspace) as kit:
        assert kit.call("write", {"path": "a", "content": "x"}).ok
        state = State.of(kit.workspace)
        (workspace / "a").unlink()
        workspace.rmdir()
        age(state, 60)
        assert sweep(str(above)) == []
    age(state, 60)
    assert sweep(str(above)) == [os.path.basename(state.path)]


def test_a_budget(above: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "MAX_FOLDERS", 3)
    monkeypatch.setattr(states, "MAX_BYTES", 3_000)
    names = [os.path.basename(keep(tmp_path, f"w{at}", days=10 - at).path) for at in range(5)]
    assert sweep(str(above)) == names[:2]
    large = keep(tmp_path, "large", days=20, size=4_000)
    assert sweep(str(above)) == [os.path.basename(large.path)]
    recent = keep(tmp_path, "recent", days=0.5, size=4_000)
    assert os.path.basename(recent.path) not in sweep(str(above))


def test_what_is_not_ours_stays(above: Path, tmp_path: Path) -> None:
    keep(tmp_path, "one", gone=True)
    (above / "other").mkdir()
    (above / f"link-{'0' * 16}").symlink_to(tmp_path)
    sweep(str(above))
    assert sorted(os.listdir(above)) == [f"link-{'0' * 16}", "other"]


def test_a_kit_sweeps_once_a_day(above: Path, tmp_path: Path) -> None:
    def opened() -> None:
        with Kit(tmp_path):
            pass

    def settled(path: str) -> bool:
        return until(lambda: not os.path.exists(path))

    first = keep(tmp_path, "one", gone=True)
    opened()
    assert settled(first.path)
    second = keep(tmp_path, "two", gone=True)
    opened()
    time.sleep(0.2)
    assert os.path.exists(second.path)
    os.utime(above / ".swept", (0, 0))
    opened()
    assert settled(second.path)


def test_a_file_is_put_whole_or_not_at_all(state):
    folder = Path(state.path, "some")
    for data in (b"one", b"two"):
        state.put("some", "a", data)
    (folder / "b").mkdir()
    with pytest.raises(IsADirectoryError):
        state.put("some", "b", b"three")
    assert (sorted(os.listdir(folder)), (folder / "a").read_bytes()) == (["a", "b"], b"two")
