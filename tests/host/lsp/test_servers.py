import dataclasses
import sys
from pathlib import Path

import pytest

from toolroll.host.lsp.servers import ALIASES, SERVERS, find_program, language_id, language_of


def test_every_server_is_complete():
    assert [one.program for one in SERVERS if not (one.about and one.install and one.files)] == []
    assert len({one.program for one in SERVERS}) == len(SERVERS)
    assert set(ALIASES.values()) <= {one.language for one in SERVERS}
    by_language = {one.language: one.files for one in SERVERS}
    assert all(one.files == by_language[one.language] for one in SERVERS)


@pytest.mark.parametrize(
    ("path", "language", "known_as"),
    [
        ("a/b.py", "python", "python"),
        ("x.PY", "python", "python"),
        ("x.tsx", "typescript", "typescriptreact"),
        ("x.test.js", "typescript", "javascript"),
        ("x.h", "c", "c"),
        ("x.hpp", "c", "cpp"),
        ("x.md", None, ""),
        ("dir.py/Makefile", None, ""),
        (".py", None, ""),
    ],
)
def test_the_language_of_a_file(path, language, known_as):
    assert language_of(path) == language
    if language:
        assert language_id(next(one for one in SERVERS if one.language == language), path) == known_as


def test_where_a_program_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = {}
    for place in ("path", "ws/node_modules/.bin"):
        (tmp_path / place).mkdir(parents=True)
        made[place] = tmp_path / place / "some-server"
        made[place].write_text("#!/bin/sh\n")
        made[place].chmod(0o755)
    server = dataclasses.replace(SERVERS[0], program="some-server", local="node_modules/.bin")
    workspace = str(tmp_path / "ws")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert find_program(server, workspace) == str(made["path"])
    made["path"].unlink()
    assert find_program(server, workspace) == str(made["ws/node_modules/.bin"])
    assert find_program(dataclasses.replace(server, local=""), workspace) is None
    python = dataclasses.replace(server, program=Path(sys.executable).name)
    assert find_program(python, workspace) == sys.executable  # beside this Python, on no PATH
