"""Language servers on a fresh workspace, real ones and ones that misbehave; all are gone in the end."""

import glob
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.launchers import LAUNCHER, spawn
from tests.npm import node
from tests.waiting import closed_again, descriptors, gone
from toolroll.host.files.root import Root
from toolroll.host.files.spill import Spill
from toolroll.host.files.workspace import Workspace
from toolroll.host.lsp import client, diagnostics
from toolroll.host.lsp.language_servers import LanguageServers
from toolroll.host.runtime.state import State
from toolroll.host.search.search import Search
from toolroll.policy.limits import Limits
from toolroll.policy.rules import PRESETS

FAKE = Path(__file__).with_name("fake_server.py")


def family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for one in found:
        for task in map(Path, glob.glob(f"/proc/{one}/task/*/children")):  # none where it has just ended
            found += map(int, task.read_text().split())
    return found


@pytest.fixture
def workspace(ws: Path, tmp_path: Path) -> Iterator[Workspace]:
    state = State(str(tmp_path / "state"))
    with Root(str(ws)) as root:
        yield Workspace(root, state, Spill(state), limits=Limits(), policy=PRESETS["standard"], launcher=LAUNCHER)
    state.close()


@pytest.fixture
def open_servers(workspace: Workspace) -> Iterator[Callable[..., LanguageServers]]:
    """LanguageServers of the workspace. When the test is over, none of their processes, threads and pipes is left."""
    opened: list[LanguageServers] = []
    before = descriptors()

    def make(**options: Any) -> LanguageServers:
        opened.append(
            LanguageServers(
                workspace, Search(workspace.root, limits=Limits(), launcher=LAUNCHER), **{"spawn": spawn, **options}
            )
        )
        return opened[-1]

    yield make
    pids = [pid for one in opened for running in one.running() for pid in family(running.pid)]
    for one in opened:
        one.close()
    assert [pid for pid in pids if not gone(pid)] == []
    assert closed_again(before | set(map(str, workspace._swept)))


@pytest.fixture
def servers(
    open_servers: Callable[..., LanguageServers], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> LanguageServers:
    marker = request.node.get_closest_marker("npm")
    if marker is not None:
        folders = [str(node.packages() / ".bin"), os.path.dirname(node.program())]
        monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    # A real server on a busy machine may take long for its first answer.
    return open_servers(seconds=120.0, start_seconds=120.0, **(marker.kwargs if marker is not None else {}))


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a program on PATH that serves in this manner."""

    def make(manner: str, program: str = "tsc") -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / program
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "{manner}"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    monkeypatch.setattr(client, "_END_TIMEOUT_S", 0.05)  # many of its manners do not let it end by itself
    monkeypatch.setattr(diagnostics, "_QUIET_S", 0.3)
    return make


def found(program: str) -> bool:
    return bool(shutil.which(program, path=os.path.dirname(sys.executable)) or shutil.which(program))
