"""An answer from another connection to a call that waits for it: from sending it to the end of the wait.

Each sample is of 50 answers over the control socket, or over HTTP as the console's page gives them, the middle one or
the worst. It must be at most 50 ms. The floor is a line over a socket pair to a thread that wakes another one.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median

from bench.cases import Settings
from bench.measure import Contestant, Race, Sample
from toolroll import Effect, Kit
from toolroll.control.client import ControlClient, find_processes
from toolroll.control.server import ControlServer
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.console_record import find_console

ANSWERS = 50
REQUEST = ApprovalRequest("bash", Effect.SHELL, {"command": "make"}, "needs approval", runs=("make",))


def races(settings: Settings) -> Iterator[Race]:
    os.environ["XDG_STATE_HOME"] = str(settings.state)
    workspace = settings.scratch / "ws"
    workspace.mkdir()
    with Kit(workspace) as kit, ControlServer(kit, "mcp") as server:
        while not find_processes(kit.workspace):
            time.sleep(0.01)
        with ControlClient(server.hands.id) as client, _console(server.hands.id) as page:
            for way, send in (("to a waiting call", client.request), ("by the console's page", page)):
                take = partial(_ask, server, client, send)
                for name, choose in (("median of 50", median), ("worst of 50", max)):
                    ours = Contestant("toolroll", "ours", partial(_sample, take, choose))
                    floor = Contestant("socket pair", "floor", partial(_sample, _wake, choose))
                    yield Race(f"answer {way}, {name}", [ours, floor], most_rounds=9)


@contextmanager
def _console(process: str) -> Iterator[Callable[..., object]]:
    """A console in a process of its own; what sends a request to this process as its page does."""
    words = [sys.executable, "-m", "toolroll", "console", "--no-open"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as console:
        while (record := find_console()) is None:
            time.sleep(0.01)
        connection = http.client.HTTPConnection("127.0.0.1", record.port, timeout=10)
        headers = {"Authorization": f"Bearer {record.token}", "Content-Type": "application/json"}

        def post(method: str, **params: object) -> object:
            body = json.dumps({"to": process, "method": method, "params": params})
            connection.request("POST", "/api/request", body, headers)
            return json.loads(connection.getresponse().read())["result"]

        try:
            yield post
        finally:
            connection.close()
            console.terminate()


def _sample(take: Callable[[], float], choose: Callable[[list[float]], float]) -> Sample:
    before = time.process_time()
    taken = [take() for _ in range(ANSWERS)]
    return Sample((time.process_time() - before) / ANSWERS, choose(taken))


def _ask(server: ControlServer, client: ControlClient, send: Callable[..., object]) -> float:
    """Seconds from sending the answer to the end of the wait."""
    ready, ended = threading.Event(), []

    def cannot(_withdrawn: CancelToken) -> Answer:
        raise CannotAskError("the client cannot ask")

    def wait() -> None:
        server.approvals.ask(REQUEST, CancelToken(), asker=cannot, notice=lambda _id: ready.set())
        ended.append(time.perf_counter())

    asking = threading.Thread(target=wait)
    asking.start()
    ready.wait()
    [shown] = client.request("approvals")["waiting"]
    sent = time.perf_counter()
    send("answer", id=shown["id"], digest=shown["digest"], answer="once")
    asking.join()
    return ended[0] - sent


def _wake() -> float:
    ours, theirs = socket.socketpair()
    woken, ended = threading.Event(), []

    def read() -> None:
        theirs.recv(100)
        woken.set()

    def wait() -> None:
        woken.wait()
        ended.append(time.perf_counter())

    threads = [threading.Thread(target=one) for one in (read, wait)]
    with ours, theirs:
        for one in threads:
            one.start()
        sent = time.perf_counter()
        ours.sendall(b"once\n")
        for one in threads:
            one.join()
    return ended[0] - sent
