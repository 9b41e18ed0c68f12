"""What destroys, persists or sends a secret is never called harmless, however it is written, and has no effect outside."""

import os
import socket
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from tests.policy import hostile_commands
from tests.policy.hostile_commands import VALUES, fill, write_hostile_commands
from toolroll.policy.commands import PRESETS, STANDARD, judge
from toolroll.policy.rules import Policy
from toolroll.policy.shell.read_only.programs import is_echo

AMOUNTS = [(1, 600), pytest.param(2, 25_000, marks=pytest.mark.soak)]
OTHERS = sorted(PRESETS.keys() - {"standard"})


@pytest.mark.parametrize(("seed", "count"), AMOUNTS)
def test_none_is_called_harmless_and_what_a_parser_can_read_is_refused(seed, count):
    for number, one in enumerate(write_hostile_commands(seed, count)):
        decision = judge(one.text).decision
        assert decision != "allow", one
        assert judge(one.text, PRESETS[OTHERS[number % len(OTHERS)]]).decision != "allow", one
        assert decision == "deny" or one.kind != "destroys" or not one.readable, one


def test_every_row_alone():
    """With each variable, each place and each of the values that look harmless."""
    for row in hostile_commands.TURNED:
        for variable in hostile_commands.VARIABLES if "{variable}" in row else ["PATH"]:
            values = {**{name: rows[0] for name, rows in VALUES.items()}, "variable": variable}
            for text in (fill(row, values, "rm -rf ~"), row.format(**values, q=".", t=".", d='"."')):
                assert judge(text).decision != "allow", text


def test_without_rules_for_arguments_many_are_called_harmless():
    """The control: a list of names alone lets them by."""
    loose = replace(STANDARD, read=tuple(replace(row, words=is_echo, loose=True, values=True) for row in STANDARD.read))
    allowed = [one for one in write_hostile_commands(1, 600) if judge(one.text, loose).decision == "allow"]
    assert len(allowed) > 20


@pytest.mark.soak
def test_under_the_default_policy_nothing_persists_outside_or_is_sent(open_kit, ws, tmp_path, monkeypatch, confined):
    """Those that are not refused are run, with nobody to ask, beside a home with secrets and a server that listens."""
    home = tmp_path / "home"
    for name in (".bashrc", ".profile", ".ssh/id_rsa", ".ssh/authorized_keys", ".aws/credentials", ".netrc"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("SECRET=1\n")
    monkeypatch.setenv("HOME", str(home))
    for name in (".env", "a", "x", ".git/hooks/pre-commit.sample", ".git/config"):
        (ws / name).parent.mkdir(parents=True, exist_ok=True)
        (ws / name).write_text("# SECRET=1\n")
    came: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=_note_connections, args=(server, came), daemon=True).start()
        monkeypatch.setattr(hostile_commands, "HOSTS", here := [f"127.0.0.1:{server.getsockname()[1]}"])
        monkeypatch.setitem(VALUES, "host", here)
        monkeypatch.setitem(VALUES, "start", [one for one in VALUES["start"] if not one.startswith("/")])
        before = _read_all(home)
        kit = open_kit(policy=Policy(sandbox=confined))
        ran = 0
        for one in write_hostile_commands(3, 1200):
            if one.kind == "destroys" or "/etc" in one.text:
                continue
            result = kit.call("bash", {"command": one.text, "timeout": 3})
            ran += "seconds" in result.meta and result.error is None
            assert (_read_all(home), came) == (before, []), one
            assert not (ws / ".git/hooks/pre-commit").exists(), one
        assert ran > 100
        with socket.create_connection(server.getsockname()):
            pass
    assert _read_all(home) == before


def _note_connections(server: socket.socket, came: list[object]) -> None:
    while True:
        try:
            connection, address = server.accept()
        except OSError:
            return
        came.append(address)
        connection.close()


def _read_all(folder: Path) -> dict[str, bytes]:
    paths = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    return {str(path): path.read_bytes() for path in paths}
