"""Kits for single calls, on engines that outlive them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.approval.request import Approver
from toolroll.host.daemon.client import resolve
from toolroll.host.settings import Settings
from toolroll.kit import Kit
from toolroll.steps import PathLocks, Step

if TYPE_CHECKING:
    from toolroll.host.shell.jobs import Job

_MAX_BASES = 4  # kits whose engines are kept; each has an index and language servers
_ENGINE_VARIABLES = ("PATH", "VIRTUAL_ENV")  # they decide which programs an engine finds


class WarmKit(Kit):
    """A kit for one call, with a session of its own, on the engines, jobs and path locks of another kit.

    `close` keeps it open for the jobs that it has started.
    """

    reads_ahead = False

    def __init__(self, base: Kit, kits: WarmKits, environ: Mapping[str, str], **options: Any) -> None:
        self._kits, self._warm, self.base, self._environ = kits, base._services, base, environ
        super().__init__(base.workspace, settings=base.settings, **options)

    def _build_steps(self) -> tuple[Step, ...]:
        [shared] = (one for one in self.base._steps if isinstance(one, PathLocks))
        return tuple(shared if isinstance(one, PathLocks) else one for one in super()._build_steps())

    def has_jobs(self) -> bool:
        """Whether jobs that it has started are still known, so that their output is needed."""
        return self._services.has_jobs()

    def save_session(self) -> None:
        self._services.save_session()

    def close(self) -> None:
        self._kits.take_back(self)

    def close_now(self) -> None:
        super().close()


class _BaseKit(Kit):
    """A kit whose engines find programs by the variables of the first call that needs it."""

    def __init__(self, workspace: str, settings: Settings, environ: Mapping[str, str]) -> None:
        self._environ = environ
        super().__init__(workspace, settings=settings)


class WarmKits:
    """The kits of a daemon: one for each workspace and settings keeps engines and jobs, others are for its clients."""

    def __init__(self, follow: Callable[[Kit], None], watch: Callable[[Kit], None]) -> None:
        """`follow` gets each kit that keeps engines, `watch` each one that is for a call."""
        self._follow, self._watch = follow, watch
        self._lock = threading.Lock()
        self._bases: dict[tuple[object, ...], Kit] = {}
        self._used: list[WarmKit] = []
        self._kept: list[WarmKit] = []

    def open(
        self,
        workspace: str,
        settings: Settings,
        session: str | None,
        approve: Approver | None,
        environ: Mapping[str, str],
    ) -> WarmKit:
        """A kit for one call; as `Kit`, ValueError and OSError for a workspace that cannot be opened."""
        with self._lock:
            base = self._find_base(workspace, settings, environ)
            made = WarmKit(base, self, environ, session=session, approve=approve)
            self._used.append(made)
        self._watch(made)
        return made

    def take_back(self, kit: WarmKit) -> None:
        """Close a kit after its call, or when the jobs that it has started are forgotten."""
        with self._lock:
            self._used.remove(kit)
            if kit.has_jobs():
                kit.save_session()
                self._kept.append(kit)
                return
        kit.close_now()

    def list_jobs(self) -> list[Job]:
        """The jobs that run."""
        with self._lock:
            bases = list(self._bases.values())
        return [job for base in bases for job in base._services.running_jobs()]

    def sweep(self) -> None:
        """Close the kits whose jobs are forgotten."""
        with self._lock:
            done = [one for one in self._kept if not one.has_jobs()]
            self._kept = [one for one in self._kept if one not in done]
        for one in done:
            one.close_now()

    def close(self) -> None:
        """End every job and close all kits."""
        with self._lock:
            bases, kept = list(self._bases.values()), self._kept
            self._bases, self._kept = {}, []
        for kit in bases:  # jobs first: those who have started them then have nothing to wait for
            kit.close()
        for one in kept:
            one.close_now()

    def _find_base(self, workspace: str, settings: Settings, environ: Mapping[str, str]) -> Kit:
        path = resolve(workspace)
        found = os.stat(path)
        variables = tuple(environ.get(name, "") for name in _ENGINE_VARIABLES)
        key = (path, found.st_dev, found.st_ino, variables, msgspec.json.encode(settings))
        if key not in self._bases:
            if len(self._bases) >= _MAX_BASES:
                self._drop_a_base()
            self._bases[key] = _BaseKit(workspace, settings, environ)
            self._follow(self._bases[key])
        return self._bases[key]

    def _drop_a_base(self) -> None:
        """Close the oldest kit whose engines no call uses, and that no job needs, if there is one."""
        needed = {id(one.base) for one in (*self._used, *self._kept)}
        for key, base in self._bases.items():
            if id(base) not in needed:
                del self._bases[key]
                base.close()
                return
