"""A recorded session runs again on the files that it began with, and shows what has become different."""

import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from toolroll import ToolError, dialects
from toolroll.host.approval.request import ChangedCall
from toolroll.host.runtime import user_folders
from toolroll.host.settings import Settings
from toolroll.kit import preset
from toolroll.recording.recorded_kit import RecordedKit
from toolroll.recording.recording import Recording, read_recording
from toolroll.recording.replay import replay

SETTINGS = Settings(sandbox="none", verdict="off")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg-state"))


@pytest.fixture
def repository(ws: Path) -> Path:
    """One commit on a branch, and on top of it a changed, a new and a deleted file."""
    for name in ("a.py", "b.txt", "gone.txt"):
        (ws / name).write_text(f"{name}\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-qb", "work"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=ws, check=True)
    (ws / "b.txt").write_text("changed\n")
    (ws / "gone.txt").unlink()
    (ws / "run.sh").write_text("echo ran\n")
    (ws / "run.sh").chmod(0o755)
    return ws


def record(ws: Path, file: Path, calls, **options) -> Recording:
    kit = RecordedKit(ws, state_dir=file.parent / "state", settings=SETTINGS, **options)
    kit.begin(str(file))
    with kit:
        for name, arguments in calls:
            kit.call(name, arguments)
    return read_recording(file.read_bytes().splitlines(keepends=True))


def outcomes(recording: Recording, ws: Path, dialect: str | None = None) -> list[tuple[str, str]]:
    chosen = None if dialect is None else dialects.load(dialect)
    return [(one.name, one.outcome) for one in replay(recording, str(ws), SETTINGS, chosen)]


def test_the_calls_run_again_on_the_files_of_the_start(repository, tmp_path):
    calls = [
        ("bash", {"command": "git status --short; git branch --show-current; ls; ./run.sh; date"}),
        ("edit", {"path": str(repository / "a.py"), "old": "a", "new": "b"}),
        ("read", '{"path": "a.py"}'),
        ("read", {"path": "none"}),
        ("write", {"path": "made.txt", "content": "x"}),
        ("undo", {}),
        ("no_such_tool", {}),
    ]
    recording = record(repository, tmp_path / "r.jsonl", calls)
    said = (tmp_path / "r.jsonl").read_text()
    assert str(repository) not in said
    assert (tmp_path / "r.jsonl").stat().st_mode & 0o077 == 0
    for path in repository.iterdir():
        if path.is_file():
            path.write_text("what came later\n")
    found = list(replay(recording, str(repository), SETTINGS))
    assert [(one.outcome, one.why) for one in found] == [("same", "")] * 7
    assert (repository / "a.py").read_text() == "what came later\n"
    assert not any((tmp_path / "cache").rglob("*.py"))


def test_secrets_are_not_written(ws, tmp_path):
    record(ws, tmp_path / "r.jsonl", [("write", {"path": "a", "content": "ghp_0123456789abcdefghij0123456789abcdef"})])
    assert "ghp_" not in (tmp_path / "r.jsonl").read_text()


def test_what_has_become_different_is_shown(ws, tmp_path):
    (ws / "a.txt").write_text("x\n")
    recording = record(
        ws, tmp_path / "r.jsonl", [("read", {"path": "a.txt"}), ("write", {"path": "n", "content": "1"})]
    )
    first, second = recording.calls
    changed = msgspec.structs.replace(
        recording,
        calls=[
            msgspec.structs.replace(first, text="1\ty"),
            msgspec.structs.replace(first, status="error", code="NotFound"),
            msgspec.structs.replace(second, changed={"n": "file other", "m": ""}),
        ],
    )
    found = list(replay(changed, str(ws), SETTINGS))
    assert [(one.outcome, one.why) for one in found] == [
        ("differs", "@@ -1,1 +1,1 @@\n-1\ty\n+1\tx"),
        ("differs", "it was NotFound, now it is success"),
        ("differs", "m: it is not changed now\nn: it has another content now"),
    ]


def test_a_refusal_of_the_user_is_repeated(ws, tmp_path):
    calls = [("write", {"path": "a.txt", "content": "x"})]
    asking = {"policy": preset("ask")}
    refused = record(ws, tmp_path / "no.jsonl", calls, approve=lambda _: False, **asking)
    assert refused.calls[0].code == "PermissionDenied"
    settings = msgspec.structs.replace(SETTINGS, policy="ask")
    assert [one.outcome for one in replay(refused, str(ws), settings)] == ["same"]
    agreed = record(ws, tmp_path / "yes.jsonl", calls, approve=lambda _: True, **asking)
    (ws / "a.txt").unlink()
    assert [one.outcome for one in replay(agreed, str(ws), settings)] == ["same"]


def read_lines(file: Path, change=lambda lines: lines) -> Recording:
    return read_recording(change(file.read_bytes().splitlines(keepends=True)))


def test_a_recording_answers_what_was_asked_in_it_and_as_often(ws, tmp_path):
    """Questions that the session did not have, and a second asking of one that was agreed to once, are refused."""
    calls = [("write", {"path": "a.txt", "content": "x"}), ("write", {"path": "b.txt", "content": "x"})]
    file, asking = tmp_path / "r.jsonl", msgspec.structs.replace(SETTINGS, policy="ask")
    recording = record(ws, file, calls[:1], approve=lambda _: True, policy=preset("ask"))
    unasked = record(ws, file, calls)
    assert [one.question.split("\n")[0] for one in recording.answers] == ["write: needs approval"]
    (ws / "a.txt").unlink()
    (ws / "b.txt").unlink()
    found = list(replay(unasked, str(ws), asking))
    assert [one.outcome for one in found] == ["same", "differs", "differs"]
    assert "PermissionDenied" in found[1].why
    assert "PermissionDenied" in found[2].why


def test_an_answer_for_the_session_and_a_changed_call_are_repeated(ws, tmp_path):
    write = "write", {"path": "a.txt", "content": "x"}
    answers = iter([ChangedCall({"path": "c.txt", "content": "y"}), "session"])
    recording = record(ws, tmp_path / "r.jsonl", [write] * 3, approve=lambda _: next(answers), policy=preset("ask"))
    assert [one.changed.keys() for one in recording.calls] == [{"c.txt"}, {"a.txt"}, set()]
    (ws / "a.txt").unlink()
    (ws / "c.txt").unlink()
    asking = msgspec.structs.replace(SETTINGS, policy="ask")
    assert [one.outcome for one in replay(recording, str(ws), asking)] == ["same"] * 3


CHANGES = {
    "as it was": (lambda lines: lines, True),
    "another argument": (lambda lines: [one.replace(b"a.txt", b"z.txt") for one in lines], False),
    "a row left out": (lambda lines: [lines[0], *lines[2:]], False),
    "two rows exchanged": (lambda lines: [lines[0], lines[2], lines[1]], False),
    "an answer twice": (lambda lines: [*lines[:2], lines[1], lines[2]], False),
    "no signature": (lambda lines: [re.sub(b',"signature":"\\w+"', b"", one) for one in lines], False),
    "an empty signature": (
        lambda lines: [re.sub(b'"signature":"\\w+"', b'"signature":""', one) for one in lines],
        False,
    ),
}


@pytest.mark.parametrize(("change", "counts"), CHANGES.values(), ids=CHANGES)
def test_the_answers_of_a_recording_that_was_changed_do_not_count(ws, tmp_path, change, counts):
    file = tmp_path / "r.jsonl"
    record(ws, file, [("write", {"path": "a.txt", "content": "x"})], approve=lambda _: True, policy=preset("ask"))
    (ws / "a.txt").unlink()
    recording = read_lines(file, change)
    found = list(replay(recording, str(ws), msgspec.structs.replace(SETTINGS, policy="ask")))
    assert (recording.signed, found[0].outcome) == (counts, "same" if counts else "differs")


def test_the_answers_of_somebody_else_do_not_count(ws, tmp_path, monkeypatch):
    file = tmp_path / "r.jsonl"
    record(ws, file, [("write", {"path": "a.txt", "content": "x"})])
    assert read_lines(file).signed
    for place in ("other", "none"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / place))
        if place == "other":
            record(ws, tmp_path / "own.jsonl", [])
        assert not read_lines(file).signed


def test_the_key_is_for_the_user_alone(ws, tmp_path):
    record(ws, tmp_path / "r.jsonl", [])
    (key,) = Path(user_folders.state_dir()).glob("recordings*")
    assert (key.stat().st_mode & 0o077, len(key.read_bytes())) == (0, 32)


def test_mode_and_policy_are_those_of_the_settings(ws, tmp_path):
    recording = record(ws, tmp_path / "r.jsonl", [("write", {"path": "a.txt", "content": "x"})])
    (ws / "a.txt").unlink()
    for own in ({"mode": "thinking"}, {"policy": "read-only"}):
        (one,) = replay(recording, str(ws), msgspec.structs.replace(SETTINGS, **own))
        assert "PermissionDenied" in one.why


def test_another_dialect_makes_the_same_calls_in_its_own_words(repository, tmp_path):
    calls = [
        ("read", {"path": "a.py"}),
        ("edit", {"path": "a.py", "old": "a", "new": "b"}),
        ("git", {"action": "log"}),
        ("bash", {"command": "cat a.py > c.py"}),
    ]
    recording = record(repository, tmp_path / "r.jsonl", calls)
    wanted = [("Read", "same"), ("Edit", "same"), ("git", "absent"), ("Bash", "same")]
    assert outcomes(recording, repository, "claude-code") == wanted
    assert outcomes(recording, repository, "codex")[0] == ("view_image", "absent")


def test_calls_of_several_processes_go_to_one_file_and_a_cut_line_is_left_out(ws, tmp_path):
    file = tmp_path / "r.jsonl"
    record(ws, file, [("ls", {})])
    recording = record(ws, file, [("ls", {})])
    assert [one.name for one in recording.calls] == ["ls", "ls"]
    cut = file.read_bytes()[:-5].splitlines(keepends=True)
    assert len(read_recording(cut).calls) == 1


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "no recording"),
        ([b"{}\n"], "Line 1 of the recording cannot be read"),
        ([b'{"type":"start","toolroll":"1","dialect":"native","mode":"code","version":9}\n'], "version 9"),
        ([b'{"type":"call","name":"ls","arguments":{},"status":"success","text":""}\n'], "no recording"),
    ],
)
def test_what_is_no_recording_is_named(lines, said):
    with pytest.raises(ToolError, match=said):
        read_recording(lines)


@pytest.mark.parametrize("commit", ["f" * 40, "--upload-pack=x", "HEAD"])
def test_a_start_that_is_not_here_is_named(repository, tmp_path, commit):
    recording = record(repository, tmp_path / "r.jsonl", [])
    start = msgspec.structs.replace(recording.start, commit=commit)
    with pytest.raises(ToolError, match="no commit"):
        list(replay(msgspec.structs.replace(recording, start=start), str(repository), SETTINGS))


def test_a_recording_is_not_kept_in_its_workspace(ws, tmp_path):
    with pytest.raises(ValueError, match="Put it elsewhere"):
        record(ws, ws / "r.jsonl", [])
