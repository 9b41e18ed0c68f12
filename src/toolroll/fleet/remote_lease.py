"""Leases at the other end of a pipe: a whole kit runs there, beside its files, and is called over a channel."""

from __future__ import annotations

import base64
import itertools
import math
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

import msgspec

from toolroll.fleet import engines
from toolroll.fleet.engines.engine import PipeStream
from toolroll.fleet.lease import Lease
from toolroll.fleet.lease_orders import LeaseOrder, OpenedLease, answer_for
from toolroll.fleet.worker import Ready, WorkerOrder, make_codec
from toolroll.host.approval.request import Approver, ParallelApprover
from toolroll.host.fleet.lease_limits import LeaseLimits
from toolroll.host.rpc.channel import Channel, LateError, RefusedError
from toolroll.host.rpc.codecs import PeerGoneError
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.settings import Settings, load_settings
from toolroll.kit import Kit
from toolroll.result import ErrorCode, Result, ToolError
from toolroll.text.files.changes import Change

if TYPE_CHECKING:
    from toolroll.fleet.engines.engine import WorkerPool
    from toolroll.host.fleet.frozen import FrozenCopy
    from toolroll.host.forks.views import ForkKind
    from toolroll.host.runtime.call import Progress
    from toolroll.host.shell.command_result import Completed
    from toolroll.services import CallOptions
    from toolroll.tool import Tool

_SETTINGS = {"servers": "language_servers"}  # options of Kit that have another name in the settings
_OPTIONS = {"dialect", "mode", "policy", "tools", "servers", "mcp", "environment", "code_mode", "otel"}

_READY_SECONDS = 900.0  # a worker lists its base first, which may take 600 s
_CLOSE_SECONDS = 300.0  # for a worker to remove its leases


class NotThere:
    """A part of a kit that a lease elsewhere does not have."""

    def __get__(self, owner: object, kind: type) -> NoReturn:
        raise ToolError(ErrorCode.UNSUPPORTED, "A lease on another machine does not have this part of a kit.")


@dataclass(frozen=True, slots=True)
class OrderCallbacks:
    """What the caller of an order gives along. It is called in the thread that waits for the order."""

    token: CancelToken | None = None
    progress: Progress | None = None
    approve: Approver | None = None
    guard: object = None
    """Stands for the lease in what the approver is asked: what it remembers is for this lease alone."""

    def take(self, event: str, data: Any, _withdrawn: CancelToken) -> Any:
        """Pass on progress, or have the approver answer."""
        if event == "approve" and self.approve is not None:
            return answer_for(self.approve, data, self.guard)
        if event == "progress" and self.progress is not None:
            self.progress(*data)
        return False


class RemoteWorker:
    """A worker whose leases are used from here. Thread-safe."""

    def __init__(self, pool: WorkerPool, order: WorkerOrder, on_problem: Callable[[str], None]) -> None:
        """ToolError if it does not start."""
        self.name, self.leases = pool.name, 0
        self._pipe = pool.start()
        self._channel = Channel(PipeStream(self._pipe), make_codec())
        try:
            ready = msgspec.convert(
                self._call("begin", order, OrderCallbacks(), time.monotonic() + _READY_SECONDS), Ready
            )
        except LateError:
            self._channel.close()
            said = f"its worker was not ready within {_READY_SECONDS:g} s. Look whether the node is frozen."
            raise ToolError(ErrorCode.TIMEOUT, said) from None
        except msgspec.ValidationError as error:
            self._channel.close()
            raise ToolError(ErrorCode.NETWORK, f"its worker does not say that it is ready: {error}.") from None
        if ready.problem:
            on_problem(f"{self.name}: {ready.problem}")

    @property
    def is_gone(self) -> bool:
        return self._channel.gone is not None

    def ask(self, lease: int, do: str, given: dict[str, Any], callbacks: OrderCallbacks) -> Any:
        """Have something done with a lease; what it gives. ToolError as there, or if the worker is gone."""
        return self._call("lease", LeaseOrder(lease, do, given), callbacks)

    def _call(self, method: str, params: Any, callbacks: OrderCallbacks, deadline: float = math.inf) -> Any:
        waiting = {"deadline": deadline, "on_event": callbacks.take, "patient": deadline == math.inf}
        try:
            return self._channel.call(method, params, callbacks.token, **waiting)
        except PeerGoneError as error:
            said = f"{self.name} is gone ({error}). Ask for another lease."
            raise ToolError(ErrorCode.NETWORK, said) from None
        except RefusedError as error:
            raise error.as_tool_error() or ToolError(ErrorCode.EXECUTION, str(error)) from None

    def close(self) -> None:
        """Remove its leases, and end it."""
        self._pipe.finish()
        self._channel.close(wait=_CLOSE_SECONDS)


class RemoteLease(Lease):
    """A lease whose kit runs elsewhere. What is about tools as such (definitions, checks) is answered here."""

    def __init__(self, worker: RemoteWorker, face: Kit, number: int) -> None:
        """`face` is a kit with the same tools, on an empty folder."""
        self._worker, self._face, self.number = worker, face, number
        self._is_closed = False
        self._opened = opened = msgspec.convert(self._ask("open"), OpenedLease)
        self.limits = msgspec.convert(opened.limits, LeaseLimits)
        worker.leases += 1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._face, name)

    before = after = register = unregister = fork = merge = pack = unpack = share_temp = NotThere()
    resume = add_turn = calls = metrics = context = state_dir = NotThere()

    @property
    def workspace(self) -> str:
        """Where it is on its machine."""
        return self._opened.workspace

    @property
    def kind(self) -> ForkKind:
        return self._opened.kind

    @property
    def is_open(self) -> bool:
        return not self._is_closed

    def _ask(
        self,
        do: str,
        *,
        token: CancelToken | None = None,
        progress: Progress | None = None,
        approve: Approver | None = None,
        **given: Any,
    ) -> Any:
        if self._is_closed:
            raise ToolError(ErrorCode.NOT_FOUND, "This lease was closed. Ask for another one.")
        if progress is not None:
            given["progress"] = True
        if approve is not None:
            given["approve"] = "parallel" if isinstance(approve, ParallelApprover) else "one by one"
        return self._worker.ask(self.number, do, given, OrderCallbacks(token, progress, approve, self))

    def call(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, **options: Unpack[CallOptions]
    ) -> Result:
        """As that of `Kit`. `approve` and `progress` run here, in the calling thread."""
        return msgspec.convert(self._ask("call", name=name, arguments=arguments, **options), Result)

    def exec(self, command: str | Sequence[str], **options: Any) -> Completed:
        from toolroll.host.shell.command_result import Completed

        done = self._ask("exec", command=command, **options)
        streams = {name: base64.b64decode(done[name]) for name in ("stdout", "stderr")}
        return Completed(**{**done, **streams, "changes": [Change(*one) for one in done["changes"]]})

    def read_bytes(self, path: str) -> bytes:
        return msgspec.convert(self._ask("read_bytes", path=path), bytes)

    def write_bytes(self, path: str, data: bytes) -> Change | None:
        return msgspec.convert(self._ask("write_bytes", path=path, data=data), Change | None)

    def _call_own(self, tool: Tool, message: str = "", **given: Any) -> Result:
        return msgspec.convert(self._ask(tool.name, message=message, **given), Result)

    def changes(self) -> list[Change]:
        return msgspec.convert(self._ask("changes"), list[Change])

    def describe(self) -> str:
        return msgspec.convert(self._ask("describe"), str)

    def diff(self) -> str:
        return msgspec.convert(self._ask("diff"), str)

    def drop(self) -> None:
        """Remove all that it has written; nothing to do where its machine is gone."""
        if not self._is_closed:
            with suppress(ToolError):
                self._ask("close")
            self._is_closed = True
            self._worker.leases -= 1

    close = drop


class RemotePools:
    """The nodes of an engine, each with one worker for the leases of a program."""

    def __init__(
        self,
        engine: str,
        frozen: FrozenCopy,
        limits: Mapping[str, Any],
        options: dict[str, Any],
        problems: list[str],
    ) -> None:
        """ToolError if no node can be used; what single ones lack is added to `problems`."""
        settings = _read_options(frozen.path, options)
        self._numbers, self._workers = itertools.count(1), list[RemoteWorker]()
        self._problems, self._starting = problems, threading.Lock()
        self._order = partial(WorkerOrder, width=1, limits=dict(limits), settings=settings)
        with ExitStack() as closing:
            chosen = engines.open_engine(engine)
            closing.callback(chosen.close)
            self._pools = closing.enter_context(chosen.open_pools(frozen, problems.append))
            empty = closing.enter_context(tempfile.TemporaryDirectory(prefix="toolroll-face-"))
            self._face = Kit(f"{empty}/", state_dir=f"{empty}/.state", settings=settings)
            closing.callback(self._face.close)
            closing.callback(self._close_workers)
            self._find_living()
            self._closing = closing.pop_all()

    def _find_living(self) -> list[RemoteWorker]:
        """The workers that run. If there are none, each node is tried again; ToolError if that is in vain."""
        with self._starting:
            self._workers = [one for one in self._workers if not one.is_gone]
            if not self._workers:
                with ThreadPoolExecutor(max(1, len(self._pools))) as threads:
                    self._workers = [one for one in threads.map(self._start, self._pools) if one is not None]
            if not self._workers:
                raise ToolError(ErrorCode.NETWORK, " ".join(self._problems) or "The engine has no node.")
            return self._workers

    def _start(self, pool: WorkerPool) -> RemoteWorker | None:
        order = self._order(name=f"worker on {pool.name}", base=pool.place)
        try:
            return RemoteWorker(pool, order, self._problems.append)
        except ToolError as error:
            self._problems.append(f"{pool.name} is left out: {error}")
            return None

    def lease(self) -> RemoteLease:
        """A new lease, on the node that has the fewest."""
        while True:
            worker = min(self._find_living(), key=lambda one: one.leases)
            try:
                return RemoteLease(worker, self._face, next(self._numbers))
            except ToolError:
                if not worker.is_gone:
                    raise

    def _close_workers(self) -> None:
        for worker in self._workers:
            worker.close()

    def close(self) -> None:
        self._closing.close()


def _read_options(base: str, options: dict[str, Any]) -> Settings:
    """The settings for kits on other machines; ValueError for an option that cannot go there."""
    settings = options.pop("settings", None) or load_settings(base)
    for name, value in options.items():
        if name not in _OPTIONS or (name in ("policy", "dialect", "mcp") and not isinstance(value, str | dict)):
            raise ValueError(f"The option {name!r} cannot go to another machine as {type(value).__name__}.")
    given = settings.override(**{_SETTINGS.get(name, name): value for name, value in options.items()})
    mcp = given.mcp if isinstance(given.mcp, dict) else {}
    return given.override(mcp=mcp, roots=())
