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

BROWSER = """#!/bin/sh
for word; do echo "$word" >> "$0.opened"; done
"""


class Terminal:
    """Starts commands of one user."""

    def __init__(self, home: Path) -> None:
        self.run_folder = home / "state" / "toolroll" / "run"
        self.browser = home / "browser"
        self.browser.write_text(BROWSER)
        self.browser.chmod(0o700)
        self.env = {**os.environ, "XDG_STATE_HOME": str(home / "state"), "BROWSER": f"{self.browser} %s"}
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "toolroll", *words]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.started.append(subprocess.Popen(argv, text=True, env=self.env | env, **pipes))
        return self.started[-1]

    def run(self, *words: str) -> tuple[int, str]:
        process = self.start(*words)
        said, complained = process.communicate()
        return process.returncode, said + complained

    def start_console(self, *words: str) -> tuple[subprocess.Popen[str], ConsoleClient]:
        process = self.start("console", *words)
        assert process.stdout is not None
        assert "Console: http://127.0.0.1:" in process.stdout.readline()
        record = json.loads((self.run_folder / "console.json").read_text())
        assert record["pid"] == process.pid
        return process, ConsoleClient(record["port"], record["token"])


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    for process in made.started:
        process.kill()
        process.communicate()


def test_the_token_is_in_a_private_file_alone(terminal):
    process, console = terminal.start_console()
    assert until(terminal.browser.with_suffix(".opened").exists)
    opened = terminal.browser.with_suffix(".opened").read_text()
    page = terminal.run_folder / "console.html"
    assert opened == f"file://{page}\n"
    assert f"{console.port}/#token={console.token}" in page.read_text()
    for file in (page, terminal.run_folder / "console.json"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(terminal.run_folder.stat().st_mode) == 0o700
    assert console.ask("GET", "/api/processes").json == {"processes": []}
    found = {name: Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("cmdline", "environ")}
    process.send_signal(signal.SIGTERM)
    said = "".join(process.communicate())
    assert console.token not in f"{said}{opened}{found}"
    assert process.returncode == 0
    assert os.listdir(terminal.run_folder) == ["console.lock"]


def test_a_second_console_opens_the_first(terminal):
    process, console = terminal.start_console("--no-open")
    status, said = terminal.run("console")
    assert (status, f"runs already (process {process.pid})" in said) == (0, True)
    assert until(terminal.browser.with_suffix(".opened").exists)
    status, said = terminal.run("console", "--port", str(console.port + 1 if console.port < 65535 else 1))
    assert (status, f"runs on port {console.port} already" in said) == (2, True)
    with console.events() as events:
        assert next(events)["event"] == "processes"
        assert terminal.run("console", "--stop") == (0, "The console has ended.\n")  # although a page is open
        assert list(events) == []
    assert process.wait() == 0
    assert terminal.run("console", "--stop") == (0, "No console runs.\n")


def test_a_console_that_was_killed_is_replaced_and_its_token_is_worth_nothing(terminal):
    process, old = terminal.start_console("--no-open")
    process.kill()
    process.wait()
    assert (terminal.run_folder / "console.json").exists()
    _, console = terminal.start_console("--no-open", "--port", str(old.port))
    assert (console.port, console.token != old.token) == (old.port, True)
    answer = old.ask("GET", "/api/processes")
    assert (answer.status, answer.body) == (401, b"The token is not the right one.\n")


def test_a_port_that_is_taken_is_reported(terminal):
    with socket.create_server(("127.0.0.1", 0)) as other:
        status, said = terminal.run("console", "--no-open", "--port", str(other.getsockname()[1]))
    assert (status, "cannot be used: Address already in use. Choose another one" in said) == (2, True)
    assert os.listdir(terminal.run_folder) == ["console.lock"]
    assert terminal.run("console", "--port", "70000")[0] == 2


def test_a_run_folder_that_others_may_enter_is_reported(terminal):
    terminal.run_folder.mkdir(parents=True)
    terminal.run_folder.chmod(0o755)
    status, said = terminal.run("console", "--no-open")
    assert (status, "must be yours alone" in said) == (1, True)


def test_a_server_starts_the_console_beside_it(terminal, ws):
    """It is no child of the server, and ends by itself some time after it."""
    server = terminal.start("mcp", "--console", "-C", str(ws))
    assert until((terminal.run_folder / "console.json").exists)
    record = json.loads((terminal.run_folder / "console.json").read_text())
    try:
        assert until(terminal.browser.with_suffix(".opened").exists)
        again = terminal.start("mcp", "--console", "-C", str(ws))
        assert again.stderr is not None
        assert f"http://127.0.0.1:{record['port']}/" in again.stderr.readline()
        for one in (server, again):
            one.communicate()
        assert ConsoleClient(record["port"], record["token"]).ask("GET", "/").status == 200
    finally:
        assert terminal.run("console", "--stop")[0] == 0
    assert gone(record["pid"])
