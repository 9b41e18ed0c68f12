"""Sessions on disk: what one process keeps, another continues."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolroll import Kit
from toolroll.host.files.sessions import IDLE_SECONDS, DamagedSessionError, SavedSession, SavedShell, SessionStore
from toolroll.host.files.versions import FileRecord, Version
from toolroll.host.runtime.state import State
from toolroll.text.encoding import Encoding

Put = Callable[[dict[str, str | bytes]], None]
SEEN = FileRecord(Version((1, 2, 3, 4, 5), b"digest"), Encoding("latin-1", b"", True))
LATER = FileRecord(Version((1, 2, 9, 9, 9)))
SRC = {"": SavedShell("src")}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    state = State(str(tmp_path / "state"))
    yield SessionStore(state)
    state.close()


def test_a_session_comes_back_as_it_was_kept(store: SessionStore) -> None:
    store.save(SavedSession("Ada's work"), SRC, {"a": SEEN, "b": LATER})
    found = store.load("Ada's work")
    assert (found.name, found.cwd, found.files) == ("Ada's work", "src", {"a": SEEN, "b": LATER})
    assert store.load("other") == SavedSession("other")


def test_two_processes_do_not_lose_each_others_files(store: SessionStore) -> None:
    store.save(SavedSession("s"), {}, {"old": SEEN, "both": SEEN})
    one, two = store.load("s"), store.load("s")
    store.save(one, SRC, {"old": SEEN, "both": LATER, "one": SEEN})
    store.save(two, {}, {"both": SEEN, "two": SEEN})
    found = store.load("s")
    assert (found.cwd, found.files) == ("src", {"both": LATER, "one": SEEN, "two": SEEN})


def test_a_session_that_was_idle_for_a_day_is_over(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save(SavedSession("s"), SRC, {"a": SEEN})
    used = store.load("s").used
    monkeypatch.setattr(time, "time", lambda: used + IDLE_SECONDS - 1)
    assert store.load("s").cwd == "src"
    monkeypatch.setattr(time, "time", lambda: used + IDLE_SECONDS)
    assert store.load("s") == SavedSession("s")
    assert store.all() == []


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b'{"name": 3}', b"[]"])
def test_a_damaged_file_is_kept_aside_and_said(store: SessionStore, tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "state/sessions/s.json"
    store.save(SavedSession("s"), {}, {"a": SEEN})
    file.write_bytes(damage)
    with pytest.raises(DamagedSessionError, match=r"The session 's' starts empty: its file was damaged, and is kept"):
        store.load("s")
    (kept,) = file.parent.glob("*.damaged")
    assert kept.read_bytes() == damage
    assert store.load("s") == SavedSession("s")


def test_damaged_sessions_are_listed_and_cleared(store: SessionStore, tmp_path: Path) -> None:
    store.save(SavedSession("Not plain"), {}, {})
    (file,) = (tmp_path / "state/sessions").glob("*.json")
    file.write_bytes(b"{")
    (found,) = store.all()
    store.clear(found.name)
    assert store.all() == []


def test_a_kit_continues_a_session_after_a_restart(ws: Path, tmp_path: Path, put: Put) -> None:
    put({"a.txt": "caf\xe9\n".encode("latin-1"), "src/b": ""})

    def kit(session: str = "s", dialect: str = "native") -> Kit:
        made = Kit(ws, dialect, state_dir=tmp_path / "state", session=session)
        assert made.resume() == ""
        return made

    with kit() as one:
        assert one.call("read", {"path": "a.txt", "encoding": "latin-1"}).ok
        assert one.call("terminal", {"command": "cd src"}).ok
        assert one.call("todo_write", {"todos": [{"content": "ship it"}]}).ok
    with kit(dialect="cdd") as other:
        assert other.call("edit", {"file_path": "a.txt", "old_string": "caf", "new_string": "CAF"}).ok
    with kit() as two:
        assert two.call("terminal", {"command": "pwd"}).text.endswith("/src")
        assert "ship it" in two.call("todo_read").text
    assert (ws / "a.txt").read_bytes() == "CAF\xe9\n".encode("latin-1")
    with kit("another", "cdd") as stranger:
        refused = stranger.call("edit", {"file_path": "src/b", "old_string": "a", "new_string": "b"})
        assert refused.error is not None
        assert "must be read first" in refused.error.message


def test_the_shells_of_a_session_are_kept_without_secrets(ws: Path, tmp_path: Path, put: Put) -> None:
    put({"src/b": ""})
    token = "hunter2hunter2"
    for command, text in (
        (f"cd src; export MODE=fast API_TOKEN={token}", "(no output)\nThe next command begins in 'src'."),
        ('pwd; echo "$MODE[$API_TOKEN]"; true', f"{ws}/src\nfast[]"),
    ):
        with Kit(ws, state_dir=tmp_path / "state", session="s") as kit:
            assert kit.resume() == ""
            assert kit.call("bash", {"command": command}).text == text
    assert not [one for one in (tmp_path / "state").rglob("*") if one.is_file() and token.encode() in one.read_bytes()]


def test_a_change_by_others_between_two_calls_is_a_conflict(ws: Path, tmp_path: Path, put: Put) -> None:
    put({"a.txt": "one\n"})
    for step in ("read", "edit"):
        with Kit(ws, state_dir=tmp_path / "state", session="s") as kit:
            kit.resume()
            done = kit.call(step, {"path": "a.txt"} | ({"old": "o", "new": "0"} if step == "edit" else {}))
        put({"a.txt": "one more\n"})
    assert done.error is not None
    assert str(done.error.code) == "Conflict"


def test_a_state_folder_that_cannot_be_written_loses_the_session_alone(
    ws: Path, tmp_path: Path, put: Put, file_modes: None
) -> None:
    put({"a.txt": "one\n"})
    os.makedirs(tmp_path / "state/sessions")
    os.chmod(tmp_path / "state/sessions", 0o500)
    with Kit(ws, state_dir=tmp_path / "state", session="s") as kit:
        assert kit.resume() == ""
        assert kit.call("read", {"path": "a.txt"}).ok


def test_there_are_no_sessions_before_the_first_is_kept(store: SessionStore) -> None:
    assert store.all() == []


def test_over_a_damaged_file_what_is_seen_now_is_kept(store: SessionStore, tmp_path: Path) -> None:
    store.save(SavedSession("s"), SRC, {"a": SEEN})
    before = store.load("s")
    (tmp_path / "state/sessions/s.json").write_bytes(b"{")
    store.save(before, SRC, {"a": SEEN, "b": LATER})
    assert (store.load("s").shells, store.load("s").files) == ({}, {"b": LATER})


def test_the_last_used_is_listed_first(store: SessionStore, tmp_path: Path) -> None:
    for name in ("one", "two"):
        store.save(SavedSession(name), {}, {})
    (tmp_path / "state/sessions/gone.json").symlink_to("nowhere")
    (tmp_path / "state/sessions/other.txt").touch()
    (tmp_path / "state/sessions/bad.json").write_bytes(b"{")
    assert [one.name for one in store.all()] == ["two", "one", "bad"]
