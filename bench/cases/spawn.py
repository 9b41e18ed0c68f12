"""A command that does nothing, confined in every way there is here, over a plain spawn of the same.

The parent is small, and then has 1 GiB of memory of its own: a way that copies the parent's page tables shows it.
toolroll's rows include its supervisor: a thread, the pipes, the watch over the tree and the look for survivors. "The
sandbox alone" is the same start without all that. Where a kit's commands share something, they share it here too; as
root that is a network and the read-only files, made with the first two commands, which are not counted.
"bwrap, one for each" is what one would write by hand: the whole system read-only, the workspace, a /tmp, and no
network; what is secret in it stays open. A fresh shell that prints a word, whose output is taken, is raced against
`subprocess.run`, which neither confines it nor looks after what it has started.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bench.cases import Settings
from bench.measure import Contestant, Race, timed
from toolroll.host.files.spill import Spill
from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.sandbox.tiers import Tier
from toolroll.host.sandbox.toolchains import readable_paths
from toolroll.host.shell import supervisor
from toolroll.result import ToolError

TIERS = ("landlock", "bubblewrap", "none")
_GIB = 1 << 30
_SET_SUBREAPER = 36  # of prctl
_TRUE = ("true",)
_SHELL = ("bash", "-c", "echo hi")
_BY_HAND = ("--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/")
_BY_HAND_VIEW = ("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")


def races(settings: Settings) -> Iterator[Race]:
    workspace = settings.scratch / "ws"
    workspace.mkdir()
    folder = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    with _adopting():
        for size in (0, _GIB):
            ballast = bytearray(b"x") * size  # every page of it is written
            about = "parent of 1 GiB" if size else "small parent"
            for sandbox in _tiers():
                ways = _Ways(sandbox, str(workspace), folder, settings)
                yield Race(f"`true` under {sandbox.tier}, {about}", list(ways.of_true()))
                if not size:
                    yield Race(f"a fresh shell, {sandbox.tier}", list(ways.of_shell()))
                sandbox.close()
            del ballast
    os.close(folder)


def _tiers() -> Iterator[Sandbox]:
    for name in TIERS:
        try:
            yield choose_sandbox(name).group()
        except ToolError as error:
            print(f"  {name} is left out: {error.message}")


class _Ways:
    """The ways to run a command in one sandbox and without it."""

    def __init__(self, sandbox: Sandbox, workspace: str, folder: int, settings: Settings) -> None:
        self._sandbox = sandbox
        self._workspace = workspace
        self._folder = folder
        self._env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self._reach = AccessRules((workspace,), readable_paths(self._env))
        self._spill = Spill(State(str(settings.state)))
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)

    def of_true(self) -> Iterator[Contestant]:
        yield Contestant("toolroll, supervised", "ours", timed(lambda: self._supervised(_TRUE)))
        yield Contestant("the sandbox alone", "peer", timed(self._alone))
        if self._sandbox.tier is Tier.BUBBLEWRAP:
            yield Contestant("bwrap, one for each", "peer", timed(self._by_hand(_TRUE)))
        yield Contestant("plain Popen", "floor", timed(self._plain))

    def of_shell(self) -> Iterator[Contestant]:
        yield Contestant("toolroll, supervised", "ours", timed(lambda: self._supervised(_SHELL)))
        if self._sandbox.tier is Tier.BUBBLEWRAP:
            yield Contestant("bwrap, one for each", "peer", timed(self._by_hand(_SHELL)))
        yield Contestant("subprocess.run", "floor", timed(lambda: self._run(_SHELL)))

    def _supervised(self, argv: Sequence[str]) -> None:
        running = supervisor.start(
            argv,
            sandbox=self._sandbox,
            access=self._reach,
            cwd=self._folder,
            env=self._env,
            bounds=supervisor.ResourceLimits(seconds=60),
            spill=self._spill,
        )
        ended = running.wait()
        if ended is None or ended.status != 0:
            raise RuntimeError(f"{argv} failed: {ended}")

    def _alone(self) -> None:
        null = self._null
        with _whole():
            self._sandbox.spawn(
                self._reach,
                _TRUE,
                cwd=self._folder,
                env=self._env,
                stdin=null,
                stdout=null,
                stderr=null,
            ).wait()

    def _plain(self) -> None:
        null, where = self._null, self._workspace
        subprocess.Popen(
            _TRUE, cwd=where, env=self._env, stdin=null, stdout=null, stderr=null, start_new_session=True
        ).wait()

    def _by_hand(self, argv: Sequence[str]) -> Callable[[], None]:
        program, where = shutil.which("bwrap"), self._workspace
        words = [str(program), *_BY_HAND, *_BY_HAND_VIEW, "--bind", where, where, "--chdir", where, "--", *argv]

        def run() -> None:
            with _whole():
                self._run(words)

        return run

    def _run(self, argv: Sequence[str]) -> None:
        subprocess.run(
            argv, cwd=self._workspace, env=self._env, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )


@contextmanager
def _adopting() -> Iterator[None]:
    """What runs inside bubblewrap comes to us when it ends: else nobody would count its CPU time."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_SUBREAPER, 0, 0, 0, 0)


@contextmanager
def _whole() -> Iterator[None]:
    """Wait also for what the block has left to us."""
    before = _children()
    yield
    for pid in _children() - before:
        os.waitpid(pid, 0)


def _children() -> set[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
        return set(map(int, file.read().split()))
