"""Start a daemon, and ask those that run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing

from toolroll.host.daemon import client
from toolroll.host.runtime import user_sockets
from toolroll.host.runtime.launcher import DEVNULL, PIPE, STDOUT, start_process
from toolroll.host.runtime.process_marks import TAG

READY = "ready"
"""The first word that a daemon prints when it listens."""
_ANSWER_TIMEOUT_S = 10.0


class DaemonError(Exception):
    """A daemon that does not start or answer; the message says why."""


def start_daemon(options: Sequence[str]) -> None:
    """Start `toolroll up` with these options in a process that outlives this one; return when it listens.

    If another one is started at the same time, one of them ends. DaemonError if none listens.
    """
    check_caller()
    command = [sys.executable, "-P", "-m", "toolroll", "up", "--foreground", *options]
    process = start_process(command, os.getcwd(), os.environ, (DEVNULL, PIPE, STDOUT))
    assert process.stdout is not None
    with process.stdout as said:
        first = said.readline().decode(errors="replace")
        if not first.startswith(READY):
            rest = (first + said.read().decode(errors="replace")).strip()
            process.wait()
            raise DaemonError(rest.removeprefix("toolroll: ") or "The daemon ended at its start.")
    process.returncode = 0  # it goes on without us


def check_caller() -> None:
    """DaemonError for a process of a command of a tool: it would end with that."""
    if TAG in os.environ:
        raise DaemonError("A command of a tool cannot start a daemon.")


def ask(name: str, kind: str) -> str:
    """What the daemon of this socket answers; DaemonError if none does."""
    connection = user_sockets.connect(name, _ANSWER_TIMEOUT_S)
    with closing(connection):
        client.send(connection, kind)
        answer = b""
        while more := connection.recv(65536):
            answer += more
    if not answer.startswith(client.TAKEN):
        raise DaemonError(answer.removeprefix(client.REFUSED).decode(errors="replace") or "The daemon did not answer.")
    return answer.removeprefix(client.TAKEN).decode()


def describe_daemons(workspace: str) -> Iterator[tuple[str, str]]:
    """The socket and the status of each daemon of a workspace, of any version."""
    wanted = client.resolve(workspace)
    for name in user_sockets.sockets():
        if name.startswith(client.PREFIX):
            try:
                about = ask(name, "status")
            except (OSError, DaemonError):
                continue
            folder, _, status = about.partition("\0")
            if folder == wanted:
                yield name, status
