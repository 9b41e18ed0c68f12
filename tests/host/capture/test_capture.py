import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.host.capture import random_commands
from tests.host.capture.random_commands import RandomCommands
from tests.host.files.test_file_ops import Memory
from toolroll import Executed, Kit
from toolroll.host.capture import listing
from toolroll.kit import preset
from toolroll.result import ErrorCode

PROGRAM = Path(random_commands.__file__).read_text()
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]


def commit(ws: Path) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x", "--allow-empty"]):
        subprocess.run([*GIT, *words], cwd=ws, check=True)


def picture(ws: Path, exact: bool = False) -> dict[str, Any]:
    """Everything of a tree that an undo puts back: kinds, modes, contents, links, extended attributes.

    `exact`: also times of folders and which names are one file, which an undo of our own edits does not put back.
    """
    found: dict[str, Any] = {}
    names: dict[int, list[str]] = {}
    for folder, folders, files in os.walk(ws):
        folders[:] = [one for one in folders if one != ".git"]
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            content: Any = os.readlink(path) if stat.S_ISLNK(mode) else None
            if not stat.S_ISLNK(mode):
                attributes = {one: os.getxattr(path, one) for one in os.listxattr(path)}
                content = Path(path).read_bytes() if stat.S_ISREG(mode) else None, attributes
            if exact and stat.S_ISREG(mode):
                names.setdefault(os.lstat(path).st_ino, []).append(os.path.relpath(path, ws))
            time_ns = os.lstat(path).st_mtime_ns if exact and stat.S_ISDIR(mode) else 0
            found[os.path.relpath(path, ws)] = stat.S_IFMT(mode), stat.S_IMODE(mode), content, time_ns
    return {**found, "": sorted(sorted(one) for one in names.values())} if exact else found


@contextmanager
def captured(kit: Kit) -> Iterator[Any]:
    """What happens in the block counts as done by a command."""
    capture = kit._services.capture
    writer = capture.begin(kit.context().call, "command")
    yield writer
    capture.end(writer)


def numbers(kit: Kit) -> list[int]:
    return [one.number for one in kit._services.journal.entries()]


def edit_something(kit: Kit, ws: Path, rng: random.Random) -> None:
    files = [one for one in ("a.py", "b", "deep/a.py") if (ws / one).is_file() and not (ws / one).is_symlink()]
    if files and rng.random() < 0.7:
        kit.call("write", {"path": rng.choice(files), "content": "written\n" * rng.randrange(5)})
    else:
        kit.call("write", {"path": f"made{rng.randrange(3)}/a.py", "content": "x = 1\n"})


def check_sequence(
    ws: Path, state: Path, seed: int, repository: bool, exact: bool = False, tier: str = "", steps: int = 6
) -> None:
    """Undo a random sequence of commands and edits; of commands alone, if it is to be `exact`.

    With a `tier` the commands are programs that run in that sandbox, else what this process does counts as theirs.
    """
    rng = random.Random(seed)
    commands = RandomCommands(ws, rng)
    (ws / "deep").mkdir()
    (ws / "deep" / "a.py").write_text("x = 1\n")
    commands.run(12)
    if repository:
        commit(ws)
        commands.run(4)
    with Kit(ws, state_dir=state, policy=replace(preset("standard"), sandbox=tier or "none")) as kit:
        before: list[dict[str, Any]] = []
        for _ in range(steps):
            known, seen, without_times = len(numbers(kit)), picture(ws, exact), picture(ws)
            if rng.random() < 0.3 and not exact:
                edit_something(kit, ws, rng)
            elif tier:
                words = [sys.executable, "-c", PROGRAM, str(rng.randrange(10**6)), str(rng.randrange(1, 6))]
                assert kit.context().shell.program(words, seconds=60).status == 0
            else:
                with captured(kit) as writer:
                    commands.run(rng.randrange(1, 6))
                assert not writer.note
                assert bool(writer.changes) == (picture(ws, exact) != seen) or exact
            if len(numbers(kit)) > known:
                before.append(seen)
            elif picture(ws, exact) != seen:
                assert exact
                assert picture(ws) == without_times
                before.clear()  # times alone are no entry, and stay
        for seen in reversed(before):
            undone = kit.call("undo")
            assert undone.ok, undone.text
            assert picture(ws, exact) == seen, f"seed {seed}: {undone.text}"


def test_names_of_one_file_come_back_as_one_file(ws: Path, put: Callable[..., None], kit: Kit):
    put({"a": "1\n", "d/x": "2\n"})
    os.link(ws / "a", ws / "b")
    os.link(ws / "a", ws / "d" / "c")
    before = picture(ws, exact=True)
    commands = [
        "rm b",
        "rm a b d/c",
        "sed -i s/1/2/ a",
        "echo more >> b",
        "rm b; cp a b",
        "mv d e; chmod 600 a",
        "rm -r d",
    ]
    for command in commands:
        ran = kit.call("bash", {"command": command})
        assert "Changed" in ran.text, command
        assert kit.call("undo").ok
        assert picture(ws, exact=True) == before, command


def test_times_and_attributes_of_folders_come_back(ws: Path, put: Callable[..., None], kit: Kit):
    put({"d/a": "1\n", "d/e/b": "1\n", "f/c": "1\n"})
    os.setxattr(ws / "d", "user.note", b"old")
    for folder in ("d", "d/e", "f"):
        os.utime(ws / folder, ns=(10**18, 10**18))
    before = picture(ws, exact=True)
    for code in (
        "setxattr('d', 'user.note', b'new')",
        "removexattr('d', 'user.note'); os.mkdir('n'); os.remove('f/c')",
    ):
        assert "Changed" in kit.call("bash", {"command": f'{sys.executable} -c "import os; os.{code}"'}).text
        assert kit.call("undo").ok
        assert picture(ws, exact=True) == before
    kit.call("bash", {"command": "rm -r d; echo 2 > f/c"})
    assert kit.call("undo").ok
    assert picture(ws, exact=True) == before


def test_of_many_new_files_each_is_known_and_undone(
    ws: Path, put: Callable[..., None], kit: Kit, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("toolroll.host.capture.capture._MAX_KEPT_FILES", 3)
    put({"d/a": "1\n", "d/e/b": "1\n"})
    kit.call("bash", {"command": "true > z"})
    before = picture(ws, exact=True)
    command = "mkdir n; for i in 1 2 3 4 5 6; do echo $i > d/$i; echo $i > n/$i; done"
    ran = kit.call("bash", {"command": command})
    assert [one["path"] for one in ran.data["changes"]] == sorted(f"{f}/{i}" for f in "dn" for i in range(1, 7))
    assert kit.call("undo").ok
    assert picture(ws, exact=True) == before
    kit.call("bash", {"command": command})
    kit.call("bash", {"command": "rm n/1"})
    assert kit.call("undo").ok
    assert (ws / "n/1").read_text() == "1\n"
    (ws / "n/5").write_text("by others")
    refused = kit.call("undo")
    assert refused.error is not None
    assert "'n/5' was changed since" in refused.text


@pytest.mark.parametrize("repository", [True, False], ids=["repository", "none"])
@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_undoing_random_commands_and_edits_gives_the_same_tree(
    ws: Path, tmp_path: Path, seed: int, repository: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(listing, "_WATCH_FROM", 0 if seed % 2 else 300)  # with a watch and by listings
    check_sequence(ws, tmp_path / "state", seed, repository, exact=seed >= 3)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("repository", "watched", "count"),
    [
        (True, True, 1),
        (False, False, 1),
        *(
            pytest.param(repository, watched, int(os.environ.get("SEQUENCES", "200")), marks=pytest.mark.slow)
            for repository in (True, False)
            for watched in (True, False)
        ),
    ],
)
def test_undoing_commands_of_every_tier_gives_the_same_tree(
    tmp_path: Path, tier: str, repository: bool, watched: bool, count: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(listing, "_WATCH_FROM", 0 if watched else 10**9)
    for seed in range(100, 100 + count):
        ws = tmp_path / f"ws{seed}"
        ws.mkdir()
        check_sequence(ws, tmp_path / f"state{seed}", seed, repository, seed % 2 == 0, tier, 6 if count > 1 else 3)


def test_a_command_is_one_entry_in_every_tier_and_undo_takes_it_back(
    ws: Path, put: Callable[..., None], open_kit: Callable[..., Kit], tier: str
):
    put({"a.py": "x = 1\ny = 2\n", "old.py": "x\n", "run.sh": "echo\n"})
    commit(ws)
    put({"mine.txt": "not in git\n"})
    kit, before = open_kit(), picture(ws)
    command = "sed -i s/1/3/ a.py; rm old.py mine.txt; echo n > b.py; chmod +x run.sh; mkdir d; ln -s a.py d/l"
    ran = kit.call("bash", {"command": command})
    assert ran.text.endswith(
        "Changed 6 files: a.py (+1 -1), b.py (new), d/l (new), mine.txt (deleted), old.py (deleted), run.sh (mode)."
    )
    assert ran.data["changes"][:2] == [
        {"path": "a.py", "kind": "modified", "added": 1, "removed": 1},
        {"path": "b.py", "kind": "created", "added": 1, "removed": 0},
    ]
    [entry] = kit._services.journal.entries()
    assert (entry.tool, entry.note) == ("bash", {"command": command})
    assert kit.call("undo").ok
    assert picture(ws) == before
    assert kit.call("bash", {"command": "cat a.py"}).text == "x = 1\ny = 2\n".rstrip()
    assert len(numbers(kit)) == 2  # what reads leaves no entry


def test_what_the_own_command_changed_counts_as_seen(ws: Path, put: Callable[..., None], kit: Kit):
    put({"a.py": "x = 1\n"})
    kit.call("read", {"path": "a.py"})
    kit.call("bash", {"command": "sed -i 's/ //g' a.py"})
    assert kit.call("write", {"path": "a.py", "content": "x = 2\n"}).error is not None, "not seen as a whole"
    assert kit.call("edit", {"path": "a.py", "old": "x=1", "new": "x = 2"}).ok
    (ws / "a.py").write_text("by others\n")
    kit.call("bash", {"command": "echo >> a.py"})
    assert kit.call("write", {"path": "a.py", "content": "x = 3\n"}).error is not None


def test_an_undo_is_refused_with_the_list_where_a_later_entry_touched_the_same(
    ws: Path, put: Callable[..., None], kit: Kit
):
    put({"a": "1\n", "b": "1\n", "c": "1\n"})
    kit.call("bash", {"command": "echo 2 > a; echo 2 > b; echo 2 > c"})
    kit.call("bash", {"command": "echo 3 > a; echo 3 > b"})
    refused = kit.undo(entry=1)
    assert refused.error is not None
    assert refused.error.code == ErrorCode.CONFLICT
    assert "'a' was changed since entry 1 (bash)" in refused.text
    assert "So was 'b'." in refused.text
    assert kit.call("undo", {"steps": 2}).ok
    assert [(ws / name).read_text() for name in "abc"] == ["1\n"] * 3


def test_ignored_folders_are_taken_as_a_whole(ws: Path, put: Callable[..., None], kit: Kit):
    put({".gitignore": "out/\n", "a": "1\n"})
    commit(ws)
    before = picture(ws)
    ran = kit.call("bash", {"command": "mkdir -p out/x __pycache__; echo 1 > out/x/y; touch __pycache__/z; echo 2 > b"})
    assert ran.text.endswith("Changed 2 files: b (new), out/ (new).")
    assert kit.call("undo").ok
    assert picture(ws) == before
    put({"out/x": "1\n"})
    ran = kit.call("bash", {"command": "rm -r out; echo 2 > a"})
    assert ran.text.endswith("Changed 2 files: a (+1 -1), out/ (deleted, not kept).")
    undone = kit.call("undo")
    assert "Not put back, because the contents were not kept: 'out'." in undone.text
    assert picture(ws) == before
    assert kit.call("bash", {"command": "mkdir __pycache__; touch __pycache__/a.pyc"}).text == "(no output)"
    assert len(numbers(kit)) == 4  # caches alone are no entry


def test_a_folder_that_a_command_has_ignored_is_not_removed_by_undo(ws: Path, put: Callable[..., None], kit: Kit):
    put({"out/a": "1\n", ".gitignore": "x\n"})
    commit(ws)
    before = picture(ws)
    ran = kit.call("bash", {"command": "echo out/ > .gitignore; rm -r out; mkdir -m 700 out; echo 2 > out/b"})
    assert ran.text.endswith("Changed 3 files: .gitignore (+1 -1), out/a (deleted), out/b (new).")
    assert kit.call("undo").ok
    assert picture(ws) == before


def test_what_is_over_the_budget_is_named(ws: Path, put: Callable[..., None], open_kit: Callable[..., Kit]):
    put({"large": b"x" * 101, "small": b"y" * 60, "other": b"z" * 60})
    kit = open_kit(limits={"undo_file_bytes": 100, "undo_bytes": 100})
    ran = kit.call("bash", {"command": "mv large moved; echo >> small; echo >> other"})
    assert ran.text.count("not kept") == 1  # one of the two that do not fit together
    assert kit.call("undo").ok
    assert (ws / "large").read_bytes() == b"x" * 101
    assert sorted(len((ws / name).read_bytes()) for name in ("small", "other")) == [60, 61]


def test_for_a_command_that_changes_nothing_the_baseline_stays(ws: Path, put: Callable[..., None], kit: Kit):
    put({"d/a": "1\n"})
    time.sleep(0.03)  # a younger file is looked at twice
    baselines = []
    for _ in range(3):
        with captured(kit):
            pass
        baselines += [(one.name, one.stat().st_ino) for one in Path(kit.state_dir, "capture").glob("baseline*")]
    assert (len(baselines), len(set(baselines))) == (3, 1)


def test_in_a_tree_that_is_too_large_commands_run_and_it_is_said(
    ws: Path, put: Callable[..., None], kit: Kit, monkeypatch: pytest.MonkeyPatch
):
    put({f"d/{number}": b"" for number in range(12)})
    monkeypatch.setattr(listing, "_MAX_ENTRIES", 10)
    for _ in range(2):  # also where it is known already
        ran = kit.call("bash", {"command": "echo hi > d/0"})
        assert (ran.ok, ran.text.splitlines()[1:]) == (
            True,
            ["Its changes cannot be undone: the workspace has more than 10 files."],
        )
    assert kit.call("write", {"path": "new", "content": "x"}).ok
    assert kit.call("undo").ok
    assert not (ws / "new").exists()


def test_a_job_is_recorded_at_our_next_call_and_at_its_end(ws: Path, put: Callable[..., None], kit: Kit):
    put({"a": "1\n", "b": "1\n"})
    job = kit.call("bash", {"command": "echo 2 > a; read x; echo 3 > b", "background": True}).data["job"]
    while (ws / "a").read_text() != "2\n":
        time.sleep(0.01)
    kit.call("write", {"path": "c", "content": "ours\n"})
    done = kit.call("job", {"action": "input", "id": job, "input": "\n", "wait": 20})
    assert "Changed 2 files: a (+1 -1), b (+1 -1)." in done.text
    entries = kit._services.journal.entries()
    assert [[one.path for one in entry.changes] for entry in entries] == [["a"], ["c"], ["b"]]
    assert kit.call("undo", {"steps": 3}).ok
    assert picture(ws).keys() == {"a", "b"}
    assert (ws / "a").read_text() == (ws / "b").read_text() == "1\n"


QUIET_JOB = """
import sys, time
from pathlib import Path
from toolroll import Kit
from toolroll.host.capture import capture

capture._QUIET_S = 0.5
ws, state = map(Path, sys.argv[1:])
with Kit(ws, state_dir=state) as kit:
    log = kit._services.journal.log
    job = kit.call("bash", {"command": "echo 2 > a; read x", "background": True}).data["job"]
    while not log.entries():
        time.sleep(0.1)
    (ws / "b").write_text("by the user\\n")
    kit.call("history")
    for entry in log.entries():
        print([one.path for one in entry.changes], entry.note.get("meanwhile"))
    print(kit.call("job", {"action": "input", "id": job, "input": "\\n", "wait": 20}).text)
"""


def test_a_quiet_job_is_recorded_before_it_ends_and_what_others_changed_is_marked(
    ws: Path, put: Callable[..., None], tmp_path: Path
):
    put({"a": "1\n"})
    # In a process of its own: what other children of this one do counts as done by commands.
    command = [sys.executable, "-c", QUIET_JOB, ws, tmp_path / "state"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.startswith("['a'] None\n['b'] ['other programs']\n")
    assert "Changed 1 file: a (+1 -1)." in said
    assert "Also changed meanwhile, by other programs. Changed 1 file: b (new)." in said


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("rm -rf out", "out/ (ignored)"),
        ("cd d && rm large", "d/large (2000000 bytes)"),
        ("rm -r d/* sm*", "d/large (2000000 bytes)"),
        ("rm out/x", "out/x (in the ignored folder out)"),
        ("git clean -fdx", "d/large (2000000 bytes), out/ (ignored)"),
        ("true; : > d/large", "d/large (2000000 bytes)"),
        ("rm small d/small", None),
        ("echo out; mkdir n", None),
    ],
)
def test_what_could_not_be_put_back_is_named_before_a_command_runs(
    ws: Path, put: Callable[..., None], open_kit: Callable[..., Kit], command: str, named: str | None
):
    put({".gitignore": "out/\n", "out/x": "1\n", "small": "1\n", "d/small": "1\n", "d/large": b"x" * 2_000_000})
    asked: list[str] = []

    def refuse(request: Any) -> bool:
        asked.append(request.reason)
        return False

    before = picture(ws)
    ran = open_kit(policy="ask", approve=refuse, limits={"undo_file_bytes": 1_000_000}).call(
        "bash", {"command": command}
    )
    assert ran.error is not None
    assert picture(ws) == before
    [reason] = asked
    assert reason.partition("`undo` could not put back: ")[2] == (f"{named}." if named else "")


def test_commands_in_a_container_are_captured_where_their_files_are_here(
    ws: Path, put: Callable[..., None], tmp_path: Path
):
    class Container:
        def run(self, command: str, *, cwd: str, **_: Any) -> Executed:
            ran = subprocess.run(["bash", "-c", command], cwd=ws / cwd, capture_output=True, check=False)
            return Executed(ran.returncode, ran.stdout)

    put({"a": "1\n"})
    with Kit(ws, state_dir=tmp_path / "state", commands=Container()) as kit:
        assert "Changed 1 file: a (+1 -1)." in kit.call("bash", {"command": "echo 2 > a"}).text
        assert kit.call("undo").ok
        assert (ws / "a").read_text() == "1\n"
    with Kit(ws, state_dir=tmp_path / "other", commands=Container(), files=Memory({})) as kit:
        assert "What it changed is not captured" in kit.call("bash", {"command": "echo 2 > a"}).text
        assert "captured" not in kit.call("bash", {"command": "cat a"}).text


def test_commands_side_by_side_are_recorded_once(ws: Path, kit: Kit):
    made = "sleep 0.2; ln -s to"  # in one step: of a file, another command's end may see the beginning
    calls = [{"function": {"name": "bash", "arguments": {"command": f"{made} {name}"}}} for name in "abc"]
    kit.execute([{"id": str(at), **one} for at, one in enumerate(calls)])
    paths = [change.path for entry in kit._services.journal.entries() for change in entry.changes]
    assert sorted(paths) == ["a", "b", "c"]


_KILLED = """
import sys
from toolroll import Executed, Kit
kit = Kit(sys.argv[1], state_dir=sys.argv[2], policy=sys.argv[3])
kit.call("bash", {"command": "echo 2 > a; rm b; mkdir d; touch d/done; sleep 60"})
"""


def test_after_a_kill_the_next_start_records_what_the_command_did(ws: Path, put: Callable[..., None], tmp_path: Path):
    put({"a": "1\n", "b": "1\n"})
    before, state = picture(ws), tmp_path / "state"
    with subprocess.Popen([sys.executable, "-c", _KILLED, ws, state, "standard"]) as child:
        while not (ws / "d" / "done").exists():
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
    with Kit(ws, state_dir=state) as kit:
        [entry] = kit._services.journal.entries()
        assert {one.path for one in entry.changes} == {"a", "b", "d", "d/done"}
        assert kit.call("undo").ok
        assert picture(ws) == before
    with Kit(ws, state_dir=state) as kit:
        assert len(numbers(kit)) == 2


_BUSY = """
import random, sys
from pathlib import Path
from toolroll import Executed, Kit
from tests.host.capture.random_commands import RandomCommands
from tests.host.capture.test_capture import captured
ws, state, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rng = random.Random(seed)
with Kit(ws, state_dir=state) as kit:
    print(flush=True)
    while True:
        if rng.random() < 0.3:
            kit.call("undo")
        else:
            with captured(kit):
                RandomCommands(ws, rng).run(5)
"""


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("repository", "count"),
    [(True, 1), pytest.param(True, 25, marks=pytest.mark.slow), pytest.param(False, 25, marks=pytest.mark.slow)],
)
def test_after_kills_at_random_points_everything_can_still_be_undone(tmp_path: Path, repository: bool, count: int):
    rng = random.Random(1)
    for number in range(count):
        ws, state = tmp_path / f"ws{number}", tmp_path / f"state{number}"
        ws.mkdir()
        RandomCommands(ws, rng).run(12)
        if repository:
            commit(ws)
        before = picture(ws)
        for part in range(2):
            words = [sys.executable, "-c", _BUSY, ws, state, str(100 * number + part)]
            with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
                assert child.stdout is not None
                child.stdout.readline()
                time.sleep(rng.random() * 0.3)
                child.kill()
        with Kit(ws, state_dir=state) as kit:
            assert kit._services.recovered == []
            while (undone := kit.call("undo")).ok:
                pass
            assert undone.error is not None
            assert undone.error.code == ErrorCode.NOT_FOUND, undone.text
        assert picture(ws) == before
