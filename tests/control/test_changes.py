"""Events for what changes beside calls."""

from __future__ import annotations

from contextlib import closing

from tests.waiting import until
from toolroll import Kit
from toolroll.control.changes import ChangeWatch


def test_the_journal_and_the_jobs_are_watched(kit: Kit) -> None:
    watch = ChangeWatch()
    assert watch.look(kit) == []
    kit.call("read", {"path": "none.txt"})
    assert watch.look(kit) == []
    kit.call("write", {"path": "a.txt", "content": "one"})
    [(event, data)] = watch.look(kit)
    assert (event, data["size"] > 0) == ("journal", True)
    with closing(Kit(kit.workspace, state_dir=kit.state_dir)) as other:
        other.call("write", {"path": "b.txt", "content": "by another process"})
    assert [event for event, _ in watch.look(kit)] == ["journal"]
    kit.call("bash", {"command": "read line", "background": True})
    assert ("jobs", {}) in watch.look(kit)
    assert watch.look(kit) == []
    kit.context().commands.jobs.get(1).running.write(b"x\n")
    until(lambda: ("jobs", {}) in watch.look(kit))
