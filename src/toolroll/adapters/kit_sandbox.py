"""A kit as frameworks want a sandbox: commands, and files by every path that a command could name.

Paths are those of the machine: the workspace has its own absolute path, commands begin there, and relative paths are
taken from there. All commands have one `/tmp` where `Kit.share_temp` can do that. A path outside the workspace is read
and written by a command, so it reaches what a command reaches and no more.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.event_loop import run_in_thread
from toolroll.host.runtime.launcher import is_beneath
from toolroll.host.runtime.user_folders import make_cache_dir
from toolroll.host.shell.command_result import Completed
from toolroll.kit import Kit
from toolroll.policy.rules import Policy
from toolroll.program_calls import OUTPUT_BYTES
from toolroll.result import ErrorCode, ToolError

READ_BYTES = 256 << 20
"""The most that `read` gives back; a longer file is an error."""
_NO_TIMEOUT_S = 7 * 86_400.0
_TEMPS = ("/tmp", "/var/tmp", "/dev/shm")
_OWN_POLICY = Policy(protected=(), allow_destructive=True)  # for a folder that holds no work of a user
_ERRORS = {
    ErrorCode.NOT_FOUND: errno.ENOENT,
    ErrorCode.SECURITY: errno.EACCES,
    ErrorCode.PERMISSION: errno.EACCES,
    ErrorCode.TOO_LARGE: errno.EFBIG,
}
_TEXTS = {text: number for number, text in ((one, os.strerror(one)) for one in (errno.EACCES, errno.ENOENT))}
UNKNOWN_STATUS = 125
"""The exit code of a command whose own is unknown, so that it never counts as a success."""
_UNKNOWN_STATUS_NOTE = (
    f"[The exit status of the command is unknown; {UNKNOWN_STATUS} stands for it. This process ignores SIGCHLD, or "
    "other code in it waits for all children. Restore SIGCHLD with signal.signal(signal.SIGCHLD, signal.SIG_DFL), and "
    "wait only for children that you started.]\n"
)
_READ = "[ -d {0} ] && exit 21; [ -e {0} ] || exit 2; cat -- {0}"
_WRITE = "[ -d {0} ] && exit 21; mkdir -p -- {1} && cat > {0}"


@dataclass(frozen=True, slots=True)
class EndedProgram(Completed):
    """A command that ran to its end in a `KitSandbox`."""

    code: int
    """The exit code; UNKNOWN_STATUS if it could not be had, and then `stderr` says why."""


class KitSandbox:
    """Runs commands and reads and writes files in one workspace. Failures are those of Python: OSError and its kinds.

    The workspace is a kit's, which stays open; or a folder, with options of `Kit`; or by default an empty folder, which
    is removed by `close`. With `fork` it is a fork of that, which `close` drops. Commands have it at the absolute path
    `at` too, and empty folders at `folders`, all as long as `/tmp`: OSError where that cannot be.
    """

    def __init__(
        self,
        workspace: Kit | str | os.PathLike[str] | None = None,
        *,
        fork: bool = False,
        at: str = "",
        folders: Sequence[str] = (),
        **options: Any,
    ) -> None:
        with ExitStack() as closing:
            if isinstance(workspace, Kit):
                self.kit = workspace
            else:
                self.kit = _open_kit(workspace, options, closing)
                closing.callback(self.kit.close)
            names = [self.kit.workspace]
            if fork:
                self.kit = closing.enter_context(self.kit.fork())
                names.append(self.kit.workspace)
            self._names = names
            self._shares_temp = self.kit.share_temp(folders, workspace=at)
            if at and not self._shares_temp:
                raise OSError(errno.ENOTSUP, f"{at!r} needs bubblewrap, and folders of toolroll outside /tmp")
            self._closing = closing.pop_all()

    @property
    def workspace(self) -> str:
        """The absolute path of the workspace."""
        return self.kit.workspace

    def close(self) -> None:
        """End what runs, and remove what is the sandbox's own."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self,
        command: str | Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
        limit: int = OUTPUT_BYTES,
        token: CancelToken | None = None,
    ) -> EndedProgram:
        """Run a text for bash, or words, to the end; TimeoutError after `timeout` seconds.

        PermissionError for a command that is refused or may not run, FileNotFoundError for a program that is missing.
        """
        folder = os.path.join(self.workspace, cwd or ".")
        if self._is_inside(folder) and (isinstance(command, str) or not command[0].startswith(_TEMPS)):
            where = folder
        else:  # only commands can go there
            command = command if isinstance(command, str) else shlex.join(command)
            command, where = f"cd -- {shlex.quote(folder)} || exit\n{command}", "."
        given: dict[str, Any] = {"stdin": stdin, "env": env, "cwd": where, "limit": limit, "token": token}
        with _os_errors():
            done = self.kit.exec(command, timeout=_NO_TIMEOUT_S if timeout is None else timeout, **given)
        if done.outcome == "timed_out":
            raise TimeoutError(f"The command was ended after {timeout:g} s with all that it started.")
        return _with_known_code(done)

    async def arun(self, command: str | Sequence[str], **options: Any) -> EndedProgram:
        """`run` in a worker thread; cancelling the task ends the command."""
        token = options["token"] = CancelToken()
        return await run_in_thread(partial(self.run, command, **options), token)

    def read(self, path: str, limit: int = READ_BYTES) -> bytes:
        """The content of a file; EFBIG for more than `limit` bytes."""
        if not self._is_inside(path):
            done = self._run_on(path, _READ.format(shlex.quote(path)), limit=limit)
            data, too_long = done.stdout, done.truncated
        else:
            self._check_mode(path, 0o444)
            with _os_errors(path):
                data = self.kit.read_bytes(path)
            too_long = len(data) > limit
        if too_long:
            raise OSError(errno.EFBIG, f"File too large: more than {limit} bytes", path)
        return data

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file, making missing folders, whatever was there."""
        is_inside = self._is_inside(path)
        if not is_inside and not self._shares_temp and path.startswith(_TEMPS):
            why = f"Each command has its own {path.split('/')[1]!r} here; write in {self.workspace!r} or $TMPDIR"
            raise PermissionError(errno.EACCES, why, path)
        self._check_mode(path, 0o222)
        if not is_inside or len(data) > self.kit.limits.write_bytes:  # a command may write more than a tool
            above = shlex.quote(os.path.dirname(path) or ".")
            self._run_on(path, _WRITE.format(shlex.quote(path), above), stdin=data)
            return
        with _os_errors(path):
            try:
                self.kit.write_bytes(path, data)
            except ToolError as error:
                if error.code is not ErrorCode.CONFLICT:
                    raise
                self.kit.read_bytes(path)  # changed by others meanwhile; it is to be overwritten all the same
                self.kit.write_bytes(path, data)

    def _run_on(self, path: str, command: str, **options: Any) -> EndedProgram:
        """Run a command on a file outside the workspace; its failure as an OSError."""
        done = self.run(command, **options)
        if done.code == 0:
            return done
        if done.code == UNKNOWN_STATUS:
            raise OSError(errno.EIO, _UNKNOWN_STATUS_NOTE.strip(), path)
        number = {21: errno.EISDIR, 2: errno.ENOENT}.get(done.code, errno.EACCES)
        raise OSError(number, os.strerror(number), path)

    def _is_inside(self, path: str) -> bool:
        """Whether a path is one of the workspace, by its name; what leads out of it is refused there."""
        plain = os.path.normpath(path)
        return not os.path.isabs(plain) or any(is_beneath(plain, one) for one in self._names)

    def _check_mode(self, path: str, bits: int) -> None:
        """PermissionError for a file that its own mode closes: we replace files, and root reads all of them."""
        try:
            mode = os.stat(os.path.join(self.workspace, path)).st_mode
        except (OSError, ValueError):
            return
        if stat.S_ISREG(mode) and not mode & bits:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _open_kit(workspace: str | os.PathLike[str] | None, options: dict[str, Any], closing: ExitStack) -> Kit:
    if workspace is not None:
        return Kit(workspace, **options)
    place = make_cache_dir("sandboxes")  # not in /tmp, so that commands can share that
    folder, state = (
        closing.enter_context(tempfile.TemporaryDirectory(dir=place, prefix=prefix, ignore_cleanup_errors=True))
        for prefix in ("workspace-", "state-")
    )
    return Kit(folder, **{"policy": _OWN_POLICY, "state_dir": state, **options})


def _with_known_code(done: Completed) -> EndedProgram:
    code, stderr = done.code, done.stderr
    if code is None:
        gap = b"" if not stderr or stderr.endswith(b"\n") else b"\n"
        code, stderr = UNKNOWN_STATUS, stderr + gap + _UNKNOWN_STATUS_NOTE.encode()
    return EndedProgram(done.stdout, stderr, code, done.changes, done.outcome, done.truncated, done.notes)


@contextmanager
def _os_errors(*path: str) -> Iterator[None]:
    """Turn errors of a kit into those of Python."""
    try:
        yield
    except ToolError as error:
        number = _ERRORS.get(error.code) or next((_TEXTS[one] for one in _TEXTS if one in error.message), 0)
        if "is a directory" in error.message:
            number = errno.EISDIR
        if error.code is ErrorCode.CANCELLED or not number:
            raise
        raise OSError(number, error.message, *path) from None
