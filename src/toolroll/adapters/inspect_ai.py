"""inspect_ai: `Task(sandbox="toolroll")`, or `Task(sandbox=("toolroll", "path/of/a/folder"))`.

The package's entry point registers it. Every sample has an empty workspace, or a fork of the folder; what a sample does
to it is dropped at its end. Paths are those of the machine (`toolroll.adapters.kit_sandbox`).
"""

from __future__ import annotations

import errno
import os
import pwd
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from toolroll.host.requirement import require

require("inspect-ai", "inspect-ai>=0.3.285,<0.4")

import anyio
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel

from toolroll.adapters.kit_sandbox import KitSandbox
from toolroll.host.runtime.cancellation import CancelToken

T = TypeVar("T")


class InspectConfig(BaseModel):
    """For `SandboxEnvironmentSpec("toolroll", InspectConfig(...))`."""

    base: str | None = None
    """The folder that every sample has a fork of."""
    network: bool | str = False
    """Which hosts commands reach, as `--network` has it."""


@sandboxenv(name="toolroll")
class InspectSandbox(SandboxEnvironment):
    """The sandbox of one sample."""

    def __init__(self, box: KitSandbox) -> None:
        super().__init__()
        self.box = box

    @classmethod
    async def sample_init(
        cls,
        task_name: str,  # noqa: ARG003
        config: SandboxEnvironmentConfigType | None,
        metadata: dict[str, str],  # noqa: ARG003
    ) -> dict[str, SandboxEnvironment]:
        chosen = config if isinstance(config, InspectConfig) else InspectConfig(base=config)
        return {"default": cls(await _in_thread(partial(_open_box, chosen)))}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,  # noqa: ARG003
        config: SandboxEnvironmentConfigType | None,  # noqa: ARG003
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,  # noqa: ARG003
    ) -> None:
        for one in environments.values():
            with anyio.CancelScope(shield=True):
                await _in_thread(one.as_type(cls).box.close)

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return InspectConfig(**config)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,  # noqa: ARG002 - what takes too long here takes as long again
        concurrency: bool = True,  # noqa: ARG002 - the kit has a limit of its own
    ) -> ExecResult[str]:
        if user is not None and not _is_current(user):
            raise SandboxUserUnsupportedError(f"Commands run as the user of this process, not as {user!r}.")
        stdin = input.encode() if isinstance(input, str) else input or b""
        limit, token = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE, CancelToken()
        given: dict[str, Any] = {"stdin": stdin, "cwd": cwd, "env": env, "timeout": timeout, "limit": limit}
        try:
            done = await _in_thread(partial(self.box.run, cmd, token=token, **given), token)
        except FileNotFoundError as error:
            return ExecResult(False, 127, "", f"{error.strerror}\n")
        stdout, stderr = (one.decode(errors="replace") for one in (done.stdout, done.stderr))
        if done.truncated:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, stdout or stderr)
        return ExecResult(done.code == 0, done.code, stdout, stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        data = contents.encode() if isinstance(contents, str) else contents
        await _in_thread(partial(self.box.write, file, data))

    async def read_file(self, file: str, text: bool = True) -> Any:
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        try:
            data = await _in_thread(partial(self.box.read, file, limit))
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None) from None
        return data.decode() if text else data


def _open_box(config: InspectConfig) -> KitSandbox:
    from toolroll.policy.rules import Policy

    policy = Policy(protected=(), allow_destructive=True, network=config.network)
    return KitSandbox(config.base, fork=config.base is not None, policy=policy)


async def _in_thread(operate: Callable[[], T], token: CancelToken | None = None) -> T:
    """Run a function in a worker thread; cancelling the task cancels its command, and does not wait for it."""
    try:
        limiter = anyio.CapacityLimiter(1)  # of its own: the common one is for 40 at once, in all samples
        return await anyio.to_thread.run_sync(operate, abandon_on_cancel=token is not None, limiter=limiter)
    except anyio.get_cancelled_exc_class():
        if token is not None:
            token.cancel()
        raise


def _is_current(user: str) -> bool:
    try:
        return (int(user) if user.isdecimal() else pwd.getpwnam(user).pw_uid) == os.geteuid()
    except KeyError:
        return False
