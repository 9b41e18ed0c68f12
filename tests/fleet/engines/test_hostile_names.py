"""Hosts, containers, pods and task files with hostile names: none becomes an option, another word, or a command."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from toolroll.cli import main
from toolroll.fleet.engines import open_engine
from toolroll.fleet.engines.pipes import COMMANDS, _find_client
from toolroll.host.fleet.frozen import FrozenCopy, find_problems
from toolroll.result import ToolError

PARTS = [
    "-", "--", "-v", "-i", "-oProxyCommand=touch ran", "-oPermitLocalCommand=yes", "-F/dev/null", "-H", "--privileged", "--help",
    "--kubeconfig=x", "-n", "--context", "-A", "a", "box", "10.0.0.1", "::1", "[::1]", "a.example", "user@", "@", ":", ":22", "/",
    "//", "ssh://", " ", "\n", "\t", "\0", "\r", "$(touch ran)", "`touch ran`", ";touch ran", "|touch ran", "&", "'", '"', "\\", "%h",
    "%r", "*", "?", "~", "{a,b}", "=", "#", "!", "\u2014v", "\uff0dv", "\u202e", "\ud800", "x" * 300, "..", "../x", "_", "0",
]  # fmt: skip
SAFE = [
    ("ssh", "host"),
    ("ssh", "me@host.example"),
    ("ssh", "host:2222"),
    ("ssh", "ssh://me@host:22"),
    ("ssh", "fe80::1%eth0"),
]
SAFE += [("ssh", "[::1]"), ("docker", "box_1"), ("docker", "3f2a"), ("kubectl", "pod-1"), ("kubectl", "space/pod-1.x")]


def names(seed: int, count: int) -> list[str]:
    choose = random.Random(seed)
    made = ("".join(choose.choices(PARTS, k=choose.choice((1, 1, 2, 2, 3, 4)))) for _ in range(count))
    return list(dict.fromkeys([*PARTS, *made]))


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_name_stays_one_word_that_is_no_option(kind: str) -> None:
    shape = [len(COMMANDS[kind](name)) for name in ("a", "a/b")]
    taken = 0
    for name in names(1, 3000):
        try:
            words = _find_client(kind, name, name)
        except ValueError as error:
            assert "does not name a node" in str(error)
            continue
        taken += 1
        assert len(words) in shape
        own = [word for word in words if word not in COMMANDS[kind]("q/q") and word not in COMMANDS[kind]("q")]
        assert "/".join(own) == name
        assert not any(one.startswith("-") for part in own for one in (part, part.rpartition("@")[2])), words
        assert not set(name) & set(" \t\r\n\0$`;|&'\"\\*?~{}=#!<>()"), words
    assert taken > 50


@pytest.mark.parametrize(("kind", "name"), SAFE)
def test_ordinary_names_are_taken(kind: str, name: str) -> None:
    assert any(name.endswith(word) for word in _find_client(kind, name, name))


@pytest.mark.skipif(not shutil.which("ssh"), reason="there is no ssh here")
def test_the_client_of_ssh_reads_no_option_out_of_a_name(tmp_path: Path) -> None:
    """By what `ssh -G` says that it would do; it connects to nothing."""

    def settings(words: list[str]) -> set[str]:
        done = subprocess.run(
            [words[0], "-G", "-F", "/dev/null", *words[1:]], check=False, capture_output=True, text=True, cwd=tmp_path
        )
        own = ("host ", "hostname ", "user ", "port ", "originalhost ", "userknownhostsfile")
        return {line for line in done.stdout.split("\n") if not line.startswith(own)}

    plain = settings(COMMANDS["ssh"]("host"))
    assert plain != settings([*COMMANDS["ssh"]("host")[:1], "-oProxyCommand=touch ran", *COMMANDS["ssh"]("host")[1:]])
    taken = []
    for name in names(2, 300):
        try:
            taken.append(_find_client("ssh", name, name))
        except ValueError:
            continue
    assert len(taken) > 10
    for words in taken[:8]:
        assert settings(words) in (plain, {""}), words  # nothing where ssh takes it for no host
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", COMMANDS)
def test_no_client_is_started_for_a_hostile_name(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / kind).write_text(f"#!/bin/sh\n: > {tmp_path}/ran\n")
    (tmp_path / kind).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "tasks.jsonl").write_text('{"check": "true"}\n')
    for name in ("-v", "a b", "a;touch ran", "$(touch ran)", "space/-v", "me@-oProxyCommand=x"):
        with pytest.raises(ValueError, match="does not name a node"):
            open_engine(f"{kind}:{name}")
        assert main(["mcp", "--at", f"{kind}:{name}", "-C", "/srv"]) == 2
        assert main(["fleet", "run", str(tmp_path / "tasks.jsonl"), "--engine", f"{kind}:{name}"]) == 2
        assert "does not name a node" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


COMMITS = [
    "--output=ran",
    "--orphan=@{x",
    "-b@{x",
    "--upload-pack=touch ran",
    "-c core.pager=touch ran",
    "HEAD\n--output=ran",
]
COMMITS += ["--conflict=@{-1}", "HEAD\0x", "@{-1}", "$(touch ran)", "--", "-"]


@pytest.mark.parametrize("commit", COMMITS)
def test_a_commit_of_a_task_file_is_no_option(ws: Path, commit: str) -> None:
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=b@c", "commit", "-q", "--allow-empty", "-m", "m"],
    ):
        subprocess.run(["git", *words], cwd=ws, check=True)
    assert commit == "@{-1}" or find_problems(str(ws), [commit]) == {commit: f"{str(ws)!r} has no commit {commit!r}."}
    with pytest.raises(ToolError, match="has no commit"):
        FrozenCopy(str(ws), commit, 10**9)
    assert [one.name for one in ws.iterdir()] == [".git"]


def test_a_task_file_with_hostile_values_runs_none_of_them(tmp_path: Path, ws: Path) -> None:
    (ws / "a").write_text("a\n")
    rows = [
        {"id": "\x1b[2J$(touch ran)", "base": "--help", "check": "true"},
        {"id": "../../x", "base": "-C", "commit": "-v", "check": "true"},
        {"id": "c", "base": f"{ws}\n--x", "check": "true"},
        {"id": "d", "commit": "--output=ran", "check": "true"},
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert main(["fleet", "run", str(tmp_path / "tasks.jsonl"), "-C", str(ws)]) == 1
    results = [json.loads(line) for line in (tmp_path / "tasks.results.jsonl").read_text().splitlines()]
    assert {one["id"] for one in results if one["status"] != "passed"} == {row["id"] for row in rows}
    assert not list(tmp_path.rglob("ran"))
