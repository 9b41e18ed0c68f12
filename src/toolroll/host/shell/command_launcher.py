"""Start commands: the sandbox, the access rules, the environment, the temporary folder, texts by descriptor."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self
from weakref import WeakSet

from toolroll.host.approval.auto_run import AutoRunFiles, note
from toolroll.host.approval.secret_access import SecretAccess
from toolroll.host.files.openat import STEP
from toolroll.host.files.root import Root
from toolroll.host.files.spill import Spill
from toolroll.host.linux import IS_LINUX
from toolroll.host.network.command_network import CommandNetwork
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.shell.git_identity import NO_SETTINGS, find_identity
from toolroll.policy import environment
from toolroll.policy.limits import Limits
from toolroll.policy.network import credential_variables
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import socket

    from toolroll.host.approval.guard import Guard
    from toolroll.host.capture.under_way import CaptureWatch, Writer
    from toolroll.host.network.gate import HostGate
    from toolroll.host.runtime.dir_entries import Stamp
    from toolroll.host.runtime.launcher import AccessRules, ChildProcess, Launcher, Sandbox
    from toolroll.host.sandbox.git.guard import GitGuard, GuardedCommand
    from toolroll.host.shell.supervisor import RunningCommand


class SealedText:
    """A text in a file without a name, which nothing can write to. A command that gets `fd` reads it at `path`."""

    def __init__(self, text: str, label: str, *, shown: bool = True, main: bool = False, sealed: bool = True) -> None:
        """`label` stands for the path where a command is shown; `display_word`: the approver reads the text as well.

        `main`: it is the last word, and the processes that the command starts find it too, as multiprocessing needs.
        """
        self.text = text
        self.label = label
        self.shown = shown
        self.main = main and IS_LINUX
        self.fd = -1
        self.fd = create_nameless_file(text.encode(), sealed=sealed)
        self.path = f"/proc/self/fd/{self.fd}" if IS_LINUX else f"/dev/fd/{self.fd}"
        self._paths = re.compile(rf"/(?:proc/(?:self|\d+)|dev)/fd/{self.fd}\b")

    def relabelled(self, output: str) -> str:
        """What a command has printed, with the label in place of the path."""
        return self._paths.sub(self.label, output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let it go; a command that has been started keeps it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


_TEMPS = ("/tmp", "/var/tmp")  # commands have the second one as a link to the first
_EXEC = 'fd=$1; shift; exec "$@" "/proc/$$/fd/$fd"'

Word = str | SealedText  # A word of a command, or a text that it reads


def display_word(word: Word) -> str:
    """A word as it is shown and judged."""
    return word.label if isinstance(word, SealedText) else word


def prepare_words(argv: Sequence[Word], variables: Mapping[str, Word]) -> tuple[list[str], dict[str, str], list[int]]:
    """The words and variables of a command with the paths of its texts in them, and the descriptors it needs."""
    fds = [one.fd for one in (*argv, *variables.values()) if isinstance(one, SealedText)]
    words, last = [_path(one) for one in argv], argv[-1]
    if isinstance(last, SealedText) and last.main:
        # "self" would be another process in each of them; the shell has the number that the program will have.
        words = ["/bin/sh", "-c", _EXEC, "toolroll", str(last.fd), *words[:-1]]
    return words, {name: _path(value) for name, value in variables.items()}, fds


def _path(word: Word) -> str:
    return word.path if isinstance(word, SealedText) else word


Writes = Literal["workspace", "repository", "nothing"]
"""What a command may change: the workspace (as git, which gets its author by settings), or no file of it."""


@dataclass(frozen=True, slots=True)
class StartedCommand:
    """A command on its way."""

    running: RunningCommand
    at: float  # when it was started, in seconds since 1970
    tier: str
    network: bool  # whether it may use the network
    cwd: str
    restored: list[str]  # filled when the command has ended: what it did to the repository and was put back
    auto_run: list[str]
    """Filled when the command has ended: which files it has changed that other programs run by themselves."""
    written: Writer | None = None
    """What it has changed in the workspace, as far as that is known by now."""
    first: Mapping[str, str] = field(default_factory=dict)
    """Its environment without what earlier commands have exported."""
    gate: HostGate | None = None
    """Knows which hosts commands were refused."""
    access: AccessRules | None = None
    """What it may reach."""

    def relabel(self, text: str) -> str:
        """A text of the command, with the path of the workspace in place of that of a fork."""
        alias = self.access.alias if self.access is not None else ""
        return text.replace(self.access.write[0], alias) if self.access is not None and alias else text

    def refused(self) -> list[str]:
        """Which hosts commands were refused since it was started, in words."""
        return [] if self.gate is None else self.gate.lines(self.at, self.running.pid)

    def notes(self) -> list[str]:
        """What is to be said about the command besides its output, once it has ended."""
        return [*self.refused(), *self.restored, *([note(self.auto_run)] if self.auto_run else [])]

    def job_notes(self) -> list[str]:
        """The same for a job, with what it has changed."""
        return [*self.notes(), *(self.written.lines() if self.written is not None else [])]


class CommandLauncher:
    """Starts the commands of one workspace. Nothing is probed or made before the first one."""

    def __init__(
        self,
        root: Root,
        spill: Spill,
        guard: Guard,
        limits: Limits,
        environ: Mapping[str, str],
        git: GitGuard,
        launcher: Launcher,
        secrets: SecretAccess,
    ) -> None:
        self._root = root
        self._spill = spill
        self._policy = guard.policy
        self._secrets = secrets
        self._network = CommandNetwork(guard, environ, root.folders, self._secrets.connection_request)
        self._bounds = limits.memory_bytes, limits.processes, limits.cpu_seconds, limits.file_bytes
        hidden = credential_variables(self._policy.credentials)
        self._environ = {name: value for name, value in environ.items() if name not in hidden} if hidden else environ
        self._git = git
        self._launcher = launcher
        self._identity: Mapping[str, str] | None = None
        self._env: Mapping[str, str] = {}
        self._auto_run = [AutoRunFiles(one.fd, name) for name, one in (("", root), *root.others.items())]
        self._lock = threading.Condition()
        self._sandbox: Sandbox | None = None
        self._temp: str | None = None
        self._shares_temp = False
        self._folders: list[str] = []
        self._running: WeakSet[RunningCommand] = WeakSet()
        self._starting = 0
        self._closed = False
        self._alias = self._changes = self._cgroup = ""
        self._temps: str | None = None  # where temporary folders are made
        self._held = -1

    def find_out(self) -> CommandLauncher:
        """Look for what depends on the workspace as a whole: what `start_from` takes over in a fork."""
        for one in self._auto_run:
            one.scan()
        self._secrets.find_out()
        self._identity = find_identity(self._root, self._environ, self._launcher, ())
        with suppress(OSError):  # then they are not removed after a kill
            import tempfile

            above = os.path.join(tempfile.gettempdir(), f"toolroll-leases-{os.geteuid()}")
            os.makedirs(above, mode=0o700, exist_ok=True)
            self._hold(above)
        return self

    def _hold(self, above: str) -> None:
        """Make temporary folders in one that the next start removes if this process is killed."""
        from toolroll.host.runtime.file_lock import make_held_folder

        self._temps, self._held = make_held_folder(above)

    def start_from(self, base: CommandLauncher, changes: str) -> None:
        """Take over what another one has found out in a frozen workspace; `changes` is a folder with what differs."""
        for own, known in zip(self._auto_run, base._auto_run, strict=True):
            own.start_from(known)
        self._secrets.start_from(base._secrets)
        self._identity, self._changes, self._temps = base._identity, changes, base._temps

    def join_group(self, cgroup: str) -> None:
        """Start commands in this control group."""
        self._cgroup = cgroup

    def sandbox(self, *, confined: bool = True) -> Sandbox:
        """The tier that commands run under; raises ToolError when the policy wants one that there is not."""
        from toolroll.host.sandbox.choose import choose_sandbox

        if not confined:
            return choose_sandbox("none")
        with self._lock:
            self._check()
            if self._sandbox is None:
                self._sandbox = choose_sandbox(self._policy.sandbox).group()
            return self._sandbox

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        seconds: float | None,
        writes: Writes = "workspace",
        extra: Mapping[str, str] | None = None,
        exported: Mapping[str, str | None] | None = None,
        confined: bool = True,
        watch: CaptureWatch | None = None,
        programs: tuple[str, ...] = (),
        **streams: Any,
    ) -> StartedCommand:
        """Start a program while this is `held`; `extra` goes into its environment, as does what earlier commands have
        `exported` (None: unset). `watch` records what it changes; `programs` are all that it may execute, if any;
        `streams` are options of `supervisor.start`, and the `clock` that stops the time."""
        from toolroll.host.shell import supervisor

        sandbox, watched = self.sandbox(confined=confined), self._watch(writes, watch)
        rights = self._secrets.begin_command(sandbox.tier)
        folder, where = self._start_folder(cwd, confined)
        try:
            watched.begin()
            first, began = self._first_environment(argv, writes), time.time()
            env, given = environment.combine(first, exported or {}, extra or {}), {**first, **(extra or {})}
            # No export makes more readable.
            access = rights.limit(self._access(given, self.temp(), writes, watched.guarded), programs)
            bounds = supervisor.ResourceLimits(seconds, *self._bounds, streams.pop("clock", None))
            how = {**streams, "after": watched.end}
            running = supervisor.start(
                argv, sandbox=sandbox, access=access, cwd=folder, env=env, bounds=bounds, spill=self._spill, **how
            )
            self._running.add(running)
            if self._network.gate is not None:
                self._network.gate.begin(running.pid, is_agreed=rights.is_agreed)
            watched.follow(running)
        except Exception:  # it was not started; of an interrupt the command's own thread knows more
            watched.end()
            raise
        finally:
            os.close(folder)
        watched.restored += rights.notes
        told = *watched.notes, given, self._network.gate, access
        return StartedCommand(running, began, sandbox.label, access.network, where, *told)

    def dial(self, host: str, port: int) -> socket.socket | None:
        """A connection to what a command serves on its loopback; None if there is nothing."""
        with self._lock:
            sandbox = None if self._closed else self._sandbox
        return None if sandbox is None else sandbox.dial(host, port)

    def serve(self, argv: Sequence[str], cwd: int, env: Mapping[str, str]) -> ChildProcess:
        """Start a program with pipes on all its streams, without network; it reads the workspace and writes nowhere."""
        from toolroll.host.runtime.launcher import PIPE
        from toolroll.host.sandbox.choose import choose_sandbox
        from toolroll.host.sandbox.tiers import OwnThread

        # None of the group of our commands: they must not find it in their network.
        sandbox, temp = choose_sandbox(self._policy.sandbox), self.temp()
        env_here = {**env, "TMPDIR": temp, "XDG_CACHE_HOME": temp}
        access = replace(self._access(env_here, temp, "nothing"), network=False)
        return OwnThread(sandbox).spawn(access, argv, cwd=cwd, env=env_here, stdin=PIPE, stdout=PIPE, stderr=PIPE)

    def script(self, text: str, suffix: str) -> str:
        """The path of a new file in the temporary folder that holds this text."""
        import tempfile

        fd, path = tempfile.mkstemp(suffix, "code-", self.temp())
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode())
        return path

    def without_temp(self, word: str) -> str:
        """A word as it is shown: the names of temporary files are other ones each time and say nothing."""
        if self._temp is None or self._temp not in word:
            return word
        import re

        return re.sub(rf"{re.escape(self._temp)}/code-\w+", "$TMPDIR/code", word)

    def temp(self) -> str:
        """The private temporary folder, made when first needed together with the environment that names it."""
        with self._lock:
            self._check()
            if self._temp is None:
                import tempfile

                self._temp = tempfile.mkdtemp(prefix="toolroll-", dir=self._temps)
                own = environment.child(self._environ, temp=self._temp, chosen=self._policy.environment)
                self._env = {**own, **self._network.open(self.sandbox, self._temp)}
            return self._temp

    def share_temp(self, folders: Sequence[str] = (), workspace: str = "") -> bool:
        """Show the temporary folder as `/tmp` to all commands; False where that cannot be done.

        It needs bubblewrap, a workspace and a cache folder that are not beneath `/tmp`, and to be the first use.
        Commands then have an empty folder of their own at each path of `folders`, and the workspace at `workspace`.
        """
        import tempfile

        from toolroll.host.files.system import real
        from toolroll.host.runtime.launcher import is_beneath
        from toolroll.host.runtime.user_folders import make_cache_dir
        from toolroll.host.sandbox.bubblewrap import Bubblewrap

        with self._lock:
            made = self.sandbox()
            if isinstance(made, Bubblewrap) and self._temp is None:
                with suppress(OSError):  # a home that cannot be written to
                    place = make_cache_dir("tmp")
                    alias = workspace or self._root.alias
                    shown = (*self._root.folders, alias, real(place) or place)
                    if not any(is_beneath(one, temp) for one in shown for temp in _TEMPS):
                        self._hold(place)
                        self._folders = [tempfile.mkdtemp(dir=self._temps) for _ in folders]
                        own = dict(zip(folders, self._folders, strict=True))
                        made.show_folders({"/tmp": self.temp(), **own}, alias)
                        self._shares_temp, self._alias = True, alias
            return self._shares_temp

    def variables(self) -> Mapping[str, str]:
        """The variables that commands get from us."""
        self.temp()
        return self._env

    def close(self) -> None:
        """End what still runs, remove the temporary folder, and let go what is kept for the next command."""
        self._end()
        self._network.close()
        with self._lock:
            temp, self._temp = self._temp, None
            if self._sandbox is not None:
                self._sandbox.close()
                self._sandbox = None
        if self._held >= 0 or (temp is not None and not self._changes):  # after a lease others are started
            from toolroll.host.shell.process_group import process_registry

            process_registry().rest()
        if temp is not None:  # else no command was started
            import shutil

            # What a command has made unremovable stays where temporary files are swept anyway.
            for one in (temp, *self._folders):
                shutil.rmtree(one, ignore_errors=True)
        if self._held >= 0:
            with suppress(OSError):
                os.rmdir(self._temps or "")
            os.close(self._held)
            self._held = -1

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
            raise ToolError(ErrorCode.CANCELLED, "This kit is closed: no more commands can be started.")

    def _end(self) -> None:
        with self._lock:
            self._closed = True
            self._lock.wait_for(lambda: self._starting == 0)
            running = [one for one in self._running if not one.over]
        if not running:
            return
        from toolroll.host.shell.supervisor import EndReason

        for one in running:
            one.ask(EndReason.CANCELLED)
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
        if not confined:  # settings in the workspace must not reach a program that nothing confines
            return os.open("/", STEP), "/"
        folder = self.folder(cwd)
        try:
            return folder, self._root.absolute(self._root.real(folder))
        except BaseException:
            os.close(folder)
            raise

    def _first_environment(self, argv: Sequence[str], writes: Writes) -> dict[str, str]:
        """The variables of a command before what others have exported."""
        self.temp()
        names: Mapping[str, str] = {}
        if writes == "workspace":
            if self._identity is None:
                self._identity = find_identity(self._root, self._environ, self._launcher, argv)
            names = self._identity or NO_SETTINGS
        return {**self._env, **names}

    def _access(
        self, env: Mapping[str, str], temp: str, writes: Writes, guarded: GuardedCommand | None = None
    ) -> AccessRules:
        from toolroll.host.runtime.launcher import AccessRules
        from toolroll.host.sandbox.toolchains import readable_paths

        workspace = self._root.folders
        read = readable_paths(env, self._policy.readable)
        own: dict[str, Any] = {"network": self._policy.network is True, "cgroup": self._cgroup}
        if writes == "nothing":
            access = AccessRules((temp,), (*read, *workspace), **own)
            return self._root.trust.protect(access)
        hold, keep = self._git.mounts(self._policy.protected, guarded)
        own |= {"alias": self._alias or self._root.alias, "changes": self._changes}
        access = AccessRules((*workspace, temp), read, keep, hold=hold, **own)
        return self._root.trust.protect(access)

    def _watch(self, writes: Writes, capture: CaptureWatch | None) -> _CommandWatch:
        if writes == "nothing":
            return _CommandWatch(None, (), capture)
        return _CommandWatch(self._git if ".git" in self._policy.protected else None, self._auto_run, capture)


class _CommandWatch:
    """Looks after the repository, and after files that other programs run, while a command may write there."""

    def __init__(self, git: GitGuard | None, files: Sequence[AutoRunFiles], capture: CaptureWatch | None) -> None:
        self.restored: list[str] = []
        self.auto_run: list[str] = []
        self.written: Writer | None = None
        self.guarded: GuardedCommand | None = None
        self._capture = capture
        self._git = git
        self._files = files
        self._before: list[dict[str, Stamp]] = []

    def begin(self) -> None:
        self._before = [one.scan() for one in self._files]
        self.written = self._capture.begin() if self._capture is not None else None
        self.guarded = self._git.begin() if self._git is not None else None

    @property
    def notes(self) -> tuple[list[str], list[str], Writer | None]:
        return self.restored, self.auto_run, self.written

    def follow(self, running: RunningCommand) -> None:
        if self.guarded is not None:
            self.guarded.stop = running.ask

    def end(self) -> None:
        if self._git is not None and self.guarded is not None:
            self.restored += self._git.end(self.guarded)
        for files, before in zip(self._files, self._before, strict=False):
            self.auto_run += files.changes(before)
        if self._capture is not None:
            self._capture.end()
        self._git, self._before, self._capture = None, [], None
