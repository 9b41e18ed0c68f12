"""The real command line on a fresh workspace: in a process of its own, or in this one for long tables."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll.cli import main

Answer = tuple[int, str, str]
"""Exit status, stdout, stderr."""
_UNSET = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The environment of a user without settings of their own."""
    return {
        **{name: value for name, value in os.environ.items() if name not in _UNSET},
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }


@pytest.fixture
def toolroll(ws: Path, env: dict[str, str]) -> Callable[..., Answer]:
    """Run `toolroll WORDS...` in the workspace; keywords are environment variables."""

    def run(*words: str | bytes, stdin: bytes = b"", **more: str) -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "toolroll", *words],
            cwd=ws,
            env=env | more,
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


@pytest.fixture
def quick(
    ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """The same without a new process; keywords are environment variables of this one call."""
    monkeypatch.chdir(ws)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in _UNSET:
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, stdin: bytes | None = None, **more: str) -> Answer:
        with pytest.MonkeyPatch.context() as patch:
            if stdin is not None:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            for name, value in more.items():
                patch.setenv(name, value)
            status = main(words)
        return status, *capsys.readouterr()

    return run
