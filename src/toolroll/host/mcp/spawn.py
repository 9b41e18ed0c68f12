"""Start an MCP server: confined, with a clean environment and a folder of its own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolroll.host.approval.request import ApprovalRequest
from toolroll.host.linux import waitid
from toolroll.host.runtime.launcher import PIPE, AccessRules, ChildProcess, is_changeable
from toolroll.host.runtime.process_marks import TAG
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.sandbox.toolchains import readable_paths
from toolroll.host.shell.command_checks import authorise_program
from toolroll.host.shell.process_group import process_registry
from toolroll.policy import environment
from toolroll.policy.effects import Effect
from toolroll.policy.rules import MODES
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.capture.capture import Capture
    from toolroll.host.files.root import Root
    from toolroll.host.mcp.config import ServerConfig
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.state import State
    from toolroll.host.sandbox.git.guard import GitGuard, GuardedCommand
    from toolroll.host.shell.command_launcher import Writes

_END_TIMEOUT_S = 5.0
# Package runners such as npx and uvx, and servers that store data, get private folders that persist.
_FOLDERS = ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "npm_config_cache", "UV_CACHE_DIR", "UV_TOOL_DIR")


@dataclass(frozen=True, slots=True)
class McpProcess:
    """The process of a running server."""

    process: ChildProcess
    """With pipes on all its streams. Do not wait for it before `over` is set."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set when it and all its children have ended."""

    def end(self) -> None:
        """Kill it with all its children, and wait for their end."""
        self.kill()
        self.over.wait(_END_TIMEOUT_S)

    def kill(self) -> None:
        if self.process.returncode is None:
            _kill(self.process.pid)


@dataclass(frozen=True, slots=True)
class McpSpawner:
    """Starts servers in one workspace."""

    root: Root
    state: State
    guard: Guard
    environment: Mapping[str, str]
    git: GitGuard
    capture: Capture

    def captured(self, config: ServerConfig, call: Call, tool: str) -> AbstractContextManager[object]:
        """Around a call of a server's tool: what a server with write access changes meanwhile is recorded.

        A server goes on between calls, so it cannot be held in a fork: the approver is asked before its first call.
        """
        if config.url or self.writes(config) == "nothing":
            return nullcontext()
        if self.guard.policy.commit != "auto":
            why = f"what the MCP server {config.name!r} changes cannot be looked at before it lands"
            key, covers = ("server", config.name), f"every call of the MCP server {config.name!r}"
            self.guard.require(
                ApprovalRequest(call.name, Effect.WRITE | Effect.DELETE, call.arguments, why, key=key, covers=covers)
            )
        return self.capture.captured(call, f"{config.name}: {tool}")

    def writes(self, config: ServerConfig) -> Writes:
        """What a server may change: its configuration, within the mode and the policy."""
        allowed = MODES[self.guard.mode] & ~self.guard.policy.deny
        return config.writes if Effect.WRITE in allowed else "nothing"

    def start(self, config: ServerConfig) -> McpProcess:
        if self._runs_workspace(config):
            authorise_program(
                self.guard, self.guard.policy.commands or "native", f"the MCP server {config.name!r}", config.command
            )
        own = self._make_own_folder(config.name)
        places = {name: f"{own}/{name.lower()}" for name in _FOLDERS}
        env = environment.child(self.environment, temp=f"{own}/tmp", extra={**places, **config.env})
        cwd = self._open_cwd(config.cwd)
        guards = self.writes(config) == "workspace" and ".git" in self.guard.policy.protected
        guarded = self.git.begin() if guards else None
        after = None if guarded is None else lambda: self.git.end(guarded)
        try:
            reach = self._reach(config, env, own, guarded)
            spawned = _start_in_thread(self.guard.policy.sandbox, reach, config.command, cwd, env, after)
            if guarded is not None:
                guarded.stop = spawned.kill
            return spawned
        except Exception:
            if after is not None:
                after()
            raise
        finally:
            os.close(cwd)

    def _runs_workspace(self, config: ServerConfig) -> bool:
        """Whether the command of a server names a file that commands can change."""
        import shutil

        cwd, first = os.path.join(self.root.path, config.cwd), config.command[0]
        on_path = "/" not in first and shutil.which(first, path=self.environment.get("PATH"))
        named = (os.path.join(cwd, place, word) for word in config.command for place in ("", "node_modules/.bin"))
        paths = [on_path or "", *(one for one in named if os.path.isfile(one))]
        return any(is_changeable(one, self.root.folders) for one in paths if one)

    def _make_own_folder(self, name: str) -> str:
        self.state.folder(f"servers/{name}/tmp")
        return f"{self.state.path}/servers/{name}"

    def _open_cwd(self, cwd: str) -> int:
        if not os.path.isabs(cwd):
            return self.root.folder(cwd)
        try:
            return os.open(cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ToolError(ErrorCode.EXECUTION, f"Cannot enter {cwd!r}, its 'cwd': {error.strerror}.") from error

    def _reach(
        self, config: ServerConfig, env: Mapping[str, str], own: str, guarded: GuardedCommand | None
    ) -> AccessRules:
        policy, workspace = self.guard.policy, self.root.folders
        network = (policy.network is True or config.network) and Effect.NETWORK not in policy.deny
        named = tuple(path for word in (*config.command, config.cwd) for path in _needed_paths(word))
        read = readable_paths(env, (*policy.readable, *config.read, *named))
        writes = self.writes(config)
        if writes == "nothing":
            return self.root.trust.protect(AccessRules((own,), (*read, *workspace), network=network))
        hold, keep = self.git.mounts(policy.protected, guarded) if writes == "workspace" else ((), ())
        return self.root.trust.protect(AccessRules((*workspace, own), read, keep, hold=hold, network=network))


def _needed_paths(word: str) -> Iterator[str]:
    """The paths that a word of the command needs: the file it names, and the package folder around that."""
    if not os.path.isabs(word) or not os.path.exists(word):
        return
    yield word
    head, found, _ = word.partition("/node_modules/")
    if found:
        yield f"{head}/node_modules"
    above = os.path.dirname(os.path.dirname(word))
    if os.path.exists(f"{above}/pyvenv.cfg"):
        yield above


def _start_in_thread(
    wanted: str,
    reach: AccessRules,
    argv: tuple[str, ...],
    cwd: int,
    env: Mapping[str, str],
    after: Callable[[], object] | None,
) -> McpProcess:
    """Start the program from a thread that lives as long: some tiers kill it when the starting thread ends.

    `after` is called when it and all its children have ended.
    """
    sandbox = choose_sandbox(wanted)
    started: Future[McpProcess] = Future()

    def run() -> None:
        family = process_registry().enter(lambda: _kill(family.first))
        try:
            tagged = {**env, TAG: family.marks.tag}
            process = sandbox.spawn(reach, argv, cwd=cwd, env=tagged, stdin=PIPE, stdout=PIPE, stderr=PIPE)
            family.begin(process.pid)
            spawned = McpProcess(process)
            started.set_result(spawned)
            waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
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

    threading.Thread(target=run, name="toolroll mcp server", daemon=True).start()
    return started.result()


def _kill(pid: int) -> None:
    if pid:
        with suppress(ProcessLookupError, PermissionError):  # macOS denies it for a group of zombies
            os.killpg(pid, signal.SIGKILL)
