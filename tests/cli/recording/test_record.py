"""Commands that record and replay."""

import json

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg-state"))
    monkeypatch.setenv("TOOLROLL_RECORD", "")


def test_a_call_is_recorded_and_replayed(quick, ws, tmp_path):
    (ws / "a.txt").write_text("x\n")
    file = str(tmp_path / "r.jsonl")
    other = tmp_path / "other.jsonl"
    plain = quick("call", "read", "path=a.txt")
    assert quick("record", file, "--", "call", "read", "path=a.txt") == plain
    assert quick("replay", file) == (0, "   1  read  same\n1 call: 1 same\n", "")
    other.write_text((tmp_path / "r.jsonl").read_text().replace("\\tx", "\\ty"))
    status, shown, said = quick("replay", str(other), "--json")
    assert (status, [one["outcome"] for one in json.loads(shown)]) == (1, ["differs"])
    assert said.endswith("other.jsonl' is not signed by you. Its questions stay without an answer.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["record"], "Which command is recorded?"),
        (["record", "x", "--", "doctor"], "Which command is recorded?"),
        (["record", "a.txt", "--", "call", "ls"], "'a.txt' exists."),
        (["record", "b.txt", "--", "call", "ls"], "Put it elsewhere."),
        (["replay"], "Which recording?"),
        (["replay", "a.txt"], "This is no recording"),
    ],
)
def test_what_is_wrong_is_said(quick, ws, words, said):
    (ws / "a.txt").write_text("")
    status, _, errors = quick(*words)
    assert (status, said in errors) == (2, True)
