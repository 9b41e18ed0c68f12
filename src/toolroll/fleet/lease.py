"""A lease: a kit on a fork of a frozen base, with limits, and with the base's file table and listing."""

from __future__ import annotations

import os
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from toolroll.forked_kit import ForkedKit
from toolroll.host.fleet.cgroups import remove_group
from toolroll.host.fleet.lease_capture import LeaseCapture, NoVault
from toolroll.host.fleet.lease_limits import LeaseLimits, measure_disk, over_disk
from toolroll.host.forks.place import UPPER
from toolroll.kit import Kit
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.dialect import View
    from toolroll.fleet.pool import PoolKit
    from toolroll.host.capture.capture import Capture
    from toolroll.host.context import Context, Deferred
    from toolroll.host.forks.fork import Fork
    from toolroll.host.search.search import Search
    from toolroll.host.shell.shell import Shell
    from toolroll.steps import Proceed, Step
    from toolroll.wording import DialectWording

_OF_CALLS = tuple(one.name for one in fields(Limits))
_OF_LEASES = ("disk_bytes", "seconds", "cpus")
_RUNS = Effect.RUN | Effect.SHELL


class Lease(ForkedKit):
    """A kit on a fork of a frozen base. `close` removes all that it has written."""

    def __init__(self, pool: PoolKit, fork: Fork, number: int) -> None:
        super().__init__(pool, fork, number)
        self._pool = pool
        self._upper = os.path.join(os.path.dirname(fork.state), UPPER) if fork.kind == "overlay" else ""
        self._started = time.monotonic()
        self._cgroup, self._copied = "", 0

    def _open_on_fork(self, base: Kit, fork: Fork) -> None:
        """Open the kit. A frozen base does not change, so it need not wait."""
        own = self._options_of(base) | {"settings": self._pool.lease_settings}
        Kit.__init__(self, fork.path, base.dialect, base.mode, state_dir=fork.state, **own)
        services = self._services
        services.root.stand_for(self._pool.prepared_at or base.workspace)
        if not self._upper and self._pool.lease_limits.disk_bytes is not None:
            self._copied = measure_disk(fork.path)
        if self._pool.groups is not None or self._is_listed:
            cast("Deferred", services.shell).open_by(self._open_shell)
        if self._is_listed:
            cast("Deferred", services.search).open_by(self._open_search)
            cast("Deferred", services.capture).open_by(self._open_capture)
            services.git.start_from(self._pool.listing.git, NoVault)

    @property
    def _is_listed(self) -> bool:
        """Whether what is known of the base is known of it."""
        return bool(self._upper) and self._pool.files is not None

    def _make_wording(self, choice: str) -> DialectWording:
        has_more = self._added or self._pool._added
        return super()._make_wording(choice) if has_more else self._pool.wording(choice)

    def _open_search(self) -> Search:
        from toolroll.host.fleet.lease_files import LeaseFiles
        from toolroll.host.search.search import Search

        own, pool = self._services, self._pool
        made = Search(own.root, limits=self.limits, policy=self.policy, launcher=own.launcher)
        made.files = LeaseFiles(pool.files, self._upper, pool.frozen_ns) if pool.files is not None else None
        return made

    def _open_shell(self) -> Shell:
        """The shell, which need not look for the repositories in the base again. With it comes the control group."""
        made = self._services.open_shell(self.dialect.profile.commands)
        if self._is_listed:
            made.start_from(self._pool.launcher, self._upper)
        if self._pool.groups is not None:
            self._cgroup = self._pool.groups.open(cast("LeaseLimits", self.limits))
            made.join_group(self._cgroup)
        return made

    def close(self) -> None:
        super().close()
        if self._cgroup:
            remove_group(self._cgroup)
            self._cgroup = ""

    def _open_capture(self) -> Capture:
        own = self._services
        rest = own.root, own.state, own.journal, own.files.records, own.launcher, self.limits
        return LeaseCapture(self._pool.listing, self._upper, *rest)

    def _build_steps(self) -> tuple[Step, ...]:
        more = self._pool.lease_limits
        own = {name: getattr(self.limits, name) for name in _OF_CALLS}
        whole = {name: getattr(more, name) for name in _OF_LEASES}
        self.limits = LeaseLimits(**own, **whole, enforced=self._pool.say_enforced())
        return (self._within_limits, self._in_turn, *super()._build_steps())

    def _in_turn(self, view: View, proceed: Proceed) -> Proceed:
        """Let a command wait while many others run. Other calls are short, and wait for none."""
        return self._pool.at_once(view, proceed) if view.effects & _RUNS else proceed

    def _within_limits(self, view: View, proceed: Proceed) -> Proceed:
        """End a call with the time of the lease, and when it writes too much."""
        runs, limits = bool(view.effects & _RUNS), cast("LeaseLimits", self.limits)
        most = limits.disk_bytes if runs or Effect.WRITE in view.effects else None
        seconds = limits.seconds
        if most is None and seconds is None:
            return proceed

        def limited(ctx: Context, arguments: dict[str, Any]) -> Any:
            if seconds is not None:
                left = self._started + seconds - time.monotonic()
                if left <= 0:
                    raise ToolError(ErrorCode.TIMEOUT, "The time of this lease is over. Ask for another one.")
                ctx.call.token.limit(left)
            return proceed(ctx, arguments) if most is None else self._watched(ctx, arguments, proceed, most, runs=runs)

        return limited

    def _watched(self, ctx: Context, arguments: dict[str, Any], proceed: Proceed, most: int, *, runs: bool) -> Any:
        """Make a call that may write, unless there is too much already; end it when there is."""
        folder = self._upper or self.workspace
        if not runs and (used := measure_disk(folder) - self._copied) > most:
            raise over_disk(used, most)
        try:
            with self._pool.disk.watching(ctx.call.token, folder, most + self._copied):
                return proceed(ctx, arguments)
        except ToolError as error:
            if error.code is ErrorCode.CANCELLED and (used := measure_disk(folder) - self._copied) > most:
                raise over_disk(used, most) from error
            raise
