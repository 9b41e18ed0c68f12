"""A command that does nothing, confined in every way there is here, over a plain spawn of the same.

The parent is small, and then has 1 GiB of memory of its own: a way that copies the parent's page tables shows it.
toolroll's rows include its supervisor: a thread, the pipes, the watch over the tree and the look for survivors. The
CPU time of bubblewrap alone lacks what runs inside it, as nobody waits for that; in the supervised row it is there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

from bench.cases import Settings
from bench.measure import Contestant, Race, timed
from toolroll.host import supervisor
from toolroll.host.sandbox.choose import readable, strongest
from toolroll.host.sandbox.tiers import Reach, Sandbox
from toolroll.host.spill import Spill
from toolroll.host.state import State
from toolroll.result import ToolError

TIERS = ("landlock", "bubblewrap", "none")
_GIB = 1 << 30


def races(settings: Settings) -> Iterator[Race]:
    workspace = settings.scratch / "ws"
    workspace.mkdir()
    folder = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    for size in (0, _GIB):
        ballast = bytearray(b"x") * size  # every page of it is written
        about = "parent of 1 GiB" if size else "small parent"
        for sandbox in _tiers():
            yield Race(f"`true` under {sandbox.tier}, {about}", _contestants(sandbox, workspace, folder, settings))
        del ballast
    os.close(folder)


def _tiers() -> Iterator[Sandbox]:
    for name in TIERS:
        try:
            yield strongest(name)
        except ToolError as error:
            print(f"  {name} is left out: {error.message}")


def _contestants(sandbox: Sandbox, workspace: os.PathLike[str], folder: int, settings: Settings) -> list[Contestant]:
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    reach = Reach((os.fspath(workspace),), readable(env))
    spill = Spill(State(str(settings.state)))
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    bounds = supervisor.Bounds(seconds=60)

    def ours() -> None:
        running = supervisor.start(
            ["true"], sandbox=sandbox, reach=reach, cwd=folder, env=env, bounds=bounds, spill=spill
        )
        ended = running.wait()
        if ended is None or ended.status != 0:
            raise RuntimeError(f"`true` failed: {ended}")

    def spawn() -> None:
        sandbox.spawn(reach, ["true"], cwd=folder, env=env, stdin=null, stdout=null, stderr=null).wait()

    def plain() -> None:
        subprocess.Popen(
            ["true"], cwd=workspace, env=env, stdin=null, stdout=null, stderr=null, start_new_session=True
        ).wait()

    return [
        Contestant("toolroll, supervised", "ours", timed(ours)),
        Contestant("the sandbox alone", "peer", timed(spawn)),
        Contestant("plain Popen", "floor", timed(plain)),
    ]
