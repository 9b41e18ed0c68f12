"""The only place that starts processes.

`start_process` holds the one call of `Popen`. Commands and servers reach it through a `Sandbox`, which
`host/sandbox` implements. Programs that toolroll needs for itself (ripgrep, git, parsers, the index builder) go through
a `Launcher`, which confines each to its access and finds it where no command can write. `run_for_operator` is for the
command line alone: no tool can reach it.
"""

from __future__ import annotations

import errno
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from toolroll.host.linux import IS_DARWIN
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import socket
    import subprocess

ChildProcess: TypeAlias = "subprocess.Popen[bytes]"
_F_GETPATH = 50  # of macOS
_MAX_LINKS = 40
PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # the folder of toolroll itself
PIPE, STDOUT, DEVNULL = -1, -2, -3
"""As subprocess has them: it is imported with the first process, for it takes a while."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """What one process may reach."""

    write: tuple[str, ...]  # absolute folders that it may change: the workspace, a private temporary folder
    read: tuple[str, ...] = ()  # absolute files and folders that it may read besides the system's own: toolchains
    keep: tuple[str, ...] = ()
    """Absolute paths inside `write` that stay as they are where the tier can hold that; some may be missing."""
    lock: tuple[str, ...] = ()
    """The same for what must stay as it is: a tier that cannot hold that does not start the process."""
    hold: tuple[str, ...] = ()
    """Absolute folders inside `write` that stay where they are where the tier can hold that, while their content may
    change; some may be missing."""
    hide: tuple[str, ...] = ()
    """Absolute paths inside `write` or `read` that it may neither read nor change: secrets; some may be missing."""
    alias: str = ""  # a second path at which the first folder of `write` is, where the tier can show it there
    changes: str = ""
    """Where all that was written in the first folder of `write` is, if that is known: the rest of it is frozen."""
    network: bool = False
    terminal: str = ""
    """The terminal that its streams are, by its path: it becomes the controlling one."""
    programs: tuple[str, ...] = ()
    """The absolute files and folders that it may execute, if not all that it may read. Under bubblewrap the folders of
    the system's programs hold only these, and what it can write it can execute."""
    system: bool = True  # whether it may read the system's own programs, libraries and settings
    cgroup: str = ""
    """The folder of the control group that it starts in, with all that it starts; empty for ours."""

    def __post_init__(self) -> None:
        for path in (*self.write, *self.read, *self.keep, *self.lock, *self.hold, *self.hide):
            if not path.startswith("/"):
                raise ValueError(f"access rules hold absolute paths only, not {path!r}")


@dataclass(frozen=True, slots=True)
class StartOptions:
    """How a process is started."""

    cwd: int
    env: Mapping[str, str]
    streams: tuple[int, int, int]
    pass_fds: Sequence[int] = ()
    cgroup: int | None = None
    """A descriptor: what is written to it as "0" joins the control group."""


class Sandbox(ABC):
    """One way to start a process within its access rules. Safe to use from many threads."""

    tier: str
    label: str  # the tier as results name it: which one, and where there are several, whose
    gaps: tuple[str, ...] = ()  # what this tier does not hold on this machine, in words
    whole: bool = False  # killing the first process ends all that it started

    def group(self) -> Sandbox:
        """The same for commands that may know of each other: they share what takes time to make, until `close`."""
        return self

    def make_socket(self, family: int, *, datagrams: bool = False) -> socket.socket | None:  # noqa: ARG002
        """A socket, of streams or datagrams, in the network that the commands of the group share; None for none."""
        return None

    def find_command(self, connection: socket.socket) -> int:  # noqa: ARG002
        """The command of the group that has connected to a socket of ours, by its first process; 0 for none.

        A connection is asked about once.
        """
        return 0

    def set_resolver(self, address: str) -> None:  # noqa: B027 - most have no network of their own
        """Let the commands of the group ask the name server at this address of their network."""

    def dial(self, host: str, port: int) -> socket.socket | None:  # noqa: ARG002
        """A connection to what a command of the group serves on its loopback; None for what is served by others."""
        return None

    def open_port(self, port: int) -> bool:  # noqa: ARG002
        """Let the commands of the group connect to a port of our own loopback; False where they have another one."""
        return False

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """No more commands of the group will come; those that run go on."""

    def spawn(
        self,
        access: AccessRules,
        argv: Sequence[str],
        *,
        cwd: int,
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
        pass_fds: Sequence[int] = (),
    ) -> ChildProcess:
        """Start the process in the folder `cwd`, a descriptor, in a session of its own.

        The calling thread must outlive the process: where a tier lets it die with its parent, the kernel takes the
        thread for the parent. ToolError for a program that is missing or cannot be run.
        """
        how = StartOptions(cwd, env, (stdin, stdout, stderr), pass_fds)
        if not access.cgroup:
            return self._spawn(access, argv, how)
        with open(f"{access.cgroup}/cgroup.procs", "wb", buffering=0) as group:
            return self._spawn(access, argv, replace(how, cgroup=group.fileno()))

    @abstractmethod
    def _spawn(self, access: AccessRules, argv: Sequence[str], how: StartOptions) -> ChildProcess: ...


# A process cannot be started in another group than ours, and one that is moved later may have started others by then.
_JOIN_GROUP = ("/bin/bash", "-p", "-c", 'fd=$1; shift; echo 0 >&"$fd" && exec "$@" {fd}>&-', "toolroll")
_OPEN_TERMINAL = 'exec 0<>"$0" 1>&0 2>&0 && exec "$@"'


def lead_terminal(argv: Sequence[str], access: AccessRules) -> Sequence[str]:
    """The words that start a program as the leader of its terminal, in a process that leads a session already."""
    # A leader that has no controlling terminal gets the one that it opens.
    return ["/bin/sh", "-c", _OPEN_TERMINAL, access.terminal, *argv] if access.terminal else argv


def prepare_to_start() -> None:
    """Import what `start_process` needs, for a thread that will not be able to read files any more."""
    import subprocess  # noqa: F401


def start_process(
    argv: Sequence[str],
    folder: str,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
    pass_fds: Sequence[int] = (),
    *,
    session: bool = True,
    cgroup: int | None = None,
) -> ChildProcess:
    """Start a program in a session of its own, as the calling thread is confined; ToolError if it cannot be.

    Without a `session` it has a process group of its own in ours. `cgroup` is that of `StartOptions`.
    """
    import subprocess

    check_words(argv, env)
    if cgroup is not None:
        argv, pass_fds = _join_group(argv, folder, env, cgroup), (*pass_fds, cgroup)
    stdin, stdout, stderr = streams
    try:
        return subprocess.Popen(
            list(argv),
            cwd=folder,
            env=dict(env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            bufsize=0,
            pass_fds=tuple(pass_fds),
            start_new_session=session,
            process_group=None if session else 0,
        )
    except OSError as error:
        if error.filename == folder and argv[0] != folder:
            raise ToolError(ErrorCode.EXECUTION, f"Cannot enter the folder to work in: {error.strerror}.") from error
        raise cannot_run(argv[0], error.errno) from error


def _join_group(argv: Sequence[str], folder: str, env: Mapping[str, str], cgroup: int) -> Sequence[str]:
    """The words that join a control group first; ToolError for a program that is missing, as without them."""
    places = [folder] if "/" in argv[0] else env.get("PATH", os.defpath).split(os.pathsep)
    found = [os.path.join(one, argv[0]) for one in places]
    if not any(map(_is_program, found)):
        raise cannot_run(argv[0], errno.EACCES if any(map(os.path.exists, found)) else errno.ENOENT)
    return [*_JOIN_GROUP, str(cgroup), *argv]


def is_changeable(program: str, workspace: Sequence[str]) -> bool:
    """Whether commands can write to a program: it is in a folder of the workspace, and not in our own environment."""
    own = os.path.realpath(sys.prefix)
    return any(
        not is_beneath(one, own) and any(is_beneath(one, folder) for folder in workspace)
        for one in (os.path.normpath(program), os.path.realpath(program))
    )


class Launcher:
    """Starts the programs that toolroll needs for itself, each confined to its access. One for a kit."""

    def __init__(self, sandbox: Callable[[], Sandbox], path: str, *workspace: str) -> None:
        """`sandbox` is asked for with the first process; `path` is where programs are looked for, as PATH has it.

        Nothing is taken from the folders of the `workspace`, which commands can write, but from our own environment
        in them, which they cannot.
        """
        self._sandbox = sandbox
        self._workspace = tuple(map(os.path.realpath, workspace))
        places = (one for one in path.split(os.pathsep) if os.path.isabs(one) and not self.is_changeable(one))
        self.path = os.pathsep.join(places) or os.defpath
        self._found: dict[str, str | None] = {}

    def find(self, name: str) -> str | None:
        """The absolute path of a program that no command can replace, looked up once; None if there is none."""
        if name not in self._found:
            beside = os.path.dirname(os.path.abspath(sys.executable))
            places = beside, *self.path.split(os.pathsep)
            candidates = (os.path.join(os.path.realpath(place), name) for place in places)
            found = (_behind(one) for one in candidates if _is_program(one) and not self.is_changeable(one))
            self._found[name] = next(found, None)
        return self._found[name]

    def program(self, name: str) -> str:
        """As `find`, but ToolError if there is none."""
        found = self.find(name)
        if found is None:
            raise cannot_run(name, errno.ENOENT)
        return found

    def start(
        self,
        argv: Sequence[str],
        access: AccessRules,
        *,
        cwd: int,
        stdin: int = DEVNULL,
        stdout: int = DEVNULL,
        stderr: int = DEVNULL,
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
    ) -> ChildProcess:
        """Start a program, named by its absolute path, in the folder `cwd`, a descriptor.

        It gets PATH and LANG and nothing else of our environment but what is in `env`.
        """
        if not os.path.isabs(argv[0]):
            raise ValueError(f"a program of ours is started by its absolute path, not {argv[0]!r}")
        given = {"PATH": self.path, "LANG": "C.UTF-8", **(env or {})}
        return self._sandbox().spawn(
            access, argv, cwd=cwd, env=given, stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=pass_fds
        )

    def start_python(
        self,
        code: str,
        words: Sequence[str] = (),
        access: AccessRules | None = None,
        *,
        cwd: int | None = None,
        **how: Any,
    ) -> ChildProcess:
        """Start our own Python on `code`, which finds `words` in `sys.argv` and imports only what it is given there.

        Besides its `access` it may read the system, the interpreter and the packages of `module_paths`.
        """
        within = AccessRules(()) if access is None else access
        within = replace(within, read=(*within.read, *python_paths()))
        folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if cwd is None else os.dup(cwd)
        try:
            return self.start([sys.executable, "-I", "-S", "-c", code, *words], within, cwd=folder, **how)
        finally:
            os.close(folder)

    def is_changeable(self, program: str) -> bool:
        """Whether commands of this workspace can write to a program."""
        return is_changeable(program, self._workspace)


def module_paths() -> list[str]:
    """Where our own children import from: what this process does, without what is relative to a folder."""
    return [os.path.abspath(path) for path in sys.path if os.path.isabs(path)]


def python_paths() -> tuple[str, ...]:
    """What a child that runs our own Python must be able to read: it, the packages, and links on the way to it."""
    folders = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, PACKAGE, *module_paths())
    return tuple(dict.fromkeys(one for one in (*folders, *_links(sys.executable)) if os.path.exists(one)))


def _links(path: str) -> Iterator[str]:
    """A path, and what it is a link to, until that is none: an environment's Python is often a link to a link."""
    for _ in range(_MAX_LINKS):
        yield path
        if not os.path.islink(path):
            return
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))


def _behind(program: str) -> str:
    """Where a link to a program leads, so that no other link on the way matters; some go by the name of the link."""
    real = os.path.realpath(program)
    return real if os.path.basename(real) == os.path.basename(program) else program


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def is_beneath(path: str, folder: str) -> bool:
    """Whether `path` is the folder or in it, by their names alone."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def outermost(paths: Iterable[str]) -> list[str]:
    """The paths without those that lie in another of them, sorted."""
    found: list[str] = []
    for path in sorted(paths, key=lambda one: one.rstrip("/") + "/"):
        if not found or not is_beneath(path, found[-1]):
            found.append(path)
    return found


def works_in_a_child(work: Callable[[], object]) -> bool:
    """Whether this ends without an error in a copy of this process, which must have no other threads."""
    if (child := os.fork()) == 0:
        failed = 1
        try:
            work()
            failed = 0
        finally:
            os._exit(failed)
    return os.waitpid(child, 0)[1] == 0


def run_for_operator(argv: Sequence[str]) -> int:
    """Run a program for the person at the command line, with all their rights and their terminal; its exit status."""
    import subprocess

    with subprocess.Popen(list(argv), stdin=DEVNULL) as child:
        try:
            return child.wait()
        except BaseException:
            child.kill()
            raise


def read_output(process: ChildProcess, seconds: float) -> tuple[bytes, bool]:
    """What a process prints to stdout until it ends, and whether it did in time; it is killed if not."""
    import subprocess

    try:
        return process.communicate(timeout=seconds)[0], True
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0], False


def wait_for(process: ChildProcess, seconds: float) -> int | None:
    """The exit status of a process, or None if it still runs after so many seconds."""
    import subprocess

    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def check_words(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """ToolError for what no program can be started with: no words at all, a NUL in one, a variable without a name."""
    if not argv or not argv[0]:
        raise ToolError(ErrorCode.VALIDATION, "The command is empty. Give a program to run.")
    for name in env:
        if not name or "=" in name:
            raise ToolError(ErrorCode.VALIDATION, f"{name!r} is no name for a variable. Give one without '='.")
    if any("\0" in text for text in (*argv, *env, *env.values())):
        raise ToolError(ErrorCode.VALIDATION, "The command holds a NUL byte, which no program takes. Remove it.")


def cannot_run(program: str, number: int | None) -> ToolError:
    """The error for a program that did not start, by its errno. Not a FileNotFoundError: that is a file named."""
    why = os.strerror(number or 0)
    what_next = {
        errno.ENOENT: " Check its name, or that it is installed where commands may read.",
        errno.EACCES: " It is not executable, or lies where commands may not read.",
        errno.E2BIG: " Put long text into a file and name the file.",
        errno.ENOEXEC: " It is no program of this machine; name the interpreter that runs it.",
    }
    return ToolError(ErrorCode.EXECUTION, f"Cannot run {program!r}: {why}.{what_next.get(number or 0, '')}")


def folder_path(fd: int) -> str:
    """A path by which a child of this process can enter the folder `fd`, wherever that has been moved to."""
    if IS_DARWIN:
        import fcntl

        return os.fsdecode(fcntl.fcntl(fd, _F_GETPATH, bytes(1024)).rstrip(b"\0"))
    return f"/proc/self/fd/{fd}"  # the child has a copy of the descriptor until its exec
