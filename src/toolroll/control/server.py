"""Announce a process on a control socket of the user, and answer who connects.

A connection of another user, or of a command of a tool, is refused. Nothing that goes wrong here harms the process.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from toolroll.control.calls import LiveCall, LiveCalls
from toolroll.control.methods import Hands, Params, find_method, number
from toolroll.host.approval.waiting import WaitingApprovals
from toolroll.host.error_line import write_error_line
from toolroll.host.rpc.channel import FAILED, Channel, ServedCall, SocketStream
from toolroll.host.rpc.codecs import LineCodec, PeerGoneError

if TYPE_CHECKING:
    import socket

    from toolroll.control.changes import ChangeWatch
    from toolroll.kit import Kit
    from toolroll.result import Result

PREFIX = "control-"
"""The names of control sockets begin with it."""
EVENTS = ("call", "approvals", "journal", "jobs")
_LOOK_SECONDS = 1.0  # between two looks at what jobs and other processes have changed, while somebody watches
_MAX_QUEUED_EVENTS = 20_000
_MAX_CONNECTIONS = 256
_PAUSE_S = 0.1
_UNREACHABLE = "The console and `toolroll approve` cannot reach this process"
_MAX_RUNNING_REQUESTS = 16  # of one connection

Event = tuple[str, Any]
ServeExtra = Callable[[Params, ServedCall, int], Any]
"""Carries out a method of one process alone; it gets the id of the process that asks."""


class ControlServer:
    """The control socket of one process: begins when a kit is followed, ends with `close`."""

    def __init__(
        self,
        kit: Kit | None,
        kind: str,
        *,
        client: str = "",
        approvals: WaitingApprovals | None = None,
        show: Callable[[Result], str] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """`show` gives the text of a result that the model sees; `warn` gets a sentence if there is no socket."""
        self.calls = LiveCalls(show)
        self.approvals = approvals or WaitingApprovals()
        name = f"{PREFIX}{os.getpid()}-{os.urandom(3).hex()}"
        self.hands = Hands(name, kind, client, self.calls, self.approvals)
        self.approvals.is_watched = lambda: self.has_subscriber("approvals")
        self.approvals.on_change = lambda: self.publish("approvals", self._list_approvals)
        self._warn = warn or partial(write_error_line, "toolroll")
        self._lock = threading.Lock()
        self._subscribers: tuple[_Connection, ...] = ()
        self._connections: set[_Connection] = set()
        self._listening: socket.socket | None = None
        self._started = False
        self._ended = threading.Event()
        self.extra: dict[str, ServeExtra] = {}
        """Further methods of this process."""
        self._watch: ChangeWatch | None = None
        if kit is not None:
            self.follow(kit)

    def follow(self, kit: Kit) -> None:
        """Show the calls of this kit, and make it the one that methods are about."""
        kit.watch_calls(self.calls.begin)
        self.hands.current_kit = kit
        self._start()

    def listen(self, name: str) -> None:
        """Begin under this name, without a kit; OSError if the socket cannot be had."""
        from toolroll.host.runtime import user_sockets

        self.hands.id, self._listening = name, user_sockets.listen(name)
        self._start()

    def _start(self) -> None:
        with self._lock:
            started, self._started = self._started, True
        if not started:
            try:
                threading.Thread(target=self._run, name="toolroll-control", daemon=True).start()
            except RuntimeError as error:  # no more threads
                self._warn(f"{_UNREACHABLE}: {error}")

    def publish(self, event: str, data: Any) -> None:
        """Send an event to all who have subscribed to it; returns at once. Data that is a function is called later."""
        for one in self._subscribers:
            one.put(event, data)

    def has_subscriber(self, event: str) -> bool:
        """Whether anybody gets this event."""
        return any(event in one.events for one in self._subscribers)

    def close(self) -> None:
        """End the socket and every connection."""
        with self._lock:
            self._ended.set()
            listening, connections = self._listening, tuple(self._connections)
        if listening is not None:
            from toolroll.host.runtime import user_sockets

            _shut(listening)
            user_sockets.remove(self.hands.id)
        for one in connections:
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        from toolroll.host.runtime import user_sockets

        try:
            listening = self._listening or user_sockets.listen(self.hands.id)
        except OSError as error:
            self._warn(f"{_UNREACHABLE}: {error}")
            return
        with self._lock:
            self._listening = listening
        if self._ended.is_set():
            self.close()
        while not self._ended.is_set():
            try:
                connected, _ = listening.accept()
                threading.Thread(target=self._serve, args=(connected,), name="toolroll-control", daemon=True).start()
            except (OSError, RuntimeError):  # too many files are open, or threads
                self._ended.wait(_PAUSE_S)

    def _serve(self, connected: socket.socket) -> None:
        from toolroll.host.network.peers import check_peer

        try:
            peer = check_peer(connected)
            with self._lock:  # it is forgotten with the same lock
                if self._ended.is_set() or len(self._connections) >= _MAX_CONNECTIONS:
                    raise PermissionError("Too many connections are open.")
                self._connections.add(_Connection(connected, peer.pid, self))
        except OSError as error:
            with suppress(OSError):
                connected.sendall(LineCodec().encode({"id": 1, "error": {"code": FAILED, "message": str(error)}}))
            _shut(connected)

    def forget(self, connection: _Connection) -> None:
        """A connection has ended."""
        with self._lock:
            self._connections.discard(connection)
            self._subscribers = tuple(one for one in self._subscribers if one is not connection)
            self.calls.listeners = (self._on_call,) if self._subscribers else ()

    def subscribe(self, connection: _Connection) -> None:
        """Send events to this connection from now on."""
        from toolroll.control.changes import ChangeWatch

        if self._watch is None:
            self._watch = ChangeWatch()
        self.look()
        with self._lock:
            self._subscribers = (*self._subscribers, connection)
            self.calls.listeners = (self._on_call,)

    def _list_approvals(self) -> Params:
        return {"waiting": self.approvals.all()}

    def _on_call(self, call: LiveCall) -> None:
        self.publish("call", call)
        if call.status != "running":
            self.look()

    def look(self) -> None:
        """Send events for what has changed in the journal and the jobs."""
        if self._watch is not None and self.hands.current_kit is not None:
            for event, data in self._watch.look(self.hands.current_kit):
                self.publish(event, data)


class _Connection:
    """One client of the socket: its requests, each in a thread of its own, and its events."""

    def __init__(self, connected: socket.socket, pid: int, server: ControlServer) -> None:
        self._pid, self._server = pid, server
        self._places = threading.Semaphore(_MAX_RUNNING_REQUESTS)
        self._queued: deque[Event] = deque()
        self._came, self._ended = threading.Event(), threading.Event()
        self.events: frozenset[str] = frozenset()
        stream = SocketStream(connected)
        self._channel = Channel(stream, LineCodec(), serve=self._serve, run=self._run, on_end=self._end)

    def put(self, event: str, data: Any) -> None:
        """Queue an event; a client that does not read them gets "resync" in their place."""
        if event not in self.events:
            return
        if len(self._queued) >= _MAX_QUEUED_EVENTS:
            self._queued.clear()
            event, data = "resync", {}
        self._queued.append((event, data))
        self._came.set()

    def close(self) -> None:
        self._channel.close()

    def _end(self) -> None:
        self._ended.set()
        self._came.set()
        self._server.forget(self)

    def _run(self, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            finally:
                self._places.release()

        self._places.acquire()
        threading.Thread(target=run, name="toolroll-control", daemon=True).start()

    def _serve(self, method: str, params: Any, call: ServedCall) -> Any:
        given = {} if params is None else params
        if not isinstance(given, dict):
            raise ValueError("The params of a request are an object.")
        if method == "subscribe":
            return self._subscribe(given)
        if method in self._server.extra:
            return self._server.extra[method](given, call, self._pid)
        return find_method(method)(self._server.hands, given)

    def _subscribe(self, params: Params) -> Params:
        since = None if params.get("since") is None else number(params, "since")
        wanted = params.get("events") or EVENTS
        if self.events or not isinstance(wanted, list | tuple):
            raise ValueError("Subscribe once, with the names of events.")
        calls = self._server.calls
        last = calls.last
        self.events = frozenset(wanted)
        self._server.subscribe(self)
        for one in () if since is None else calls.all(since):
            self.put("call", one)
        threading.Thread(target=self._pump, daemon=True).start()
        return {"seq": last}

    def _pump(self) -> None:
        """Send events as they come."""
        with suppress(PeerGoneError):
            while not self._ended.is_set():
                if not self._came.wait(_LOOK_SECONDS):
                    self._server.look()
                self._came.clear()
                while self._queued and not self._ended.is_set():
                    event, data = self._queued.popleft()
                    made = data.to_dict() if isinstance(data, LiveCall) else data() if callable(data) else data
                    self._channel.notify(event, made)


def _shut(one: socket.socket) -> None:
    """Close a socket that other threads may wait for."""
    with suppress(OSError):
        one.shutdown(2)
    one.close()
