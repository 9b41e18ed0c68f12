"""verifiers: `async with runtime() as box: trace = await agent.run(task, runtime=box)`.

A `Runtime` on an empty workspace, or on a fork of a folder; verifiers' configuration names only runtimes of its own, so
a rollout borrows this one. Its programs have a loopback of their own: `network="127.0.0.1:PORT"` lets them reach the
server of that port on this machine, such as the one that stands for the model.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from toolroll.host.requirement import require

require("verifiers", "verifiers>=0.4,<0.5")

from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import ProgramResult, Runtime, SubprocessConfig, SubprocessRuntimeInfo

from toolroll.adapters.kit_sandbox import READ_BYTES, KitSandbox
from toolroll.host.shell.command_result import Completed
from toolroll.policy.rules import Policy


class VerifiersRuntime(Runtime):
    """Runs programs in one workspace, confined. To verifiers it is one of the kind `subprocess`."""

    def __init__(self, base: str | None, network: bool | str, name: str | None = None) -> None:
        super().__init__(name)
        self.config = SubprocessConfig()
        self.info = SubprocessRuntimeInfo()
        self._base = base
        self._policy = Policy(protected=(), allow_destructive=True, network=network)
        self._box: KitSandbox | None = None
        self._background: set[asyncio.Task[Completed]] = set()

    @property
    def box(self) -> KitSandbox:
        """The sandbox; SandboxError before `start` and after `stop`."""
        if self._box is None:
            raise SandboxError("The runtime is not open: start it first.")
        return self._box

    async def start(self) -> None:
        given: dict[str, Any] = {"fork": self._base is not None, "policy": self._policy}
        self._box = await asyncio.to_thread(KitSandbox, self._base, **given)
        self.info.id = self._box.workspace

    async def run(self, argv: list[str], env: dict[str, str]) -> ProgramResult:
        try:
            done = await self.box.arun(argv, env=self.process_env(env))
        except OSError as error:
            raise SandboxError(f"{argv[0]!r} did not run: {error.strerror}") from error
        stdout, stderr = (one.decode(errors="replace") for one in (done.stdout, done.stderr))
        return ProgramResult(done.code or 0, stdout, stderr)

    async def run_background(self, argv: list[str], env: dict[str, str], log: str) -> None:
        command = f"exec {shlex.join(argv)} > {shlex.quote(log)} 2>&1"
        task = asyncio.create_task(self.box.arun(command, env=self.process_env(env)))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _read(self, path: str, max_bytes: int | None = None) -> bytes:
        if max_bytes is not None:  # the head of any file, also of one that never ends
            found: bytes = await super()._read(path, max_bytes)
            return found
        try:
            return await asyncio.to_thread(self.box.read, path, READ_BYTES)
        except OSError as error:
            raise SandboxError(f"read {path!r}: {error.strerror}") from error

    async def write(self, path: str, data: bytes) -> None:
        try:
            await asyncio.to_thread(self.box.write, path, data)
        except OSError as error:
            raise SandboxError(f"write {path!r}: {error.strerror}") from error

    async def expose(self, port: int) -> str:
        if self._policy.network is not True:
            raise SandboxError("Programs have a loopback of their own here; network=True lets them serve this machine.")
        url: str = await super().expose(port)
        return url

    async def teardown(self) -> None:
        for one in self._background:
            one.cancel()
        await super().teardown()

    def cleanup(self) -> None:
        if self._box is not None:
            self._box.close()
            self._box = None


@asynccontextmanager
async def runtime(
    base: str | os.PathLike[str] | None = None, *, network: bool | str = False
) -> AsyncIterator[VerifiersRuntime]:
    """An open runtime on an empty workspace, or on a fork of the folder `base`. It is gone at the end of the block."""
    made = VerifiersRuntime(None if base is None else os.fspath(base), network)
    try:
        await made.start()
        yield made
    finally:
        await made.stop()
