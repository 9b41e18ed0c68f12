"""A daemon in this process, and calls both ways: by it, and without it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolroll import __version__
from toolroll.cli import COMMANDS, main
from toolroll.cli.command import parse
from toolroll.cli.live.up import make_server
from toolroll.daemon.server import DaemonServer
from toolroll.host.daemon.client import call_daemon

Said = tuple[int | None, str, str]
"""Exit status, stdout, stderr."""


@pytest.fixture
def here(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that is the current folder, of a user without sockets."""
    monkeypatch.chdir(ws)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"):
        monkeypatch.delenv(name, raising=False)
    return ws


@pytest.fixture
def start(here: Path) -> Iterator[Callable[..., DaemonServer]]:
    """Start a daemon for these options; all are stopped in the end."""
    running: list[tuple[DaemonServer, threading.Thread]] = []

    def make(*options: str, **how: Any) -> DaemonServer:
        server = make_server(parse(COMMANDS["up"], options), **how)
        thread = threading.Thread(target=server.run)
        thread.start()
        running.append((server, thread))
        return server

    yield make
    for server, thread in reversed(running):
        server.stop()
        thread.join()


@pytest.fixture
def by_daemon(capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """`toolroll WORDS...` by the daemon; the status is None if none has taken it."""

    def run(*words: str) -> Said:
        capfd.readouterr()
        status = call_daemon(list(words), __version__)
        return status, *capfd.readouterr()

    return run


@pytest.fixture
def alone(capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """The same without a daemon."""

    def run(*words: str) -> Said:
        capfd.readouterr()
        status = main(list(words))
        return status, *capfd.readouterr()

    return run
