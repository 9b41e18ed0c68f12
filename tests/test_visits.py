"""How many files of the source one call visits: what a reader must open to follow it."""

import os
import sys
import threading
import time

import pytest

import toolroll
from toolroll import Kit, Policy
from toolroll.host.runtime.dir_entries import SETTLED_NS
from toolroll.host.sandbox import sockets
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.sandbox.tiers import Tier

SOURCE = os.path.dirname(toolroll.__file__)


def count_visited(kit, tool, arguments):
    seen = set()

    def notice(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(SOURCE):
            seen.add(name)

    threading.setprofile(notice)
    sys.setprofile(notice)
    try:
        result = kit.call(tool, arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert result.ok, result.text
    return len(seen)


@pytest.fixture
def made(ws, put, tmp_path):
    put({"README.md": "# one\n", "a.py": "class Kit:\n    pass\n", ".git/HEAD": "ref: refs/heads/main\n"})
    with Kit(ws, state_dir=tmp_path / "state", policy=Policy()) as kit:
        for tool, given in (("edit", {"old": "a", "new": "b"}), ("grep", {"pattern": "a"})):
            assert not kit.call(tool, {"path": "absent", **given}).ok  # imports the tool and builds its steps
        yield kit


def test_the_first_edit(made):
    assert count_visited(made, "edit", {"path": "README.md", "old": "# one", "new": "# two"}) <= 32


def test_a_search_after_the_first(made):
    time.sleep(2 * SETTLED_NS / 1e9)  # what was just made is listed again
    made.call("grep", {"pattern": "absent"})  # the first start of a program chooses a sandbox
    assert (
        min(count_visited(made, "grep", {"pattern": "class Kit"}) for _ in range(3)) <= 31
    )  # a slow one is waited for


def test_a_read_after_the_first(made):
    read = "read", {"path": "README.md"}
    made.call(*read)
    assert count_visited(made, *read) <= 19


def test_a_command_after_the_first(made, monkeypatch):
    if choose_sandbox().tier is not Tier.BUBBLEWRAP:
        pytest.skip("there is no bubblewrap here")
    monkeypatch.setattr(sockets, "_LIST", os.devnull)  # what other tests bind meanwhile would be looked for
    command = "bash", {"command": "echo hi"}
    made.call(*command)
    assert min(count_visited(made, *command) for _ in range(3)) <= 41  # a fresh file is looked at more closely
