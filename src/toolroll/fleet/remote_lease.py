"""Leases at the other end of a pipe: a whole kit runs there, beside its files, and a call is one line each way."""

from __future__ import annotations

import base64
import itertools
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

import msgspec

from toolroll.fleet import engines
from toolroll.fleet.lease import Lease
from toolroll.fleet.lease_orders import ApproverAnswer, LeaseAnswer, LeaseOrder, LeaseQuestion, OpenedLease
from toolroll.fleet.worker import Ready, WorkerOrder, decode_answer, encode_order
from toolroll.host.approval.request import Approver, CannotAskError, ParallelApprover
from toolroll.host.fleet.lease_limits import LeaseLimits
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
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
_MAX_UNREAD = 1_000  # reports of one order that its caller has not read yet: later ones are left out


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

    @property
    def is_over(self) -> bool:
        """Whether the caller wants the order to end."""
        return self.token is not None and (self.token.cancelled or self.token.remaining() <= 0)


class SentOrder:
    """An order that was sent, and what has come back for it."""

    def __init__(self, order: LeaseOrder, send: Callable[[LeaseOrder], None], callbacks: OrderCallbacks) -> None:
        self._order, self._send, self._callbacks = order, send, callbacks
        self._came = SimpleQueue[LeaseAnswer | ToolError]()

    def take(self, answer: LeaseAnswer | ToolError) -> None:
        """Have the thread that waits read this; ToolError is the end of the worker."""
        is_more = isinstance(answer, LeaseAnswer) and (answer.progress or answer.question)
        if not is_more or self._came.qsize() < _MAX_UNREAD:
            self._came.put(answer)

    def wait(self) -> bytes:
        """What the order gives, as JSON; ToolError as there. A callback that fails ends it, and its error is raised."""
        token, is_cancelled = self._callbacks.token, False
        failed: BaseException | None = None
        while True:
            if not is_cancelled and (failed is not None or self._callbacks.is_over):
                is_cancelled = True
                self._tell("cancel")
            try:
                answer = self._came.get(timeout=None if token is None or is_cancelled else POLL_SECONDS)
            except Empty:
                continue
            if isinstance(answer, ToolError) or not (answer.progress or answer.question):
                break
            try:
                self._call_back(answer, failed)
            except BaseException as error:  # raised when the order has ended
                failed = error
        if failed is not None:
            raise failed
        return _read_value(answer)

    def _call_back(self, answer: LeaseAnswer, failed: BaseException | None) -> None:
        if answer.question is not None:
            self._answer(answer.question, failed)
        elif answer.progress is not None and self._callbacks.progress is not None and failed is None:
            self._callbacks.progress(*answer.progress)

    def _answer(self, asked: LeaseQuestion, failed: BaseException | None) -> None:
        """Have the approver answer a question."""
        number = asked.question
        answer = ApproverAnswer(number, "stopped")
        try:
            if failed is None and self._callbacks.approve is not None:
                answer = ApproverAnswer.of(number, self._callbacks.approve(asked.as_request(self._callbacks.guard)))
        except CannotAskError as error:
            answer = ApproverAnswer(number, "not asked", str(error).rstrip("."))
        except (EOFError, OSError) as error:
            answer = ApproverAnswer(number, "not asked", f"asking failed ({type(error).__name__})")
        finally:
            self._tell("answer", msgspec.to_builtins(answer, enc_hook=str))

    def _tell(self, do: str, given: dict[str, Any] | None = None) -> None:
        self._send(LeaseOrder(self._order.number, self._order.lease, do, given or {}))


def _read_value(answer: LeaseAnswer | ToolError) -> bytes:
    if isinstance(answer, ToolError):
        raise answer
    if (problem := answer.problem) is not None:
        raise ToolError(problem.code, problem.message, details=problem.details)
    return bytes(answer.value)


class RemoteWorker:
    """A worker whose leases are used from here. Thread-safe."""

    def __init__(self, pool: WorkerPool, order: WorkerOrder, on_problem: Callable[[str], None]) -> None:
        """ToolError if it does not start."""
        self.name = pool.name
        self.is_gone, self.leases = False, 0
        self._on_problem = on_problem
        self._numbers, self._sending = itertools.count(1), threading.Lock()
        self._waiting: dict[int, SentOrder] = {}
        self._ready = Future[None]()
        self._pipe = pool.start()
        self._reader = threading.Thread(target=self._read, name="toolroll remote", daemon=True)
        self._reader.start()
        with suppress(OSError):
            self._pipe.send(encode_order(order))
        try:
            self._ready.result(_READY_SECONDS)
        except TimeoutError:
            self._pipe.stop()
            said = f"its worker was not ready within {_READY_SECONDS:g} s. Look whether the node is frozen."
            raise ToolError(ErrorCode.TIMEOUT, said) from None

    def _read(self) -> None:
        why = ""
        try:
            for line in self._pipe.lines():
                with suppress(msgspec.DecodeError, UnicodeError):  # what some library prints
                    self._take(line)
        except Exception as error:  # such as that of an answer which is nested too deeply
            why = f"its answers cannot be read, {type(error).__name__}: {error}"
            self._pipe.stop()
        finally:
            self._end(why)

    def _end(self, why: str) -> None:
        """Give an error to all that wait."""
        try:
            with self._sending:
                self.is_gone = True
                self._pipe.finish()
            how = self._pipe.wait()
        except Exception as error:  # the pipe is broken too, and those that wait must not wait forever
            how = f"{type(error).__name__}: {error}"
        said = f"{self.name} is gone ({why or how}). Ask for another lease."
        with self._sending:
            waiting, self._waiting = list(self._waiting.values()), {}
        for sent in waiting:
            sent.take(ToolError(ErrorCode.NETWORK, said))
        if not self._ready.done():
            self._ready.set_exception(ToolError(ErrorCode.NETWORK, said))

    def _take(self, line: bytes) -> None:
        if not self._ready.done():
            if isinstance(found := decode_answer(line), Ready):
                if found.problem:
                    self._on_problem(f"{self.name}: {found.problem}")
                self._ready.set_result(None)
            return
        answer = msgspec.json.decode(line, type=LeaseAnswer)
        is_last = answer.progress is None and answer.question is None
        sent = self._waiting.pop(answer.number, None) if is_last else self._waiting.get(answer.number)
        if sent is not None:
            sent.take(answer)

    def ask(self, lease: int, do: str, given: dict[str, Any], callbacks: OrderCallbacks) -> bytes:
        """Have something done with a lease; what it gives, as JSON. ToolError as there, or if the worker is gone."""
        order = LeaseOrder(next(self._numbers), lease, do, given)
        sent = SentOrder(order, self._send, callbacks)
        with self._sending:  # the reader takes all that wait when the worker has ended
            self._waiting[order.number] = sent
        self._send(order)
        if self.is_gone and self._waiting.pop(order.number, None) is not None:
            raise ToolError(ErrorCode.NETWORK, f"{self.name} is gone. Ask for another lease.")
        return sent.wait()

    def _send(self, order: LeaseOrder) -> None:
        with self._sending, suppress(OSError):
            if not self.is_gone:
                self._pipe.send(encode_order(order))

    def close(self) -> None:
        """Remove its leases, and end it."""
        with self._sending:
            self._pipe.finish()
        self._reader.join(_CLOSE_SECONDS)
        if self._reader.is_alive():
            self._pipe.stop()
            self._reader.join()


class RemoteLease(Lease):
    """A lease whose kit runs elsewhere. What is about tools as such (definitions, checks) is answered here."""

    def __init__(self, worker: RemoteWorker, face: Kit, number: int) -> None:
        """`face` is a kit with the same tools, on an empty folder."""
        self._worker, self._face, self.number = worker, face, number
        self._is_closed = False
        opened = msgspec.json.decode(self._ask("open"), type=OpenedLease)
        self._opened = opened
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
    ) -> bytes:
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
        return msgspec.json.decode(self._ask("call", name=name, arguments=arguments, **options), type=Result)

    def exec(self, command: str | Sequence[str], **options: Any) -> Completed:
        from toolroll.host.shell.command_result import Completed

        done = msgspec.json.decode(self._ask("exec", command=command, **options))
        streams = {name: base64.b64decode(done[name]) for name in ("stdout", "stderr")}
        return Completed(**{**done, **streams, "changes": [Change(*one) for one in done["changes"]]})

    def read_bytes(self, path: str) -> bytes:
        return msgspec.json.decode(self._ask("read_bytes", path=path), type=bytes)

    def write_bytes(self, path: str, data: bytes) -> Change | None:
        return msgspec.json.decode(self._ask("write_bytes", path=path, data=data), type=Change | None)

    def _call_own(self, tool: Tool, message: str = "", **given: Any) -> Result:
        entry = {"entry": given.pop("call")} if "call" in given else {}
        return msgspec.json.decode(self._ask(tool.name, message=message, **given, **entry), type=Result)

    def changes(self) -> list[Change]:
        return msgspec.json.decode(self._ask("changes"), type=list[Change])

    def describe(self) -> str:
        return msgspec.json.decode(self._ask("describe"), type=str)

    def diff(self) -> str:
        return msgspec.json.decode(self._ask("diff"), type=str)

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
