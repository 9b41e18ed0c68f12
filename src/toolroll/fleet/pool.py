"""The frozen base of a fleet, and what all its leases in one process share."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from toolroll.fleet.lease import Lease
from toolroll.host.fleet.cgroups import CONTROLLERS, LeaseGroups
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.fleet.lease_capture import FrozenListing
from toolroll.host.fleet.lease_limits import DiskWatch, LeaseLimits
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.settings import load_settings
from toolroll.kit import Kit
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError
from toolroll.services import change_limits
from toolroll.steps import ConcurrencyLimit

if TYPE_CHECKING:
    from toolroll.fleet.remote_lease import RemotePools
    from toolroll.forked_kit import ForkedKit
    from toolroll.host.forks.fork import Fork
    from toolroll.host.search.live_files import LiveFiles
    from toolroll.host.settings import Settings
    from toolroll.host.shell.command_launcher import CommandLauncher

_RECIPE_SECONDS = 3600.0
_LIST_SECONDS = 600.0
_COMMANDS_PER_CORE = 4  # at once in a process: more of them only take memory
_MAX_SAID = 2_000


class PoolKit(Kit):
    """The kit on a frozen base. Its forks are leases."""

    reads_ahead = False

    def __init__(
        self, path: str, state: str, limits: Mapping[str, Any], *, prepared_at: str = "", **options: Any
    ) -> None:
        """`limits` are those of each lease, by name; ValueError for an unknown one.

        A lease has also the path of the folder where the recipe ran, which may be one of another machine: what was
        installed there may name itself by it.
        """
        self.prepared_at = prepared_at
        self.lease_limits = cast("LeaseLimits", change_limits(LeaseLimits(), limits))
        self.at_once = ConcurrencyLimit(_COMMANDS_PER_CORE * (os.cpu_count() or 1))
        self.disk = DiskWatch()
        self.frozen_ns = time.time_ns()
        self.wording = cache(self._make_wording)  # that of leases too
        self._why_no_groups = "its control group has no controller for cpu"
        of_calls = {name: value for name, value in limits.items() if name in Limits.__slots__}
        if (disk := self.lease_limits.disk_bytes) is not None:
            of_calls = {"file_bytes": disk, "jobs": 0, **of_calls}  # the disk is watched while a call runs
        super().__init__(path, state_dir=state, limits=of_calls or None, **options)

    @cached_property
    def lease_settings(self) -> Settings:
        """Those of the base, but no lease starts language servers by itself: memory has no room for a thousand."""
        return self.settings.override(verdict="syntax") if self.settings.verdict == "full" else self.settings

    def _open_forked_kit(self, fork: Fork, number: int) -> ForkedKit:
        return Lease(self, fork, number)

    def lease(self) -> Lease:
        """A new lease, which the caller closes."""
        return cast("Lease", self.fork())

    def prepare_base(self, recipe: Sequence[str], token: CancelToken | None = None) -> None:
        """Run the commands that prepare the base; ToolError for one that fails."""
        for command in recipe:
            done = self.exec(command, timeout=_RECIPE_SECONDS, token=token)
            if done.code != 0:
                said = (done.stdout + done.stderr)[-_MAX_SAID:].decode(errors="replace").strip()
                why = f"status {done.code}): {said}" if said else f"status {done.code}, and it printed nothing)."
                raise ToolError(ErrorCode.EXECUTION, f"The recipe fails at {command!r} ({why}")

    @cached_property
    def groups(self) -> LeaseGroups | None:
        """The control groups of the leases; None where no group was delegated to this process."""
        try:
            return LeaseGroups()
        except OSError as error:
            self._why_no_groups = str(error.strerror)
            return None

    def say_enforced(self) -> str:
        """How the limits of leases are enforced."""
        if self.groups is None:
            return "per process"
        names = ", ".join(CONTROLLERS[one] for one in self.groups.controllers)
        return f"cgroup: {names}; others per process"

    def find_problem(self) -> str:
        """What is said at the start of a limit that cannot be held; empty if there is none."""
        is_held = "cpus" in self.say_enforced()  # looks for groups now, before there are leases
        if is_held or self.lease_limits.cpus is None:
            return ""
        return f"the limit cpus is not held: {self._why_no_groups}"

    def close(self) -> None:
        super().close()
        if groups := self.__dict__.pop("groups", None):
            groups.close()

    def warm_up(self) -> None:
        """List the base, so that no lease waits for that."""
        self.frozen_ns = time.time_ns()
        if self.files is not None:
            self.files.wait_until_ready(_LIST_SECONDS)
        _ = self.listing, self.launcher

    @property
    def files(self) -> LiveFiles | None:
        """The file table of the base, if there is one."""
        return self._services.search.files

    @cached_property
    def launcher(self) -> CommandLauncher:
        """Knows what the commands of leases need not find out again."""
        return self._services.shell.find_out()

    @cached_property
    def listing(self) -> FrozenListing:
        """What stands at each path of the base."""
        return FrozenListing(self._services.root, self._services.launcher)


def freeze(
    base: str | os.PathLike[str],
    commit: str | None,
    recipe: Sequence[str],
    engine: str,
    token: CancelToken | None = None,
    **options: Any,
) -> FrozenCopy:
    """A frozen copy, prepared, and listed if it is used here; ToolError where that fails. The caller closes it.

    `token` ends the recipe.
    """
    frozen = FrozenCopy(os.fspath(base), commit, Limits().fork_bytes)
    try:
        kit = PoolKit(frozen.path, frozen.state, {}, **options)
        try:
            kit.prepare_base(recipe, token)
            if engine == "local":
                kit.warm_up()
        finally:
            kit.close()
    except BaseException:
        frozen.close()
        raise
    return frozen


class Fleet:
    """Leases of one base: a folder as it is now, or a repository at a commit. Also a context manager.

    What is not given is as the user's configuration has it for the base.

    The `recipe`, commands that prepare the base, runs once in a copy, which is then frozen and listed. `limits` are
    those of each lease by name: `cpu_seconds`, `cpus`, `memory_bytes`, `disk_bytes`, `seconds`, and those of `Kit`.
    Further options are those of `Kit`. The `engine` says where leases are: "local", "ssh:host1,host2",
    "docker:container" or "kubectl:[namespace/]pod"; `problems` names what is wrong with single nodes.
    """

    def __init__(
        self,
        base: str | os.PathLike[str],
        *,
        commit: str | None = None,
        recipe: Sequence[str] = (),
        limits: Mapping[str, Any] | None = None,
        engine: str = "local",
        **options: Any,
    ) -> None:
        """ToolError where the base does not exist, cannot be copied, its recipe fails, or no node can be used."""
        base = os.path.expanduser(base)
        options["settings"] = options.get("settings") or load_settings(base)  # not those of where the copy is
        with ExitStack() as closing:
            frozen = freeze(base, commit, recipe, engine, **options)
            closing.callback(frozen.close)
            self.problems: list[str] = []
            self._pool = self._open_pool(engine, frozen, limits or {}, options)
            closing.callback(self._pool.close)
            self._closing = closing.pop_all()

    def _open_pool(
        self, engine: str, frozen: FrozenCopy, limits: Mapping[str, Any], options: dict[str, Any]
    ) -> PoolKit | RemotePools:
        if engine != "local":
            from toolroll.fleet.remote_lease import RemotePools

            return RemotePools(engine, frozen, limits, options, self.problems)
        kit = PoolKit(frozen.path, frozen.state, limits, **options)
        self.problems += filter(None, [kit.find_problem()])
        kit.warm_up()
        return kit

    def lease(self) -> Lease:
        """A kit on a new fork of the base, isolated from all others. The caller closes it."""
        return self._pool.lease()

    def close(self) -> None:
        """Remove every lease, and the base."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
