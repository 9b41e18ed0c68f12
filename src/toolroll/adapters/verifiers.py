"""verifiers: `async with runtime() as box: trace = await agent.run(task, runtime=box)`.

A `Runtime` on an empty workspace, or on a fork of a folder; verifiers' configuration names only runtimes of its own, so
a rollout borrows this one. Its programs have a loopback of their own, where they reach the servers of the rollout that
verifiers tells them of, such as the one that stands for the model; `network="127.0.0.1:PORT"` lets them reach another.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from toolroll.host.requirement import require

require("verifiers", "verifiers>=0.4,<0.5")

from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import ProgramResult, Runtime, SubprocessConfig, SubprocessRuntimeInfo

from toolroll.adapters.kit_sandbox import READ_BYTES, EndedProgram, KitSandbox
from toolroll.host.runtime.event_loop import run_in_thread
from toolroll.policy.network import parse_network
from toolroll.policy.rules import Policy

_PORTS = 4
"""How many servers of this machine the programs of one runtime reach at a time."""


class _Relay:
    """A port of this machine that leads to one server, which is known only when the sandbox is open."""

    def __init__(self) -> None:
        self.target = ("", 0)
        self.port = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for one in self._open:
            one.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(*self.target)
        except OSError:
            writer.close()
            return
        self._open |= {writer, back}
        try:
            with suppress(OSError):  # one direction broke: the other ends with it
                await asyncio.gather(_copy(reader, back), _copy(there, writer))
        finally:
            for one in (writer, back):
                one.close()
            self._open -= {writer, back}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction of a connection to its end, and pass on the end; the other direction stays open."""
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


class VerifiersRuntime(Runtime):
    """Runs programs in one workspace, confined. To verifiers it is one of the kind `subprocess`."""

    def __init__(self, base: str | None, network: bool | str, name: str | None = None) -> None:
        super().__init__(name)
        self.config = SubprocessConfig()
        self.info = SubprocessRuntimeInfo()
        self._base = base
        self._network = parse_network(network)
        self._relays: list[_Relay] = []
        self._box: KitSandbox | None = None
        self._background: set[asyncio.Task[EndedProgram]] = set()

    @property
    def box(self) -> KitSandbox:
        """The sandbox; SandboxError before `start` and after `stop`."""
        if self._box is None:
            raise SandboxError("The runtime is not open: start it first.")
        return self._box

    async def start(self) -> None:
        network = self._network
        if network is not True:
            self._relays = [_Relay() for _ in range(_PORTS)]
            await asyncio.gather(*(one.start() for one in self._relays))
            network = (*(network or ()), *(f"127.0.0.1:{one.port}" for one in self._relays))
        policy = Policy(protected=(), allow_destructive=True, network=network)
        given: dict[str, Any] = {"fork": self._base is not None, "policy": policy}
        self._box = await run_in_thread(partial(KitSandbox, self._base, **given))
        self.info.id = self._box.workspace

    def host_url(self, url: str) -> str:
        """The same server by a port that leads there: the one it has already, or the one that was given longest ago."""
        parts = urlsplit(url)
        if not self._relays or parts.hostname not in ("127.0.0.1", "localhost") or parts.port is None:
            return url
        target = (parts.hostname, parts.port)
        relay = next((one for one in self._relays if one.target == target), self._relays[0])
        self._relays.remove(relay)
        self._relays.append(relay)
        relay.target = target
        return parts._replace(netloc=f"127.0.0.1:{relay.port}").geturl()

    async def run(self, argv: list[str], env: dict[str, str]) -> ProgramResult:
        try:
            done = await self.box.arun(argv, env=self.process_env(env))
        except OSError as error:
            raise SandboxError(f"{argv[0]!r} did not run: {error.strerror}") from error
        stdout, stderr = (one.decode(errors="replace") for one in (done.stdout, done.stderr))
        return ProgramResult(done.code, stdout, stderr)

    async def run_background(self, argv: list[str], env: dict[str, str], log: str) -> None:
        command = f"exec {shlex.join(argv)} > {shlex.quote(log)} 2>&1"
        task = asyncio.create_task(self.box.arun(command, env=self.process_env(env)))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def prepare_uv_script(
        self, script: str | bytes, env: dict[str, str] | None = None, **options: Any
    ) -> list[str]:
        """As verifiers does it, but with the uv of this machine: its own way installs one when there is none."""
        data = script.encode() if isinstance(script, str) else script
        path = f"{self.scripts_dir}/{hashlib.sha256(data).hexdigest()}.py"
        if path not in self._uv_interpreters:
            await self.write(path, data)
            command = f"uv sync -q --no-config --script {path} && uv python find --no-config --script {path}"
            found = await self.run(["sh", "-c", command], {**(env or {}), "UV_OFFLINE": "false"})
            if found.exit_code != 0:
                why = (
                    f"{found.stderr.strip()[-2000:]}\nIt needs uv on this machine, and for packages network='packages'."
                )
                raise RuntimeError(f"A script of the harness was not prepared: {why}")
            self._uv_interpreters[path] = found.stdout.strip().splitlines()[-1]
        words: list[str] = await super().prepare_uv_script(script, env, **options)
        return words

    async def _read(self, path: str, max_bytes: int | None = None) -> bytes:
        if max_bytes is not None:  # the head of any file, also of one that never ends
            found: bytes = await super()._read(path, max_bytes)
            return found
        try:
            return await run_in_thread(partial(self.box.read, path, READ_BYTES))
        except OSError as error:
            raise SandboxError(f"read {path!r}: {error.strerror}") from error

    async def write(self, path: str, data: bytes) -> None:
        try:
            await run_in_thread(partial(self.box.write, path, data))
        except OSError as error:
            raise SandboxError(f"write {path!r}: {error.strerror}") from error

    async def expose(self, port: int) -> str:
        if self._network is not True:
            raise SandboxError("Programs have a loopback of their own here; network=True lets them serve this machine.")
        url: str = await super().expose(port)
        return url

    async def teardown(self) -> None:
        for task in self._background:
            task.cancel()
        for relay in self._relays:
            relay.close()
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
