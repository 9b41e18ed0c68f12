"""deepagents: `create_deep_agent(model, backend=sandbox("project"))`.

Paths are those of the machine (`toolroll.adapters.kit_sandbox`). deepagents keeps long results under `/`, where nothing
can be written: `CompositeBackend(default=box, routes={}, artifacts_root="/tmp")` keeps them in the sandbox's `/tmp`.
"""

from __future__ import annotations

import errno
import os
from functools import partial
from typing import Any, Self

from toolroll.host.requirement import require

require("deepagents", "deepagents>=0.7.32,<0.8")

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox

from toolroll.adapters.kit_sandbox import KitSandbox
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.event_loop import run_in_thread
from toolroll.kit import Kit

_OUTPUT_BYTES = 10 << 20
_FILE_ERRORS = {
    errno.ENOENT: "file_not_found",
    errno.EACCES: "permission_denied",
    errno.EISDIR: "is_directory",
    errno.ENOTDIR: "invalid_path",
}


class DeepAgentsSandbox(BaseSandbox):
    """Commands and files of one workspace, confined. Close it, or use it as a context manager."""

    # Their other way is by files in /tmp, which commands do not always share.
    _edit_via_upload = BaseSandbox._edit_inline
    _aedit_via_upload = BaseSandbox._aedit_inline

    def __init__(self, box: KitSandbox, timeout: float) -> None:
        self.box = box
        self.default_timeout = timeout

    @property
    def id(self) -> str:
        return f"toolroll-{self.box.kit.session}"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return self._execute(command, timeout, None)

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """`execute` in a worker thread; cancelling the task ends the command."""
        token = CancelToken()
        return await run_in_thread(partial(self._execute, command, timeout, token), token)

    def _execute(self, command: str, timeout: int | None, token: CancelToken | None) -> ExecuteResponse:
        """`timeout` 0 is none. What a shell would say by its exit code is said so: 124, 126 and 127."""
        seconds = self.default_timeout if timeout is None else timeout or None
        try:
            done = self.box.run(f"exec 2>&1\n{command}", timeout=seconds, limit=_OUTPUT_BYTES, token=token)
        except TimeoutError as error:
            return ExecuteResponse(str(error), 124)
        except OSError as error:
            return ExecuteResponse(error.strerror or str(error), 127 if error.errno == errno.ENOENT else 126)
        output = (done.stdout + done.stderr).decode(errors="replace")  # in stderr is only what the sandbox says
        if done.truncated:
            output += f"\n[Only the first {_OUTPUT_BYTES} bytes of the output are here.]"
        return ExecuteResponse(output, done.code, truncated=done.truncated)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path, _error_of(self.box.write, path, data)[1]) for path, data in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [FileDownloadResponse(path, *_error_of(self.box.read, path)) for path in paths]

    def close(self) -> None:
        """End what runs, and remove what is the sandbox's own."""
        self.box.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def sandbox(
    workspace: Kit | str | os.PathLike[str] | None = None, *, fork: bool = False, timeout: float = 120, **options: Any
) -> DeepAgentsSandbox:
    """A backend on a kit's workspace, on a folder, or on an empty folder of its own; with `fork`, on a fork of it.

    `timeout` is in seconds, for commands that come without one; `options` are those of `Kit`.
    """
    return DeepAgentsSandbox(KitSandbox(workspace, fork=fork, **options), timeout)


def _error_of(operate: Any, path: str, *given: bytes) -> tuple[Any, str | None]:
    """What an operation on a file gives, and its error in the words of deepagents."""
    if not path.startswith("/"):
        return None, "invalid_path"
    try:
        return operate(path, *given), None
    except OSError as error:
        return None, _FILE_ERRORS.get(error.errno or 0, str(error))
