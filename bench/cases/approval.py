"""An answer from another connection to a call that waits for it: from sending it to the end of the wait.

Each sample is of 50 answers over the control socket, the middle one or the worst. It must be at most 50 ms. The floor
is a line over a socket pair to a thread that wakes another one.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median

from bench.cases import Settings
from bench.measure import Contestant, Race, Sample
from toolroll import Effect, Kit
from toolroll.control.client import ControlClient, find_processes
from toolroll.control.server import ControlServer
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.host.runtime.cancellation import CancelToken

ANSWERS = 50
REQUEST = ApprovalRequest("bash", Effect.SHELL, {"command": "make"}, "needs approval", runs=("make",))


def races(settings: Settings) -> Iterator[Race]:
    os.environ["XDG_STATE_HOME"] = str(settings.state)
    workspace = settings.scratch / "ws"
    workspace.mkdir()
    with Kit(workspace) as kit, ControlServer(kit, "mcp") as server:
        while not find_processes(kit.workspace):
            time.sleep(0.01)
        with ControlClient(server.hands.id) as client:
            for name, choose in (("median of 50", median), ("worst of 50", max)):
                ours = Contestant(
                    "toolroll", "ours", lambda choose=choose: _sample(lambda: _ask(server, client), choose)
                )
                floor = Contestant("socket pair", "floor", lambda choose=choose: _sample(_wake, choose))
                yield Race(f"answer to a waiting call, {name}", [ours, floor], most_rounds=9)


def _sample(take: Callable[[], float], choose: Callable[[list[float]], float]) -> Sample:
    before = time.process_time()
    taken = [take() for _ in range(ANSWERS)]
    return Sample((time.process_time() - before) / ANSWERS, choose(taken))


def _ask(server: ControlServer, client: ControlClient) -> float:
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
    client.request("answer", id=shown["id"], digest=shown["digest"], answer="once")
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
