"""How a command is started here: the sandbox, what it may reach, its environment and its temporary folder."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from weakref import WeakSet

from toolroll.host.beneath import STEP
from toolroll.host.root import Root
from toolroll.host.spill import Spill
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.bounds import Bounds
    from toolroll.host.runtime.launcher import ChildProcess, Reach
    from toolroll.host.sandbox.repository import Kept
    from toolroll.host.sandbox.tiers import Sandbox
    from toolroll.host.supervisor import Running

Writes = Literal["workspace", "repository", "nothing"]
"""What a command may change: the workspace but not its repository's own folder, both, or no file of it."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A command on its way."""

    running: Running
    at: float
    """When it was started, in seconds since 1970."""
    tier: str
    network: bool
    """Whether it may use the network."""
    cwd: str
    mended: list[str]
    """Filled when the command has ended: what it did to the repository and was taken back."""


class CommandLauncher:
    """Starts the commands of one workspace. Nothing is probed or made before the first one."""

    def __init__(self, root: Root, spill: Spill, policy: Policy, limits: Limits, environ: Mapping[str, str]) -> None:
        self._root = root
        self._spill = spill
        self._policy = policy
        self._limits = limits
        self._environ = environ
        self._lock = threading.Condition()
        self._sandbox: Sandbox | None = None
        self._temp: str | None = None
        self._last_kept: Kept | None = None
        self._running: WeakSet[Running] = WeakSet()
        self._starting = 0
        self._closed = False

    def sandbox(self, *, confined: bool = True) -> Sandbox:
        """The tier that commands run under; raises ToolError when the policy wants one that there is not."""
        from toolroll.host.sandbox.choose import strongest

        if not confined:
            return strongest("none")
        with self._lock:
            self._check()
            if self._sandbox is None:
                self._sandbox = strongest(self._policy.sandbox).group()
            return self._sandbox

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        seconds: float | None,
        merge: bool = True,
        reads: bool = False,
        writes: Writes = "workspace",
        extra: Mapping[str, str] | None = None,
        confined: bool = True,
        on_output: Callable[[bytes], None] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Launched:
        """Start a program while this is `held`; `reads` gives it a pipe to read, `extra` goes into its environment."""
        from toolroll.host import supervisor

        sandbox, mended = self.sandbox(confined=confined), list[str]()
        (folder, where), kept = self._start_folder(cwd, confined), None
        try:
            kept = self._kept(sandbox, writes)
            env, reach = self._world(writes, extra or {})
            running = supervisor.start(
                argv,
                sandbox=sandbox,
                reach=reach,
                cwd=folder,
                env=env,
                bounds=self._bounds(seconds),
                spill=self._spill,
                merge=merge,
                input=reads,
                on_output=on_output,
                pass_fds=pass_fds,
                after=None if kept is None else lambda: mended.extend(kept.mend()),
            )
            self._running.add(running)
        except BaseException:
            if kept is not None:
                kept.close()
            raise
        finally:
            os.close(folder)
        return Launched(running, time.time(), sandbox.label, reach.network, where, mended)

    def serve(self, argv: Sequence[str], cwd: int, env: Mapping[str, str]) -> ChildProcess:
        """Start a program of ours with pipes on all its streams; it reads the workspace and writes nowhere in it."""
        from toolroll.host.runtime.launcher import PIPE
        from toolroll.host.sandbox.choose import strongest
        from toolroll.host.sandbox.tiers import OwnThread

        # None of the group of our commands: they must not find it in their network.
        sandbox, temp = strongest(self._policy.sandbox), self.temp()
        env_here = {**env, "TMPDIR": temp, "XDG_CACHE_HOME": temp}
        reach = self._reach(env_here, temp, "nothing")
        return OwnThread(sandbox).spawn(reach, argv, cwd=cwd, env=env_here, stdin=PIPE, stdout=PIPE, stderr=PIPE)

    def script(self, text: str, suffix: str) -> str:
        """The path of a new file in the temporary folder that holds this text."""
        import tempfile

        fd, path = tempfile.mkstemp(suffix, "code-", self.temp())
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode())
        return path

    def without_temp(self, word: str) -> str:
        """A word as it is shown: the names of temporary files are other ones each time and say nothing."""
        import re

        return word if self._temp is None else re.sub(rf"{re.escape(self._temp)}/code-\w+", "$TMPDIR/code", word)

    def temp(self) -> str:
        """The private temporary folder, made when first needed."""
        import tempfile

        with self._lock:
            self._check()
            if self._temp is None:
                self._temp = tempfile.mkdtemp(prefix="toolroll-")
            return self._temp

    def close(self) -> None:
        """End what still runs, remove the temporary folder, and let go what is kept for the next command."""
        import shutil

        from toolroll.host.orphans import house

        self._end()
        house().rest()
        with self._lock:
            temp, self._temp = self._temp, None
            if self._sandbox is not None:
                self._sandbox.close()
                self._sandbox = None
        if temp is not None:
            # What a command has made unremovable stays where temporary files are swept anyway.
            shutil.rmtree(temp, ignore_errors=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """`close` waits for the end of the block, and then knows what was started in it; ToolError if it has been."""
        with self._lock:
            self._check()
            self._starting += 1
        try:
            yield
        finally:
            with self._lock:
                self._starting -= 1
                self._lock.notify_all()

    def _check(self) -> None:
        if self._closed:
            raise ToolError(ErrorCode.CANCELLED, "The kit was closed: no more commands can be started.")

    def _end(self) -> None:
        from toolroll.host.bounds import Outcome

        with self._lock:
            self._closed = True
            self._lock.wait_for(lambda: self._starting == 0)
            running = [one for one in self._running if not one.over]
        for one in running:
            one.ask(Outcome.CANCELLED)
        for one in running:
            one.settle()

    def folder(self, cwd: str) -> int:
        """A descriptor of the folder that a command is to run in."""
        try:
            return self._root.folder(cwd)
        except ToolError as error:
            raise ToolError(error.code, f"Invalid path for `cwd`: {error.message}") from None
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, "Invalid path for `cwd`: there is no such folder", cwd) from None
        except NotADirectoryError as error:
            raise NotADirectoryError(error.errno, "Invalid path for `cwd`: it is not a folder", cwd) from None

    def _start_folder(self, cwd: str, confined: bool) -> tuple[int, str]:
        """A descriptor and the path of the folder that a command starts in."""
        if not confined:  # settings in the workspace must not reach a program that nothing holds
            return os.open("/", STEP), "/"
        folder = self.folder(cwd)
        try:
            return folder, "/".join((self._root.path, *self._root.real(folder)))
        except BaseException:
            os.close(folder)
            raise

    def _world(self, writes: Writes, extra: Mapping[str, str]) -> tuple[dict[str, str], Reach]:
        """The environment of a command, and what it may reach."""
        from toolroll.policy import environment

        temp = self.temp()
        env = environment.child(self._environ, temp=temp, extra=extra)
        return env, self._reach(env, temp, writes)

    def _bounds(self, seconds: float | None) -> Bounds:
        from toolroll.host.bounds import Bounds

        limits = self._limits
        return Bounds(
            seconds=seconds,
            memory=limits.memory_bytes,
            processes=limits.processes,
            file_bytes=limits.file_bytes,
            cpu_seconds=limits.cpu_seconds,
        )

    def _reach(self, env: Mapping[str, str], temp: str, writes: Writes) -> Reach:
        from toolroll.host.runtime.launcher import Reach
        from toolroll.host.sandbox.choose import readable

        workspace = self._root.path
        read = readable(env, self._policy.readable)
        if writes == "nothing":
            reach = Reach((temp,), (*read, workspace), network=self._policy.network)
            return self._root.trust.protect(reach)
        names = self._policy.protected if writes == "workspace" else ()
        keep = tuple(f"{workspace}/{name}" for name in names)
        reach = Reach((workspace, temp), read, keep, network=self._policy.network)
        return self._root.trust.protect(reach)

    def _kept(self, sandbox: Sandbox, writes: Writes) -> Kept | None:
        """The repository's settings and hooks as they are now, where the sandbox cannot keep them itself."""
        from toolroll.host.sandbox.repository import Kept
        from toolroll.host.sandbox.tiers import Tier

        linked = os.path.islink(f"{self._root.path}/.git")  # a link cannot be covered by a mount
        if writes != "workspace" or (sandbox.tier is Tier.BUBBLEWRAP and not linked):
            return None
        with self._lock:
            self._last_kept = Kept.before(self._root.fd, self._last_kept)
            return self._last_kept
