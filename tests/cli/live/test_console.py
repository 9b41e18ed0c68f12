"""`toolroll console` as a process: one for each user, its token in no place where others can read it."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.processes import ConsoleClient
from tests.waiting import gone, until
from toolroll.cli import main
from toolroll.cli.mcp import _start_console

BROWSER = """#!/bin/sh
for word; do echo "$word" >> "$0.opened"; done
"""


class Terminal:
    """Runs commands of one user: those that end in this process, the others as processes of their own."""

    def __init__(self, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.run_folder = home / "state" / "toolroll" / "run"
        self.opened = home / "browser.opened"
        self._capfd = capfd
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._started.append(subprocess.Popen([sys.executable, "-m", "toolroll", *words], text=True, **pipes))
        return self._started[-1]

    def run(self, *words: str) -> tuple[int, str]:
        self._capfd.readouterr()
        status = main(["console", *words])
        return status, "".join(self._capfd.readouterr())

    def find_console(self) -> tuple[int, ConsoleClient]:
        """The process of the console that has been started, and a client of it."""
        assert until((self.run_folder / "console.json").exists)
        record = json.loads((self.run_folder / "console.json").read_text())
        return record["pid"], ConsoleClient(record["port"], record["token"])

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    browser = tmp_path / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Terminal(tmp_path, capfd)
    yield made
    made.end()


def test_a_server_starts_the_console_and_its_token_is_in_private_files_alone(terminal, ws, capfd):
    server = terminal.start("mcp", "--console", "-C", str(ws))
    pid, console = terminal.find_console()
    assert until(terminal.opened.exists)
    page = terminal.run_folder / "console.html"
    opened = terminal.opened.read_text()
    assert opened == f"file://{page}\n"
    assert f"{console.port}/#token={console.token}" in page.read_text()
    for file in (page, terminal.run_folder / "console.json"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(terminal.run_folder.stat().st_mode) == 0o700
    seen = [Path(f"/proc/{one}/{name}").read_bytes() for one in (pid, server.pid) for name in ("cmdline", "environ")]
    terminal.opened.unlink()
    again = terminal.run()  # opens the page of the console that runs
    assert (again[0], f"runs already (process {pid})" in again[1], until(terminal.opened.exists)) == (0, True, True)
    shown = terminal.run("--no-open")  # not on a terminal: the file is named, not the link
    assert (shown[0], str(page) in shown[1]) == (0, True)
    other = terminal.run("--port", str(console.port % 65535 + 1))
    assert (other[0], f"runs on port {console.port} already" in other[1]) == (2, True)
    _start_console()
    assert f"The console is at http://127.0.0.1:{console.port}/" in capfd.readouterr().err
    said = server.communicate()  # the console is no part of the server, and stays
    with console.events() as events:
        assert next(events)["event"] == "processes"
        assert terminal.run("--stop") == (0, "The console has ended.\n")  # although a page is open
        assert next((one for one in events if one["event"] not in ("processes", "beat")), None) is None
    assert gone(pid)
    assert [name for name in os.listdir(terminal.run_folder) if name.startswith("console")] == ["console.lock"]
    assert console.token not in f"{seen}{again}{shown}{other}{said}{opened}"
    assert terminal.run("--stop") == (0, "No console runs.\n")


def test_a_console_that_was_killed_is_replaced_and_its_token_is_worth_nothing(terminal):
    process = terminal.start("console", "--no-open")
    _, old = terminal.find_console()
    process.kill()
    process.wait()
    assert terminal.run("--stop") == (0, "No console runs.\n")
    process = terminal.start("console", "--no-open", "--port", str(old.port))
    assert process.stdout is not None
    assert f"Console: http://127.0.0.1:{old.port}/ " in process.stdout.readline()
    pid, console = terminal.find_console()
    assert (pid, console.token != old.token) == (process.pid, True)
    answer = old.ask("GET", "/api/processes")
    assert (answer.status, answer.body) == (401, b"The token is not the right one.\n")
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0


def test_a_port_that_is_taken_is_reported(terminal):
    with socket.create_server(("127.0.0.1", 0)) as other:
        status, said = terminal.run("--no-open", "--port", str(other.getsockname()[1]))
    assert (status, "cannot be used: Address already in use. Choose another one" in said) == (2, True)
    assert os.listdir(terminal.run_folder) == ["console.lock"]
    assert terminal.run("--port", "70000")[0] == 2


def test_a_run_folder_that_others_may_enter_is_reported(terminal, capfd):
    terminal.run_folder.mkdir(parents=True)
    terminal.run_folder.chmod(0o755)
    status, said = terminal.run("--no-open")
    assert (status, "must be yours alone" in said) == (1, True)
    _start_console()  # a server goes on without it
    assert "The console cannot be started: The folder" in capfd.readouterr().err
