"""Acts on several servers that come and go: each has its effect on the object that was shown, or on none."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from toolroll import Effect, Kit
from toolroll.control.client import ControlClient
from toolroll.control.server import ControlServer
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.host.rpc.channel import RefusedError
from toolroll.host.runtime import user_sockets
from toolroll.host.runtime.cancellation import CancelToken

ACTS, SEED = int(os.environ.get("TOOLROLL_ACTS", "300")), 43
Shown = tuple[dict[str, Any], str, dict[str, Any], str]
"""What was on the screen: the process, the act, its parameters, and what the act would change."""


def cannot(_withdrawn: CancelToken) -> Answer:
    raise CannotAskError("no")


class Agent:
    """A server in a repository of its own; `restart` ends its process and begins another one there."""

    def __init__(self, folder: Path, state: Path, pool: ThreadPoolExecutor) -> None:
        self.folder, self._state, self._pool = folder, state, pool
        folder.mkdir()
        self._open()

    def _open(self) -> None:
        self.token, self._ends = CancelToken(), ExitStack()
        self.kit = self._ends.enter_context(Kit(self.folder, state_dir=self._state))
        self.server = self._ends.enter_context(ControlServer(self.kit, "mcp", client=self.folder.name))
        until(lambda: self.server.hands.id in user_sockets.sockets())
        self.client = self._ends.enter_context(ControlClient(self.server.hands.id))
        self.this = self.client.request("hello")
        self.kit.call("bash", {"command": "cat", "background": True})

    def close(self) -> None:
        self.token.cancel()
        self._ends.close()

    def restart(self) -> None:
        self.close()
        self._open()

    def ask(self) -> None:
        request = ApprovalRequest("write", Effect.WRITE, {"path": self.folder.name}, "needs approval")
        known = self.waiting()
        if len(known) < 2:
            given = {"asker": cannot, "notice": lambda _id: None}
            self._pool.submit(self.server.approvals.ask, request, self.token, **given)
            until(lambda: self.waiting() - known)

    def look(self, choose: random.Random) -> Shown:
        """Something that the page shows of this agent, with the act that is offered for it."""
        method = choose.choice(("undo", "checkpoint", "rewind", "job_keys", "answer"))
        given: dict[str, Any]
        if method == "answer":
            self.ask()
            one = choose.choice(self.client.request("approvals")["waiting"])
            given = {"id": one["id"], "digest": one["digest"], "answer": choose.choice(("once", "no"))}
        elif method == "job_keys":
            job = self.client.request("jobs")["jobs"][0]
            given = {"id": job["id"], "digest": job["digest"], "text": "x\n"}
        else:
            self.kit.write_bytes(f"{choose.randrange(4)}.txt", b"%d" % choose.randrange(10**9))
            entries = self.client.request("journal", limit=5)
            number = choose.choice(entries["entries"])["number"]
            digest = self.client.request("journal_entry", number=number)["digest"]
            named = {"undo": {"number": number}, "rewind": {"to": number}, "checkpoint": {"name": f"at {number}"}}
            given = {**named[method], "digest": digest if method == "undo" else entries["digest"]}
        return self.this, method, given, self.folder.name

    def state(self) -> object:
        """All that acts can change."""
        files = {one.name: one.read_bytes() for one in self.folder.iterdir()}
        return files, self.kit.journal.log.size(), self.waiting()

    def waiting(self) -> set[str]:
        return {one.id for one in self.server.approvals.all()}


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Agent]]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    with ThreadPoolExecutor(16) as pool:
        made = [Agent(tmp_path / name, tmp_path / f"state-{name}", pool) for name in ("one", "two", "three")]
        yield made
        for one in made:
            one.close()


def test_no_act_has_an_effect_on_another_object(agents: list[Agent]) -> None:
    choose, screen, counts = random.Random(SEED), list[Shown](), Counter[str]()
    for turn in range(ACTS):
        if turn % 100 == 99:
            choose.choice(agents).restart()
        if turn % 4 == 0:
            screen.append(choose.choice(agents).look(choose))
        process, method, given, owner = choose.choice(screen[-6:])
        target = choose.choice(agents)  # "the newest", or whatever a faulty page takes
        before = {one.folder.name: one.state() for one in agents}
        try:
            done = target.client.act(process, method, **given)
            counts["done" if done.get("ok") or done.get("state") == "applied" else "not done"] += 1
        except RefusedError as error:
            assert "process" in str(error) or "not what was shown" in str(error) or "no entry" in str(error), error
            counts["refused"] += 1
        changed = {one.folder.name for one in agents if one.state() != before[one.folder.name]}
        assert changed <= {owner}, (turn, method, given)
        assert not changed or process["id"] == target.this["id"]
    assert counts["done"] > ACTS // 20 < counts["refused"], counts
