"""Whatever tools do, undoing all of it restores the tree to the byte; a kill leaves all of a call or nothing."""

import itertools
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from toolroll import Kit, ToolError
from toolroll.host.files.journal import recorder as recorder_module
from toolroll.host.files.journal.entry import NOT_KEPT, PathChange, PathState
from toolroll.host.files.journal.journal import Journal
from toolroll.host.files.journal.log import JournalLog
from toolroll.host.files.journal.restore import is_same_state, take_back
from toolroll.host.files.root import Root
from toolroll.host.runtime.state import State
from toolroll.text.files.blame import BEFORE, OTHERS

NAMES = st.sampled_from(["a", "b", "d/x", "d/y", "d/e/z", "n/new", "d", "link"])
TEXTS = st.sampled_from(["", "one\n", "one\r\ntwo\r\n", "one\ntwo\none\n", "\ufeffmark\n", "no end"])


def tree(top):
    """Every name, with kind, permissions and content."""
    found = {}
    for folder, folders, names in os.walk(top):
        for name in [*folders, *names]:
            path = Path(folder, name)
            status = path.lstat()
            content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            mode = 0 if path.is_symlink() else stat.S_IMODE(status.st_mode)
            found[str(path.relative_to(top))] = (stat.S_IFMT(status.st_mode), mode, content)
    return found


class Session(RuleBasedStateMachine):
    """Random calls and changes by others; in the end, undo as far as it goes."""

    @initialize(texts=st.lists(TEXTS, min_size=4, max_size=4))
    def start(self, texts):
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.top = Path(self.folder.name, "ws")
        for name, text in zip(("a", "b", "d/x", "d/y"), texts, strict=True):
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            (self.top / name).write_bytes(text.encode())
        (self.top / "b").chmod(0o640)
        (self.top / "link").symlink_to("a")
        self.kit = Kit(self.top, state_dir=Path(self.folder.name, "state"))
        self.states = [tree(self.top)]

    def call(self, name, **arguments):
        before = tree(self.top)
        result = self.kit.call(name, arguments)
        after = tree(self.top)
        if not result.ok:
            assert after == before, "a failed call changes nothing"
        elif after != before:
            self.states.append(after)

    @rule(path=NAMES, text=TEXTS)
    def write(self, path, text):
        self.call("write", path=path, content=text)

    @rule(path=NAMES, old=st.sampled_from(["one", "two", "o", "\n"]), every=st.booleans())
    def edit(self, path, old, every):
        self.call("edit", path=path, old=old, new="1\n2", replace_all=every)

    @rule(path=NAMES, recursive=st.booleans())
    def delete(self, path, recursive):
        self.call("delete", path=path, recursive=recursive)

    @rule(source=NAMES, to=NAMES, overwrite=st.booleans())
    def move(self, source, to, overwrite):
        self.call("move", source=source, target=to, overwrite=overwrite)

    @rule(source=NAMES, to=NAMES, overwrite=st.booleans())
    def copy(self, source, to, overwrite):
        self.call("copy", source=source, target=to, overwrite=overwrite)

    @rule()
    def undo(self):
        result = self.kit.call("undo")
        if result.ok:
            self.states.pop()
        else:
            assert result.error.code == "NotFound"

    @rule(name=st.sampled_from(["a", "d/x"]))
    def others(self, name):
        """Somebody else changes a file: no undo may lose that. Then they put it back."""
        path = self.top / name
        if path.is_symlink() or not path.is_file():
            return
        held, mode = path.read_bytes(), path.stat().st_mode
        path.write_bytes(held + b"theirs")
        self.kit.call("undo", {"path": name})
        assert path.read_bytes() == held + b"theirs"
        path.write_bytes(held)
        path.chmod(stat.S_IMODE(mode))

    @invariant()
    def is_as_known(self):
        if hasattr(self, "states"):
            assert tree(self.top) == self.states[-1]

    def teardown(self):
        if not hasattr(self, "states"):
            return
        try:
            if len(self.states) > 1:
                result = self.kit.call("undo", {"steps": len(self.states) - 1})
                assert result.ok, result.text
            assert tree(self.top) == self.states[0]
        finally:
            self.kit.close()
            self.folder.cleanup()


TestSession = Session.TestCase
TestSession.settings = settings(
    max_examples=6, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)

CHILD = """
import sys
from toolroll import Kit
from toolroll.host.files.journal.entry import PathChange, PathState
from toolroll.host.files.journal.restore import is_same_state, take_back
from toolroll.host.files.journal.log import JournalLog
from toolroll.host.files.root import Root
from toolroll.host.runtime.state import State
kit = Kit(sys.argv[1], state_dir=sys.argv[2])
kit.call("copy", {"source": "many", "target": "copy"})  # what is imported late is there when a kill comes
kit.call("delete", {"path": "copy", "recursive": True})
print("ready", flush=True)
while True:
    kit.call("copy", {"source": "many", "target": "copy"})
    kit.call("move", {"source": "copy", "target": "moved/here"})
    kit.call("delete", {"path": "moved", "recursive": True})
"""


def _until_busy(pending):
    """Wait for the next step of a call: on a busy machine the child may not have run for long."""
    deadline = time.monotonic() + 30
    while not any(map(_is_begun, pending.iterdir())):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def _is_begun(record):
    try:
        return record.stat().st_size > 0
    except FileNotFoundError:  # that call has just ended
        return False


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_a_kill_leaves_all_of_a_call_or_nothing(tmp_path, kills):
    """Kills in copies, moves and deletions of 30 files; the next start takes back what was cut off."""
    top, state = tmp_path / "ws", tmp_path / "state"
    for number in range(30):
        path = top / "many" / f"d{number % 3}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content {number}\n" * 50)
    plain = tree(top)
    many = {name.removeprefix("many"): value for name, value in plain.items() if name.startswith("many")}
    copied = plain | {f"copy{name}": value for name, value in many.items()}
    moved = plain | {f"moved/here{name}": value for name, value in many.items()}
    moved["moved"] = moved["moved/here"]
    rng, cut = random.Random(7), 0
    for number in itertools.count():
        if number >= kills and (cut or number >= 100):
            break
        child = subprocess.Popen([sys.executable, "-c", CHILD, top, state], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        _until_busy(Path(state, "journal/pending"))
        time.sleep(rng.random() * 0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        cut += tree(top) not in (plain, copied, moved)
        with Kit(top, state_dir=state) as kit:
            assert kit.recovered == []
            assert tree(top) in (plain, copied, moved)
            assert {path.stat().st_nlink for path in top.rglob("f*") if path.is_file()} == {1}  # no call holds them
            for name in ("copy", "moved"):
                kit.call("delete", {"path": name, "recursive": True})
        assert tree(top) == plain
    assert cut > 0, "no kill came in the middle of a call: the test shows nothing"


DONE = """
import os, sys
from toolroll import Kit
from toolroll.host.files.journal.pending import PendingSteps
PendingSteps.close = lambda self: os.kill(os.getpid(), 9)
Kit(sys.argv[1], state_dir=sys.argv[2]).call("write", {"path": "a", "content": "new"})
"""


def test_a_call_that_is_an_entry_already_is_not_taken_back(tmp_path):
    """Killed between the entry and the emptying of the record."""
    top, state = tmp_path / "ws", tmp_path / "state"
    top.mkdir()
    (top / "a").write_text("old")
    assert subprocess.run([sys.executable, "-c", DONE, top, state], check=False).returncode == -signal.SIGKILL
    with Kit(top, state_dir=state) as kit:
        assert (kit.recovered, (top / "a").read_text(), len(kit._services.journal.entries())) == ([], "new", 1)
        assert list((state / "journal/pending").iterdir()) == []
        assert kit.call("undo").ok
        assert (top / "a").read_text() == "old"


HALFWAY = """
import os, sys
from toolroll import Kit
from toolroll.host.files.journal import recorder
recorder.put_state = lambda *_: os.kill(os.getpid(), 9)
Kit(sys.argv[1], state_dir=sys.argv[2]).call("undo")
"""


def test_a_folder_that_an_undo_had_opened_gets_its_mode_back_after_a_kill(tmp_path):
    top, state = tmp_path / "ws", tmp_path / "state"
    (top / "d").mkdir(parents=True)
    (top / "d/a").write_text("old")
    with Kit(top, state_dir=state) as kit:
        kit.call("delete", {"path": "d/a"})
    (top / "d").chmod(0o555)
    assert subprocess.run([sys.executable, "-c", HALFWAY, top, state], check=False).returncode == -signal.SIGKILL
    assert (top / "d").stat().st_mode & 0o777 == 0o755
    with Kit(top, state_dir=state) as kit:
        assert (kit.recovered, (top / "d").stat().st_mode & 0o777, list(tree(top))) == ([], 0o555, ["d"])
        assert kit.call("undo").ok
    assert (top / "d/a").read_text() == "old"


KILLED = """
import os, sys
from toolroll import Kit
from toolroll.host.files import atomic
put, count = atomic.Replacement.put, []
def dies(self, check=None):
    count.append(1)
    if len(count) == 3:
        os.kill(os.getpid(), 9)
    return put(self, check)
atomic.Replacement.put = dies
Kit(sys.argv[1], state_dir=sys.argv[2]).call("multiedit", {"pattern": "*.txt", "find": "old", "replace": "new"})
"""


def put_pipe(top, state):
    (top / "p0.txt").unlink()
    os.mkfifo(top / "p0.txt")


def lose_content(top, state):
    (lost,) = (one for one in (state / "journal/blobs").iterdir() if one.read_bytes() == b"old 0")
    lost.unlink()


def garble_record(top, state):
    (record,) = (one for one in (state / "journal/pending").iterdir() if one.stat().st_size)
    lines = record.read_bytes().split(b"\n")
    lines[1] = b"\0" * len(lines[1])
    record.write_bytes(b"\n".join(lines))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (put_pipe, "p0.txt (changed by others since)"),
        (lose_content, "p0.txt (The journal no longer keeps that content: it is too old, or was forgotten.)"),
        (garble_record, "1 step of a killed call: the record is damaged"),
    ],
)
def test_a_kit_opens_and_names_what_of_a_killed_call_stays(tmp_path, harm, said):
    top, state = tmp_path / "ws", tmp_path / "state"
    top.mkdir()
    for number in range(4):
        (top / f"p{number}.txt").write_text(f"old {number}")
    assert subprocess.run([sys.executable, "-c", KILLED, top, state], check=False).returncode == -signal.SIGKILL
    harm(top, state)
    with Kit(top, state_dir=state) as kit:
        assert kit.recovered == [said]
        assert [(top / f"p{number}.txt").read_text() for number in range(1, 4)] == ["old 1", "old 2", "old 3"]
    with Kit(top, state_dir=state) as kit:
        assert kit.recovered == []


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root can mount.")
def test_a_killed_call_in_a_read_only_workspace_is_taken_back_later(tmp_path):
    top, state = tmp_path / "ws", tmp_path / "state"
    top.mkdir()
    for number in range(4):
        (top / f"p{number}.txt").write_text(f"old {number}")
    plain = tree(top)
    assert subprocess.run([sys.executable, "-c", KILLED, top, state], check=False).returncode == -signal.SIGKILL
    if subprocess.run(["mount", "--bind", top, top], check=False).returncode:
        pytest.skip("Nothing can be mounted here.")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", top], check=True)
        with Kit(top, state_dir=state) as kit:
            assert [one.partition(" (")[2] for one in kit.recovered] == [
                "Read-only file system; the next start tries again)"
            ] * len(kit.recovered)
            assert len(kit.recovered) == 2
    finally:
        subprocess.run(["umount", top], check=True)
    with Kit(top, state_dir=state) as kit:
        assert (kit.recovered, tree(top)) == ([], plain)


def test_no_more_is_undone_than_there_is(kit):
    def refusal(**what):
        return kit.undo(**what).error.message

    nothing = "There is nothing to undo: the journal has no {} that stands."
    assert refusal() == nothing.format("change")
    kit.call("write", {"path": "d/a.txt", "content": "1"})
    assert refusal(steps=2) == "Only 1 can be undone: give `steps` of 1 or less."
    assert refusal(path="d/b.txt") == nothing.format("change of 'd/b.txt'")
    assert refusal(entry=7) == nothing.format("entry 7")
    assert kit.undo(path="d").ok
    assert refusal(entry=1) == nothing.format("entry 1")
    assert kit.undo(entry=2).ok, "an undoing can be undone"
    assert kit.undo(entry=1).ok


def test_what_others_changed_since_is_not_undone(kit, ws):
    kit.call("write", {"path": "a.txt", "content": "one\n"})
    (ws / "a.txt").write_text("two\n")
    error = kit.undo().error
    assert (error.code, error.details) == ("Conflict", {"path": "a.txt", "entry": 1})
    assert error.message.startswith("'a.txt' was changed since entry 1 (write): undoing it would lose that.")
    assert "-one" in error.message
    assert "+two" in error.message
    (ws / "a.txt").write_bytes(b"\xff")
    assert "\n" not in kit.undo().error.message, "what is no text is not shown"
    (ws / "a.txt").unlink()
    os.mkfifo(ws / "a.txt")
    assert kit.undo().error.code == "Conflict"
    (ws / "a.txt").unlink()
    assert kit.undo().ok, "what is gone already is no conflict"
    assert not (ws / "a.txt").exists()


def test_what_others_change_while_an_undo_is_under_way_is_kept_and_named(kit, ws, monkeypatch):
    for name in ("a.txt", "b.txt"):
        kit.call("write", {"path": name, "content": "one\n"})
    kit.call("multiedit", {"pattern": "*.txt", "find": "one", "replace": "two"})
    link_again = recorder_module.link_again

    def save_beside(root, place, before):
        (ws / "a.txt").write_text("mine\n")
        return link_again(root, place, before)

    monkeypatch.setattr(recorder_module, "link_again", save_beside)
    said = kit.undo().text
    assert "Put back: b.txt." in said
    assert "Not put back, because others have changed them since: 'a.txt'." in said
    assert [(ws / name).read_text() for name in ("a.txt", "b.txt")] == ["mine\n", "one\n"]


def test_names_of_a_file_are_one_file_again_and_names_like_ours_are_recorded(kit, ws, put):
    put({"d/a": "one\n", ".toolroll-notes": "mine\n"})
    os.link(ws / "d/a", ws / "b")
    os.link(ws / "d/a", ws / "c")
    assert kit.call("edit", {"path": "b", "old": "one", "new": "two"}).ok
    assert kit.call("delete", {"path": "c"}).ok
    assert kit.call("bash", {"command": "rm .toolroll-notes"}).ok
    assert len({(ws / name).stat().st_ino for name in ("d/a", "b")}) == 2
    assert kit.rewind(0).ok
    assert len({(ws / name).stat().st_ino for name in ("d/a", "b", "c")}) == 1
    assert [(ws / name).read_text() for name in ("b", ".toolroll-notes")] == ["one\n", "mine\n"]


def test_an_undo_of_attributes_alone_is_an_entry(kit, ws):
    kit.call("write", {"path": "a", "content": "one\n"})
    command = f"{sys.executable} -c \"import os; os.setxattr('a', 'user.x', b'1'); os.setxattr('.', 'user.x', b'1')\""
    if not kit.call("bash", {"command": command}).ok:
        pytest.skip("this file system has no attributes")
    assert kit.undo().ok
    assert os.listxattr(ws / "a") == []
    assert kit.rewind(2).ok
    assert os.getxattr(ws / "a", "user.x") == b"1"


def test_what_a_person_saved_in_a_new_ignored_folder_is_not_removed(kit, ws, put):
    put({".gitignore": "dist/\n"})
    kit.call("bash", {"command": "mkdir dist; echo > dist/made"})
    time.sleep(0.02)
    (ws / "dist/mine").write_text("mine\n")
    assert "'dist' was changed since entry 1 (bash)" in kit.undo().text
    assert (ws / "dist/mine").read_text() == "mine\n"
    kit.call("bash", {"command": "mkdir sub; git init -q sub || mkdir sub/.git"})
    assert kit.undo().ok
    assert not (ws / "sub").exists()


@pytest.mark.parametrize(
    ("now", "known", "same"),
    [
        (None, None, True),
        (None, PathState("file", 0o644, "x"), False),
        (PathState("file", 0o644, "x"), None, False),
        (PathState("file", 0o644, "x"), PathState("file", 0o644, "x"), True),
        (PathState("file", 0o644, "x"), PathState("file", 0o600, "x"), False),
        (PathState("file", 0o644, "x"), PathState("file", -1, "x"), True),  # a mode that was not known yet
        (PathState("file", 0o644, "x"), PathState("file", 0o644, "y"), False),
        (PathState("link", 0, "x"), PathState("file", 0, "x"), False),
    ],
)
def test_whether_a_path_is_as_it_is_known(now, known, same):
    assert is_same_state(now, known) is same


def test_steps_are_taken_back_the_last_first_where_nobody_changed_them(ws, tmp_path):
    with Root(str(ws)) as root:
        log = JournalLog(State(str(tmp_path / "state")))
        (ws / "new").write_text("made")
        (ws / "kept").write_text("changed by others")
        (ws / "d").mkdir()
        (ws / "d/moved").write_text("m")
        (ws / "full").mkdir()
        (ws / "full/x").touch()
        made = PathState.of_file(b"made", (ws / "new").stat().st_mode)
        steps = [
            PathChange("new", None, made),
            PathChange("kept", None, made),
            PathChange("d", None, PathState("directory", -1)),
            PathChange("full", None, PathState("directory", -1)),
            PathChange("d/moved", None, None, source="back"),
            PathChange("link", PathState("link", 0, "new"), None),
            PathChange("old", PathState.of_file(b"old", 0o600), None),
        ]
        log.blobs.keep(b"old")
        assert take_back(root, log, steps) == (["kept (changed by others since)"], [])
    assert sorted(os.listdir(ws)) == ["back", "full", "kept", "link", "old"], "a folder with something in it stays"
    assert ((ws / "old").read_text(), stat.S_IMODE((ws / "old").stat().st_mode)) == ("old", 0o600)
    assert os.readlink(ws / "link") == "new"


def test_all_that_came_after_a_point_is_taken_back_unless_others_changed_it(kit, ws):
    for name in ("", " ", "7"):
        with pytest.raises(ToolError, match="is no name of a checkpoint"):
            kit.journal.mark(name, "", "")
    kit.call("write", {"path": "a.txt", "content": "one\n"})
    mark = kit.journal.mark("start", "s", "m")
    assert (mark.number, mark.session, mark.message, mark.changes) == (2, "s", "m", ())
    kit.call("write", {"path": "a.txt", "content": "two\n"})
    kit.call("write", {"path": "b.txt", "content": "b"})
    (ws / "b.txt").write_text("theirs")
    error = kit.rewind("start").error
    assert (error.code, error.details) == (
        "Conflict",
        {"refused": ["'b.txt' (changed by others since entry 4, write)"]},
    )
    assert (ws / "a.txt").read_text() == "two\n"
    (ws / "b.txt").write_text("b")
    assert kit.rewind("start").ok
    assert ((ws / "a.txt").read_text(), (ws / "b.txt").exists()) == ("one\n", False)


def test_a_content_that_is_not_kept_cannot_be_taken_back_to(kit, ws):
    kit.call("write", {"path": "a.txt", "content": "one\n"})
    kit.call("write", {"path": "a.txt", "content": "two\n"})
    entries = kit.journal.entries()
    states = [entries[-1].changes[0].before, entries[-1].changes[0].after, None, PathState("directory", 0o755)]
    assert [kit.journal.content(state) for state in states] == [b"one\n", b"two\n", None, None]
    os.unlink(f"{kit.state_dir}/journal/blobs/{states[0].content}")
    assert kit.journal.content(states[0]) is None
    assert kit.rewind(1).error.details == {"refused": ["'a.txt' (its content before entry 2, write, is not kept)"]}
    assert (ws / "a.txt").read_text() == "two\n"


def test_which_call_wrote_a_line_and_what_it_did(kit, ws):
    (ws / "a.txt").write_text("zero\n")
    kit.call("edit", {"path": "a.txt", "old": "zero\n", "new": "zero\none\n"})
    kit.call("edit", {"path": "a.txt", "old": "one\n", "new": "one\ntwo\n"})
    assert kit.journal.blame("a.txt", b"zero\none\ntwo\nthree\n", "utf-8") == [
        (BEFORE, "zero\n"),
        (1, "one\n"),
        (2, "two\n"),
        (OTHERS, "three\n"),
    ]
    ((change, diff),) = kit.journal.describe(kit.journal.entries()[-1].changes)
    assert (change.path, "+two" in diff) == ("a.txt", True)


@pytest.fixture
def journal(ws, tmp_path):
    with Root(str(ws)) as root:
        yield Journal(root, State(str(tmp_path / "own state")))


def record(journal, *changes):
    """An entry as a command makes it."""
    with journal.entry("bash", "s", "m") as recorder:
        recorder.changes += changes
    return journal.entries()[-1]


def undo(journal, entry):
    with journal.entry("undo", "s", "") as recorder:
        journal.undo(entry, recorder)
    return recorder


def test_what_a_command_made_and_nothing_is_kept_of_is_removed_whole(journal, ws):
    (ws / "build/deep").mkdir(parents=True)
    (ws / "build/deep/x").write_text("x")
    os.mkfifo(ws / "pipe")
    made = [PathChange(name, None, PathState(kind, 0)) for name, kind in (("build", "ignored"), ("pipe", "other"))]
    entry = record(journal, *made, PathChange("gone", None, PathState("ignored", 0)))
    (ws / "gone").touch()
    (ws / "gone").unlink()
    undone = undo(journal, entry)
    assert os.listdir(ws) == []
    assert [(one.path, one.after) for one in undone.changes] == [("gone", None), ("pipe", None), ("build", None)]
    assert undone.undoes == [entry.number]


def test_what_is_not_kept_is_named_and_left_alone(journal, ws):
    (ws / "big").write_text("new")
    lost = PathState("file", 0o644, f"{NOT_KEPT}9.9")
    entry = record(journal, PathChange("big", lost, PathState.of_file(b"other", 0o644)))
    assert (undo(journal, entry).lost, (ws / "big").read_text()) == (["big"], "new")


@pytest.mark.parametrize("changed", [False, True])
def test_a_large_file_that_a_command_made_is_removed_if_it_is_still_the_same(journal, ws, changed):
    (ws / "big").write_text("new")
    status = (ws / "big").stat()
    made = PathState("file", 0o644, f"{NOT_KEPT}{status.st_size}.{status.st_mtime_ns}")
    entry = record(journal, PathChange("big", None, made))
    if changed:
        (ws / "big").write_text("longer")
        with pytest.raises(ToolError, match="'big' was changed since entry 1"):
            undo(journal, entry)
    else:
        undo(journal, entry)
    assert (ws / "big").exists() is changed


def test_permissions_are_put_back_and_that_is_undone_too(journal, ws):
    (ws / "d").mkdir(mode=0o700)
    (ws / "d").chmod(0o711)
    entry = record(journal, PathChange("d", PathState("directory", 0o700), PathState("directory", 0o711)))
    undone = undo(journal, entry)
    assert stat.S_IMODE((ws / "d").stat().st_mode) == 0o700
    assert undone.changes == [PathChange("d", PathState("directory", 0o711), PathState("directory", 0o700))]
    undo(journal, journal.entries()[-1])
    assert stat.S_IMODE((ws / "d").stat().st_mode) == 0o711


def test_a_step_that_changes_nothing_is_no_entry(journal, ws):
    (ws / "a").write_text("a")
    (ws / "a").chmod(0o640)
    with journal._root.place("a") as place, journal.entry("write", "s", "") as recorder:
        with recorder.setting_mode(place, 0o640):
            pass
        with recorder.writing(place, b"a", b"a", None):
            pass
        assert recorder.changes == []
    assert journal.entries() == []
    with journal._root.place("a") as place, journal.entry("write", "s", "") as recorder:
        with recorder.setting_mode(place, 0o600):
            (ws / "a").chmod(0o600)
        with recorder.removing(place.fd, "a", "a"):
            (ws / "a").unlink()
    assert [(one.before.mode, one.after and one.after.mode) for one in recorder.changes] == [
        (0o640, 0o600),
        (0o600, None),
    ]
    with journal.entry("undo", "s", "") as recorder:
        recorder.undo(journal.entries()[-1].changes)
    assert ((ws / "a").read_text(), stat.S_IMODE((ws / "a").stat().st_mode)) == ("a", 0o640)


def test_a_file_gets_the_permissions_it_had_or_those_asked_for(journal, ws):
    (ws / "a").write_text("a")
    (ws / "a").chmod(0o640)
    with journal._root.place("a") as old, journal._root.place("b") as new, journal.entry("w", "", "") as recorder:
        plans = [
            recorder.plan(old, b"n", b"a", 0o600, (None, None)),
            recorder.plan(old, b"n", None, 0o600, (None, None)),
        ]
        plans += [recorder.plan(new, b"n", None, mode, (None, None)) for mode in (0, 0o600, None)]
    assert [(one.path, one.before and one.before.mode, one.after.mode) for one in plans] == [
        ("a", 0o640, 0o640),
        ("a", 0o640, 0o640),
        ("b", None, 0),
        ("b", None, 0o600),
        ("b", None, -1),
    ]


def test_only_missing_folders_are_expected_and_each_once(journal, ws):
    (ws / "there").mkdir()
    with journal.entry("write", "", "") as recorder:
        recorder.expect(("there", "b", "c", "file"))
        recorder.expect(("there", "b", "d", "file"))
        recorder.expect(("file",))
        assert [one.path for one in recorder.changes] == ["there/b", "there/b/c", "there/b/d"]


def test_what_was_rewritten_is_given_with_both_contents(kit, ws):
    for name in ("a", "b", "c"):
        (ws / name).write_text(f"{name}\n")
    found = []
    with kit.journal.entry("write", "", "") as recorder:
        files = kit.context().files
        for name, data in (("a", b"A\n"), ("new", b"n")):
            with files.root.place(name) as place, recorder.writing(place, data, None, None):
                (ws / name).write_bytes(data)
        with files.root.place("b") as place, recorder.setting_mode(place, 0o600):
            (ws / "b").chmod(0o600)
        with files.root.place("c") as place, recorder.removing(place.fd, "c", "c"):
            (ws / "c").unlink()
        gone = PathChange("x", PathState.of_file(b"never kept", 0o644), PathState.of_file(b"nor this", 0o644))
        recorder.changes.append(gone)
        found += recorder.contents()
        recorder.changes.remove(gone)
    assert found == [("a", b"a\n", b"A\n"), ("new", None, b"n")]


def test_several_that_others_changed_are_named(kit, ws):
    for count in (2, 3, 14):
        names = [f"{count}-{number:02}" for number in range(count)]
        with kit.journal.entry("many", "", "") as recorder:
            for name in names:
                with kit.context().files.root.place(name) as place, recorder.writing(place, b"1", None, None):
                    (ws / name).write_bytes(b"1")
        for name in names:
            (ws / name).write_bytes(b"2")
    errors = [kit.undo(entry=entry).error for entry in (1, 2, 3)]
    assert " So was '2-01'. Undo later changes first" in errors[0].message
    assert " So were '3-01', '3-02'. Undo later changes first" in errors[1].message
    assert "'14-10' and 3 more. Undo later changes first" in errors[2].message
    assert errors[0].details == {"path": "2-00", "entry": 1, "paths": ["2-00", "2-01"]}
    assert "-1\n" in errors[0].message
    assert (ws / "2-00").read_bytes() == b"2"


def test_a_call_that_fails_is_taken_back_and_is_no_entry(journal, ws):
    (ws / "a").write_text("a")

    def write_and_fail(recorder):
        with journal._root.place("a") as place, recorder.writing(place, b"b", None, None):
            (ws / "a").write_text("b")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), journal.entry("w", "", "") as recorder:
        write_and_fail(recorder)
    assert ((ws / "a").read_text(), journal.log.entries(), recorder.changes) == ("a", [], [])


def test_jobs_are_caught_up_with_before_entries_are_read_or_added(journal):
    seen = []
    journal.catch_up = lambda: seen.append("caught up")
    journal.entries()
    with journal.entry("w", "", ""):
        seen.append("begun")
    assert seen == ["caught up", "caught up", "begun"]


def test_a_killed_call_in_a_root_that_is_missing_is_left_for_a_kit_that_has_it(ws, tmp_path):
    other, state = tmp_path / "other", State(str(tmp_path / "state"))
    other.mkdir()
    for folder in (ws, other):
        (folder / "a").write_text("half")
    log = JournalLog(state)
    made = PathState.of_file(b"half", (ws / "a").stat().st_mode)
    for path in ("a", "other/a"):
        with log.under_way({"other": str(other), "unused": "/none"}) as pending:
            pending.about_to(PathChange(path, None, made))
            record = max((tmp_path / "state/journal/pending").iterdir(), key=lambda one: one.stat().st_size)
            begun = record.read_bytes()
        record.rename(record.with_name(f"{path.count('/')}-of-a-killed-call-1"))
        record.with_name(f"{path.count('/')}-of-a-killed-call-1").write_bytes(begun)
    with Root(str(ws)) as root:
        left = Journal(root, state).recover()
        assert left == [f"{other} (open a kit with this root to take a killed call back)"]
        assert ((ws / "a").exists(), (other / "a").exists(), len(list(log.unfinished()))) == (False, True, 1)
