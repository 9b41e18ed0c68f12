"""How a server of the operator's is started: confined, with a clean environment and a folder of its own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolroll.policy.effects import Effect
from toolroll.policy.rules import MODES
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.files.root import Root
    from toolroll.host.mcp.config import Entry
    from toolroll.host.runtime.launcher import AccessRules, ChildProcess
    from toolroll.host.runtime.state import State
    from toolroll.host.sandbox.git.guard import GitGuard, GuardedCommand
    from toolroll.host.shell.command_launcher import Writes

_LONGEST_END = 5.0  # seconds
# Package runners such as npx and uvx, and servers that keep data, get folders that last and are nobody else's.
_FOLDERS = ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "npm_config_cache", "UV_CACHE_DIR", "UV_TOOL_DIR")


@dataclass(frozen=True, slots=True)
class Spawned:
    """A server that runs."""

    process: ChildProcess
    """With pipes on all its streams. It must not be waited for before it is over."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set when it has ended and nothing that it started is left."""

    def end(self) -> None:
        """Kill it and all that it started; returns when nothing of it is left."""
        self.kill()
        self.over.wait(_LONGEST_END)

    def kill(self) -> None:
        """Kill it without waiting for the end."""
        if self.process.returncode is None:
            _kill(self.process.pid)


class Spawner:
    """Starts servers in one workspace."""

    def __init__(self, root: Root, state: State, guard: Guard, environment: Mapping[str, str], git: GitGuard) -> None:
        self._root = root
        self._state = state
        self._guard = guard
        self._environment = environment
        self._git = git

    def writes(self, entry: Entry) -> Writes:
        """What a server may change: what its entry says, and nothing where nobody may."""
        allowed = MODES[self._guard.mode] & ~self._guard.policy.deny
        return entry.writes if Effect.WRITE in allowed else "nothing"

    def start(self, entry: Entry) -> Spawned:
        """The running server; ToolError when it cannot be started."""
        from toolroll.policy import environment

        own = self._own(entry.name)
        places = {name: f"{own}/{name.lower()}" for name in _FOLDERS}
        env = environment.child(self._environment, temp=f"{own}/tmp", extra={**places, **entry.env})
        cwd = self._folder(entry.cwd)
        guards = self.writes(entry) == "workspace" and ".git" in self._guard.policy.protected
        guarded = self._git.begin() if guards else None
        after = None if guarded is None else lambda: self._git.end(guarded)
        try:
            reach = self._reach(entry, env, own, guarded)
            spawned = _kept(self._guard.policy.sandbox, reach, entry.command, cwd, env, after)
            if guarded is not None:
                guarded.stop = spawned.kill
            return spawned
        except Exception:
            if after is not None:
                after()
            raise
        finally:
            os.close(cwd)

    def _own(self, name: str) -> str:
        self._state.folder(f"servers/{name}/tmp")
        return f"{self._state.path}/servers/{name}"

    def _folder(self, cwd: str) -> int:
        if not os.path.isabs(cwd):
            return self._root.folder(cwd)
        try:
            return os.open(cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ToolError(ErrorCode.EXECUTION, f"Cannot enter {cwd!r}, its 'cwd': {error.strerror}.") from error

    def _reach(self, entry: Entry, env: Mapping[str, str], own: str, guarded: GuardedCommand | None) -> AccessRules:
        from toolroll.host.runtime.launcher import AccessRules
        from toolroll.host.sandbox.toolchains import readable_paths

        policy, workspace = self._guard.policy, self._root.path
        network = (policy.network or entry.network) and Effect.NETWORK not in policy.deny
        named = tuple(path for word in (*entry.command, entry.cwd) for path in _behind(word))
        read = readable_paths(env, (*policy.readable, *entry.read, *named))
        writes = self.writes(entry)
        if writes == "nothing":
            return self._root.trust.protect(AccessRules((own,), (*read, workspace), network=network))
        hold, keep = self._git.mounts(policy.protected, guarded) if writes == "workspace" else ((), ())
        return self._root.trust.protect(AccessRules((workspace, own), read, keep, hold=hold, network=network))


def _behind(word: str) -> Iterator[str]:
    """What must be readable for a word of the command: the path that it names, and the packages that it is one of."""
    if not os.path.isabs(word) or not os.path.exists(word):
        return
    yield word
    head, found, _ = word.partition("/node_modules/")
    if found:
        yield f"{head}/node_modules"
    above = os.path.dirname(os.path.dirname(word))
    if os.path.exists(f"{above}/pyvenv.cfg"):
        yield above


def _kept(
    wanted: str,
    reach: AccessRules,
    argv: tuple[str, ...],
    cwd: int,
    env: Mapping[str, str],
    after: Callable[[], object] | None,
) -> Spawned:
    """The program, with a thread that stays while it does: some tiers end it with the thread that has started it.

    `after` is called when nothing of it is left.
    """
    from concurrent.futures import Future

    from toolroll.host.runtime.launcher import PIPE
    from toolroll.host.sandbox.choose import choose_sandbox
    from toolroll.host.shell.process_group import process_registry
    from toolroll.host.shell.process_marks import TAG

    sandbox = choose_sandbox(wanted)
    started: Future[Spawned] = Future()

    def keep() -> None:
        family = process_registry().enter(lambda: _kill(family.first))
        try:
            tagged = {**env, TAG: family.marks.tag}
            process = sandbox.spawn(reach, argv, cwd=cwd, env=tagged, stdin=PIPE, stdout=PIPE, stderr=PIPE)
            family.begin(process.pid)
            spawned = Spawned(process)
            started.set_result(spawned)
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            family.end(over=True, whole=sandbox.whole)
            if after is not None:
                after()
            spawned.over.set()
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)
        finally:
            process_registry().leave(family)

    threading.Thread(target=keep, name="toolroll mcp server", daemon=True).start()
    return started.result()


def _kill(pid: int) -> None:
    """End a process and its group, if there is one yet and still."""
    if pid:
        with suppress(ProcessLookupError, PermissionError):  # macOS denies it for a group of zombies
            os.killpg(pid, signal.SIGKILL)
