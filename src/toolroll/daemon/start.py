"""Start a daemon, and ask those that run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from toolroll.control.client import ControlClient
from toolroll.host.daemon import client
from toolroll.host.daemon.log import append_to_log
from toolroll.host.rpc.channel import RefusedError
from toolroll.host.rpc.codecs import PeerGoneError
from toolroll.host.runtime import user_sockets
from toolroll.host.runtime.launcher import DEVNULL, PIPE, start_process
from toolroll.host.runtime.process_marks import TAG

READY = "ready"
"""The first word that a daemon prints when it listens."""
_ANSWER_TIMEOUT_S = 10.0
_MAX_SHOWN_BYTES = 4_000


class DaemonError(Exception):
    """A daemon that does not start; the message says why."""


def start_daemon(options: Sequence[str]) -> None:
    """Start `toolroll up` with these options in a process that outlives this one; return when it listens.

    If another one is started at the same time, one of them ends. DaemonError if none listens.
    """
    check_caller()
    command = [sys.executable, "-P", "-m", "toolroll", "up", "--foreground", *options]
    try:
        log = append_to_log()
    except OSError as error:
        raise DaemonError(f"{error.strerror}: {error.filename!r}") from None
    try:
        begin = os.fstat(log).st_size
        process = start_process(command, os.getcwd(), os.environ, (DEVNULL, PIPE, log))
        assert process.stdout is not None
        with process.stdout as printed:
            if not printed.readline().decode(errors="replace").startswith(READY):
                process.wait()
                why = os.pread(log, _MAX_SHOWN_BYTES, begin).decode(errors="replace").strip()
                raise DaemonError(why.removeprefix("toolroll: ") or "The daemon ended at its start.")
    finally:
        os.close(log)
    process.returncode = 0  # it goes on without us


def check_caller() -> None:
    """DaemonError for a process of a command of a tool: it would end with that."""
    if TAG in os.environ:
        raise DaemonError("A command of a tool cannot start a daemon.")


def stop_daemon(name: str) -> None:
    """Return when the daemon of this socket has ended. OSError if there is none."""
    with ControlClient(name, _ANSWER_TIMEOUT_S) as daemon:
        with suppress(PeerGoneError):  # it may end before it has answered
            daemon.request("stop")
        for _ in daemon.events():
            pass


def describe_daemons(workspace: str) -> Iterator[tuple[str, str]]:
    """The socket and the status of each daemon of a workspace, of any version."""
    wanted = client.resolve(workspace)
    for name in user_sockets.sockets():
        if name.startswith(client.PREFIX):
            try:
                with ControlClient(name, _ANSWER_TIMEOUT_S) as daemon:
                    folder, _, status = str(daemon.request("status")).partition("\0")
            except (OSError, RefusedError):
                continue
            if folder == wanted:
                yield name, status
