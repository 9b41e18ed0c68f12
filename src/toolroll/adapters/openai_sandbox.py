"""OpenAI Agents' sandboxes: `RunConfig(sandbox=SandboxRunConfig(client=client(), ...))` for a `SandboxAgent`.

Every session has an empty workspace, or a fork of a folder. It stands at the root of the manifest: the default
`/workspace` becomes its path on this machine, as with the SDK's own local client. `delete` removes it.
"""

from __future__ import annotations

import errno
import io
import os
import tarfile
import uuid
from functools import partial
from pathlib import Path
from typing import Any, Literal

from toolroll.host.requirement import require

require("openai-agents", "openai-agents>=0.24,<1")

from agents.sandbox.errors import (
    ExecTimeoutError,
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
)
from agents.sandbox.manifest import Manifest
from agents.sandbox.session import (
    BaseSandboxClient,
    BaseSandboxClientOptions,
    BaseSandboxSession,
    Instrumentation,
    SandboxSession,
    SandboxSessionState,
)
from agents.sandbox.session.workspace_payloads import coerce_write_payload
from agents.sandbox.snapshot import SnapshotBase, SnapshotSpec, resolve_snapshot
from agents.sandbox.types import ExecResult, User
from agents.sandbox.util.tar_utils import should_skip_tar_member

from toolroll.adapters.kit_sandbox import KitSandbox
from toolroll.host.runtime.event_loop import run_in_thread
from toolroll.result import ToolError


class OpenAISandboxOptions(BaseSandboxClientOptions):
    """Options of one session."""

    type: Literal["toolroll"] = "toolroll"
    base: str | None = None
    """The folder that the session has a fork of, in place of the client's."""


class OpenAISessionState(SandboxSessionState):
    """What `resume` continues from: the snapshot, or the live workspace if this client still has it."""

    type: Literal["toolroll"] = "toolroll"
    base: str | None = None


class OpenAISandboxSession(BaseSandboxSession):
    """One workspace, where commands are confined."""

    def __init__(self, state: OpenAISessionState, box: KitSandbox) -> None:
        self.state: OpenAISessionState = state
        self.box = box
        self._running = False

    def _prepare_exec_command(
        self, *command: str | Path, shell: bool | list[str], user: str | User | None
    ) -> list[str]:
        """Without a login shell, whose profile would change PATH."""
        given: dict[str, Any] = {"shell": ["sh", "-c"] if shell is True else shell, "user": user}
        made: list[str] = super()._prepare_exec_command(*command, **given)
        return made

    async def _exec_internal(self, *command: str | Path, timeout: float | None = None) -> ExecResult:
        words = [str(one) for one in command]
        env = await self.state.manifest.environment.resolve()
        try:
            done = await self.box.arun(words, env=env, timeout=timeout)
        except TimeoutError as error:
            raise ExecTimeoutError(command=command, timeout_s=timeout, cause=error) from error
        except OSError as error:  # as a shell says it
            code = 127 if error.errno == errno.ENOENT else 126
            return ExecResult(stdout=b"", stderr=f"{error.strerror}\n".encode(), exit_code=code)
        cut = b"\n[The output is longer; only its beginning is here.]\n" if done.truncated else b""
        return ExecResult(stdout=done.stdout, stderr=done.stderr + cut, exit_code=done.code)

    async def read(self, path: Path, *, user: str | User | None = None) -> io.IOBase:
        place = self.normalize_path(path)
        if user is not None:
            await self._check_read_with_exec(path, user=user)
        try:
            return io.BytesIO(await run_in_thread(partial(self.box.read, str(place))))
        except FileNotFoundError as error:
            raise WorkspaceReadNotFoundError(path=path, cause=error) from error
        except OSError as error:
            raise WorkspaceArchiveReadError(path=path, cause=error) from error

    async def write(self, path: Path, data: io.IOBase, *, user: str | User | None = None) -> None:
        place = self.normalize_path(path, for_write=True)
        if user is not None:
            await self._check_write_with_exec(path, user=user)
        payload = coerce_write_payload(path=path, data=data).stream.read()
        try:
            await run_in_thread(partial(self.box.write, str(place), payload))
        except OSError as error:
            raise WorkspaceArchiveWriteError(path=place, cause=error) from error

    async def running(self) -> bool:
        return self._running

    async def _after_start(self) -> None:
        self._running = True

    async def _after_shutdown(self) -> None:
        self._running = False

    async def persist_workspace(self) -> io.IOBase:
        skip = self._persist_workspace_skip_relpaths()
        try:
            return await run_in_thread(partial(self._pack, skip))
        except (ToolError, OSError) as error:
            raise WorkspaceArchiveReadError(path=Path(self.box.workspace), cause=error) from error

    def _pack(self, skip: set[Path]) -> io.IOBase:
        made = io.BytesIO()
        with (
            self.box.kit.pack(ignored=True, git=True) as packed,
            tarfile.open(fileobj=packed) as source,
            tarfile.open(fileobj=made, mode="w") as target,
        ):
            for one in source:
                if not should_skip_tar_member(one.name, skip_rel_paths=skip, root_name=None):
                    target.addfile(one, source.extractfile(one) if one.isfile() else None)
        made.seek(0)
        return made

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        try:
            await run_in_thread(lambda: self.box.kit.unpack(data.read(), git=True))
        except (ToolError, OSError) as error:
            raise WorkspaceArchiveWriteError(path=Path(self.box.workspace), cause=error) from error


class OpenAISandboxClient(BaseSandboxClient[OpenAISandboxOptions | None]):
    """Makes sessions on this machine, confined, without containers."""

    backend_id = "toolroll"
    supports_default_options = True

    def __init__(self, base: str | None, options: dict[str, Any]) -> None:
        self._base = base
        self._options = options
        self._instrumentation = Instrumentation()
        self._boxes: dict[uuid.UUID, KitSandbox] = {}

    async def create(
        self,
        *,
        snapshot: SnapshotSpec | SnapshotBase | None = None,
        manifest: Manifest | None = None,
        options: OpenAISandboxOptions | None = None,
    ) -> SandboxSession:
        manifest = self._validate_manifest_for_create(manifest or Manifest())
        if manifest.root != Manifest().root:
            raise ValueError(f"The root of the manifest is the workspace of the session; leave out {manifest.root!r}.")
        if manifest.users or manifest.groups:
            raise ValueError("Commands run as the user of this process: the manifest can have no users and groups.")
        id = uuid.uuid4()
        base = options.base if options is not None and options.base is not None else self._base
        made = {"session_id": id, "snapshot": resolve_snapshot(snapshot, str(id)), "manifest": manifest, "base": base}
        return await self._open(OpenAISessionState(**made))

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        if not isinstance(state, OpenAISessionState):
            raise TypeError("This client resumes its own sessions only.")
        state.assert_path_grants_rebound()
        return await self._open(state)

    async def _open(self, state: OpenAISessionState) -> SandboxSession:
        box, is_live = self._boxes.get(state.session_id), state.session_id in self._boxes
        if box is None:
            state.workspace_root_ready = False
            box = await run_in_thread(partial(KitSandbox, state.base, fork=state.base is not None, **self._options))
            self._boxes[state.session_id] = box
        state.manifest = state.manifest.model_copy(update={"root": box.workspace}, deep=True)
        inner = OpenAISandboxSession(state, box)
        inner._set_start_state_preserved(is_live)
        return self._wrap_session(inner, instrumentation=self._instrumentation)

    async def delete(self, session: SandboxSession) -> SandboxSession:
        box = self._boxes.pop(session.state.session_id, None)
        if box is not None:
            await run_in_thread(box.close)
        return session

    def deserialize_session_state(self, payload: dict[str, object]) -> SandboxSessionState:
        return self._deserialize_session_state_payload(payload, OpenAISessionState)


def client(base: str | os.PathLike[str] | None = None, **options: Any) -> OpenAISandboxClient:
    """A client whose sessions have an empty workspace, or a fork of the folder `base`; `options` are those of `Kit`."""
    return OpenAISandboxClient(None if base is None else os.fspath(base), options)
