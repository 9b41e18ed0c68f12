"""`toolroll config`: effective values, their origins, and suggestions of the workspace."""

import json

import pytest

from tests.terminals import at_terminal
from toolroll.cli import main

SUGGESTED = 'dialect = "pigo"\nlimits = {call_seconds = 1200}\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The user's configuration folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "toolroll"
    folder.mkdir(parents=True)
    return folder


def listed(quick, *words):
    status, out, _ = quick("config", "--json", *words)
    assert status == 0
    return {row["key"]: (row["value"], row["from"]) for row in json.loads(out)["settings"]}


def test_every_value_is_shown_with_its_origin(quick, folder, monkeypatch):
    (folder / "toolroll.toml").write_text(
        'policy = "ask"\n[environment]\nset = {CI = "1", API_KEY = "abc"}\n[mcp.docs]\ncommand = "d"'
    )
    monkeypatch.setenv("TOOLROLL_NETWORK", "1")
    rows = listed(quick, "--mode", "thinking", "--dialect", "koopa")
    file = str(folder / "toolroll.toml")
    assert rows["policy"] == ("ask", file)
    assert rows["environment.set"] == ({"CI": "1", "API_KEY": "(hidden)"}, file)
    assert rows["mcp"] == (["docs"], file)
    assert (rows["network"], rows["mode"]) == ((True, "TOOLROLL_NETWORK"), ("thinking", "--mode"))
    assert (rows["wide"], rows["limits.concurrency"]) == ((False, "default"), (16, "default"))
    assert rows["limits.read_bytes"][1] == "dialect koopa"


def test_a_wrong_file_is_one_sentence_for_every_command(quick, folder):
    (folder / "toolroll.toml").write_text('dialekt = "pigo"')
    for words in (["config"], ["tools"], ["call", "time"], ["mcp"]):
        status, _, complaint = quick(*words)
        assert (status, complaint.count("\n")) == (2, 1)
        assert complaint.endswith("there is no key 'dialekt'. Did you mean 'dialect'?\n")
    status, out, _ = quick("doctor")
    assert "there is no key 'dialekt'" in out


def test_a_suggestion_is_shown_answered_and_remembered(quick, folder, ws):
    (ws / ".toolroll").mkdir()
    (ws / ".toolroll" / "suggested.toml").write_text(SUGGESTED)
    out = quick("config")[1]
    assert out.endswith(
        'This workspace suggests:\n  dialect = "pigo"\n  limits = {"call_seconds":1200}\nTo answer: toolroll config --accept, or --decline.\n'
    )
    assert listed(quick)["dialect"] == ("native", "default")
    quick("config", "--decline")
    assert listed(quick)["dialect"] == ("native", "default")
    assert "and you answered" in quick("config")[1]
    quick("config", "--accept")
    assert listed(quick)["dialect"] == ("pigo", f"suggested by the workspace, accepted in {folder}/accepted.json")
    (ws / ".toolroll" / "suggested.toml").write_text('mode = "thinking"')
    assert "This workspace suggests:\n" in quick("config")[1]
    assert listed(quick)["mode"][0] == "code"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('sandbox = "none"', "a workspace cannot suggest 'sandbox'."),
        ('[environment]\npass = ["NPM_TOKEN"]', "a workspace cannot suggest 'environment.pass'."),
        ("environment = 3", "environment: Expected `object`, got `int`."),
        ("mode = 1", "mode: Expected `str`, got `int`."),
        ("mode = ", ".toolroll/suggested.toml: Invalid value (at end of document)."),
    ],
)
def test_what_must_not_be_suggested_is_refused(quick, folder, ws, text, message):
    (ws / ".toolroll").mkdir()
    (ws / ".toolroll" / "suggested.toml").write_text(text)
    status, _, complaint = quick("config")
    assert status == 2
    assert message in complaint


def test_a_person_is_asked_at_the_terminal(quick, folder, ws):
    (ws / ".toolroll").mkdir()
    (ws / ".toolroll" / "suggested.toml").write_text(SUGGESTED)
    with at_terminal([("Use these settings in this workspace? [y/N] ", "n")], early="y\n"):
        assert main(["config"]) == 0
    assert listed(quick)["dialect"][0] == "native"
    quick("config", "--decline")
    (ws / ".toolroll" / "suggested.toml").write_text(SUGGESTED.replace("1200", "1300"))
    with at_terminal([("Use these settings in this workspace? [y/N] ", "y")]):
        assert main(["config"]) == 0
    assert listed(quick)["dialect"][0] == "pigo"


def test_other_commands_point_to_a_suggestion_at_a_terminal(quick, folder, ws, monkeypatch):
    (ws / ".toolroll").mkdir()
    (ws / ".toolroll" / "suggested.toml").write_text(SUGGESTED)
    assert "suggests" not in quick("call", "time")[2]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "This workspace suggests settings. See: toolroll config" in quick("call", "time")[2]
    quick("config", "--decline")
    assert "suggests" not in quick("call", "time")[2]
