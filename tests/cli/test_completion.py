"""The shell completes commands, options, tools, parameters and values."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll import dialects
from toolroll.cli import COMMANDS

Run = Callable[..., tuple[int, str, str]]

CANDIDATES = [
    ([""], [*COMMANDS, "--version", "--help"]),
    (["to"], ["tools"]),
    (["completion", ""], ["bash", "zsh", "fish"]),
    (["tools", "--dialect", ""], dialects.names()),
    (["tools", "--f"], ["--format"]),
    (["tools", "-C", ""], []),
    (["call", "gr"], ["grep"]),
    (["call", "-d", "cdd", "gl"], ["glob"]),
    (["call", "read", ""], ["path=", "offset=", "limit=", "encoding="]),
    (["call", "read", "path=a", "li"], ["limit="]),
    (["call", "grep", "output="], ["output=content", "output=files", "output=count"]),
    (["call", "grep", "literal=t"], ["literal=true"]),
    (["call", "grep", "pattern="], []),
    (["call", "nothing", ""], []),
    (["call", "-C", "nowhere", ""], []),
    (["nothing", ""], []),
    ([], [*COMMANDS, "--version", "--help"]),
]


@pytest.mark.parametrize(("words", "candidates"), CANDIDATES)
def test_candidates(quick: Run, words: list[str], candidates: list[str]) -> None:
    status, out, err = quick("__complete", *words)
    assert (status, err) == (0, "")
    assert [line.partition("\t")[0] for line in out.splitlines()] == candidates


BASH = [
    ("toolroll ", " ".join([*COMMANDS, "--version", "--help"])),
    ("toolroll call repl", "replace_lines"),
    ("toolroll call grep output=c", "content count"),
    ("toolroll tools --dialect ", " ".join(dialects.names())),
]


@pytest.mark.parametrize(("line", "reply"), BASH)
def test_bash_completes(env: dict[str, str], ws: Path, tmp_path: Path, line: str, reply: str) -> None:
    program = tmp_path / "bin" / "toolroll"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolroll "$@"\n')
    program.chmod(0o755)
    script = f"""
        source <(toolroll completion bash)
        COMP_LINE='{line}' COMP_POINT={len(line)}
        _toolroll toolroll 2>/dev/null
        echo "${{COMPREPLY[*]}}"
    """
    path = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ws,
        env=env | path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (f"{reply}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(quick: Run, shell: str) -> None:
    status, out, err = quick("completion", shell)
    assert (status, err) == (0, "")
    assert "__complete" in out
