"""Workers on other machines and in containers, through the pipes of ssh, `docker exec` and `kubectl exec`."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TypeVar, cast

import msgspec

from toolroll.fleet.engines.arrivals import NodeReady, Wanted
from toolroll.fleet.engines.local import ProcessPipe
from toolroll.fleet.engines.start_watch import StartWatch
from toolroll.fleet.worker import FrozenPlace
from toolroll.host.fleet.carried_app import digest_toolroll, load_app, read_node_start
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.fleet.sending import PackedBase
from toolroll.host.runtime.launcher import PIPE, ChildProcess, start_process
from toolroll.result import ErrorCode, ToolError

_CONNECT_SECONDS = 10
_HELLO_SECONDS = 60.0
_ANSWER_SECONDS = 120.0  # for what a node answers at once, and for it to take the next part of what is sent
_UNPACK_SECONDS = 600.0  # for all that it has to write to its disk
_MAX_START_LINE = 1 << 20
_MAX_SAID = 400
_MAX_ERROR_BYTES = 1 << 16
_ERROR_END_SECONDS = 1.0  # a child of a client, such as the master of ssh, may keep stderr open
_NO_PYTHON = 97
# Our own version first: the native packages of this machine fit it.
_PYTHONS = f"python3.{sys.version_info.minor} python3 python3.14 python3.13 python3.12 python3.11"
RUN_SENT_CODE = "import sys; b = sys.stdin.buffer; exec(b.read(int(b.readline())))"
"""Runs the code that comes first through the pipe."""
# Finds a Python for that.
_START = f"""\
for p in {_PYTHONS}; do
  if "$p" -c "import sys; sys.exit(sys.version_info < (3, 11))" </dev/null >/dev/null 2>&1; then
    exec "$p" -P -c "{RUN_SENT_CODE}"
  fi
done
exit {_NO_PYTHON}"""
_SSH = (
    f"ssh -T -o BatchMode=yes -o ConnectTimeout={_CONNECT_SECONDS} -o ServerAliveInterval=15 -o ClearAllForwardings=yes"
)
_REASONS = {
    "REMOTE HOST IDENTIFICATION HAS CHANGED": "its host key has changed. If that is right, remove the old one with "
    "`ssh-keygen -R`.",
    "Host key verification failed": "its host key is not known. Connect once with ssh to accept it.",
}


def _ssh(node: str) -> list[str]:
    return [*_SSH.split(), "--", node, shlex.join(["sh", "-c", _START])]


def _docker(node: str) -> list[str]:
    return ["docker", "exec", "-i", node, "sh", "-c", _START]


def _kubectl(node: str) -> list[str]:
    space, _, pod = node.rpartition("/")
    return ["kubectl", "exec", "-i", *(["-n", space] if space else []), pod, "--", "sh", "-c", _START]


COMMANDS: dict[str, Callable[[str], list[str]]] = {"ssh": _ssh, "docker": _docker, "kubectl": _kubectl}
"""How to run a shell on a node, by the kind of the engine."""
# No name can be an option of a client, nor run anything where ssh's own settings hand it to a shell as %h.
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_NAMES = {
    "ssh": re.compile(rf"(?:ssh://)?(?:{_WORD}@)?(?:{_WORD}|\[?[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(?:%{_WORD})?\]?)(?::\d+)?"),
    "docker": re.compile(_WORD),
    "kubectl": re.compile(rf"(?:{_WORD}/)?{_WORD}"),
}


class NodeHello(msgspec.Struct):
    """What a node says first: see `node_start`."""

    tag: str
    installed: str
    unpacked: list[str]


class NodeStarted(msgspec.Struct):
    """What it says when it starts toolroll."""

    started: bool


T = TypeVar("T")


class ErrorTail:
    """The last that a client writes to stderr, read as it comes, so that it takes neither disk nor much memory."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source, self._kept = source, b""
        self._thread = threading.Thread(target=self._read, name="toolroll stderr", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._source as source:
            while data := source.read(_MAX_ERROR_BYTES):
                self._kept = (self._kept + data)[-_MAX_ERROR_BYTES:]

    def text(self) -> str:
        """What is kept, after the client has ended."""
        self._thread.join(_ERROR_END_SECONDS)
        return self._kept.decode(errors="replace").strip()


class NodePipe(ProcessPipe):
    """A worker at the other end of the pipes of a client, such as ssh."""

    watch: StartWatch
    """Bounds `write` and `ask`."""
    _part_bytes = 1 << 16

    def __init__(self, process: ChildProcess) -> None:
        super().__init__(process)
        self._errors = ErrorTail(cast("IO[bytes]", process.stderr))

    def write(self, data: bytes) -> None:
        """Send something large; OSError if the worker has ended, or takes nothing for too long."""
        for at in range(0, len(data), self._part_bytes):
            self.watch.expect("it did not take the next part of what was sent", _ANSWER_SECONDS)
            self._write_part(data[at : at + self._part_bytes])
        self.watch.pause()

    def _write_part(self, part: bytes) -> None:
        self.send(part)

    def ask(self, kind: type[T], failure: str, seconds: float) -> T:
        """The next line; EOFError if it has ended, or says nothing for so long: `failure` names that."""
        self.watch.expect(failure, seconds)
        while line := self._read_line(_MAX_START_LINE):
            with suppress(msgspec.DecodeError, UnicodeError):  # the greeting of a shell
                found = msgspec.json.decode(line, type=kind)
                self.watch.pause()
                return found
        raise EOFError

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGTERM)  # a client may be a script around another one

    def wait(self) -> str:
        """How it ended, with the last that its client said."""
        how, text = super().wait(), self._errors.text()
        return self._offence or explain_end(how, text)


def explain_end(how: str, text: str) -> str:
    """How a worker ended, with the last that was said on stderr."""
    if how == f"status {_NO_PYTHON}":
        return "there is no Python 3.11 or newer."
    known = next((said for key, said in _REASONS.items() if key in text), "")
    return known or f"{how}: {text.splitlines()[-1][:_MAX_SAID] if text else 'it said nothing'}"


def start_client(client: list[str]) -> NodePipe:
    """Start a client such as ssh; its pipe."""
    return NodePipe(start_process(client, os.getcwd(), os.environ, (PIPE, PIPE, PIPE)))


def connect(pipe: NodePipe, words: list[str], then: Callable[[NodePipe], None] = lambda _: None) -> NodePipe:
    """Run toolroll with these words at the other end of a pipe.

    `then` is what both sides say first. ToolError if the node cannot be reached, lacks Python, or freezes on the way.
    """
    pipe.watch = StartWatch(pipe.stop)
    try:
        with pipe.watch:
            _start_toolroll(pipe, words)
            then(pipe)
    except (ConnectionError, EOFError) as error:
        pipe.finish()
        how = pipe.wait()
        raise ToolError(ErrorCode.NETWORK, pipe.watch.late or how) from error
    except BaseException:
        pipe.stop()
        pipe.finish()
        pipe.wait()
        raise
    return pipe


def _start_toolroll(pipe: NodePipe, words: list[str]) -> None:
    code = read_node_start()
    pipe.write(b"%d\n%s" % (len(code), code))
    hello = pipe.ask(NodeHello, "it did not answer", _HELLO_SECONDS)
    known = hello.installed == digest_toolroll()
    name, data = ("", b"") if known else load_app(hello.tag, hello.unpacked)
    pipe.write(msgspec.json.encode({"app": name, "size": len(data), "words": words}) + b"\n" + data)
    pipe.ask(NodeStarted, "it did not unpack toolroll", _UNPACK_SECONDS)


class PipePool:
    """One host, container or pod."""

    def __init__(
        self, name: str, words: list[str], base: PackedBase, connecting: threading.Lock, starts: StartStop
    ) -> None:
        """ToolError if it cannot be reached, or has no Python.

        The caller holds `connecting`, as each start of a worker does: so a base is sent once, and all pools of a node
        connect one after another, for a server of ssh turns away many clients at once.
        """
        self.name, self._words, self._base, self._lock, self._starts = name, words, base, connecting, starts
        self.cores, self.place = 1, FrozenPlace("", "")
        self._spare: NodePipe | None = self._connect()

    def start(self) -> NodePipe:
        with self._lock:
            spare, self._spare = self._spare, None
            return spare or self._connect()

    def _open_pipe(self) -> NodePipe:
        return start_client(self._words)

    def _connect(self) -> NodePipe:
        with self._starts.follow(self._open_pipe) as pipe:
            return connect(pipe, ["fleet", "node"], self._send_base)

    def _send_base(self, pipe: NodePipe) -> None:
        pipe.write(msgspec.json.encode(self._base.offer) + b"\n")
        if pipe.ask(Wanted, "toolroll did not start there", _ANSWER_SECONDS).is_missing:
            self._base.copy_to(pipe)
        ready = pipe.ask(NodeReady, "it did not unpack the base", _UNPACK_SECONDS)
        self.cores, self.place = ready.cores, ready.place

    def close(self) -> None:
        """End the worker that was not used."""
        if self._spare is not None:
            self._spare.finish()
            self._spare.wait()


class NodeLeftOutError(Exception):
    """The node could not be used for an earlier base, which has been reported."""


class StartStop:
    """Stops the workers that are starting, all at once."""

    def __init__(self) -> None:
        self._lock, self._starting, self._stopped = threading.Lock(), set[NodePipe](), threading.Event()

    @contextmanager
    def follow(self, begin: Callable[[], NodePipe]) -> Iterator[NodePipe]:
        """A worker that is stopped too while it starts; ToolError after `stop`."""
        if self.is_stopped:
            raise ToolError(ErrorCode.CANCELLED, "The run has ended.")
        pipe = begin()
        with self._lock:
            self._starting.add(pipe)
            if self._stopped.is_set():
                pipe.stop()
        try:
            yield pipe
        finally:
            with self._lock:
                self._starting.remove(pipe)

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        with self._lock:
            self._stopped.set()
            for pipe in self._starting:
                pipe.stop()


@dataclass(slots=True)
class PipeNode:
    """What the pools of a node have in common."""

    connecting: threading.Lock = field(default_factory=threading.Lock)
    """Held while a worker starts."""
    pools: int = 0
    has_worked: bool = False
    is_left_out: bool = False
    """It could not be used when it was tried first."""

    @property
    def is_tried(self) -> bool:
        """Whether it is known to work, or left out."""
        return self.has_worked or self.is_left_out


class PipeEngine:
    """Nodes that a client program reaches."""

    def __init__(self, kind: str, nodes: str) -> None:
        """ValueError without the name of a node, or with one that would be an option of the client."""
        self._clients = {f"{kind}:{one.strip()}": _find_client(kind, one.strip(), nodes) for one in nodes.split(",")}
        self._set_nodes(self._clients)

    def _set_nodes(self, names: Iterable[str]) -> None:
        self._nodes = {name: PipeNode() for name in names}
        self._starts, self._counting = StartStop(), threading.Lock()

    @contextmanager
    def open_pools(
        self, base: FrozenCopy, on_problem: Callable[[str], None], most: int | None = None
    ) -> Iterator[Sequence[PipePool]]:
        with ExitStack() as closing:
            packed = PackedBase(base)
            closing.callback(packed.close)

            def open_pool(name: str) -> PipePool | None:
                try:
                    return closing.enter_context(self._hold_pool(name, packed))
                except ToolError as error:
                    if not self._starts.is_stopped:
                        on_problem(f"{name} is left out: {error}")
                except NodeLeftOutError:
                    pass
                return None

            pools = list[PipePool]()
            names = sorted(self._nodes, key=lambda name: (self._nodes[name].is_tried, self._nodes[name].pools))
            untried = sum(not one.is_tried for one in self._nodes.values())
            with ThreadPoolExecutor(len(names)) as threads:
                while names and (more := max(untried, (most or len(names)) - len(pools))) > 0:
                    pools += [pool for pool in threads.map(open_pool, names[:more]) if pool is not None]
                    names, untried = names[more:], 0
            yield pools

    @contextmanager
    def _hold_pool(self, name: str, base: PackedBase) -> Iterator[PipePool]:
        """The pool of a node; ToolError where it cannot be used, and NodeLeftOutError where that has been said."""
        node = self._nodes[name]
        with node.connecting:
            if node.is_left_out:
                raise NodeLeftOutError
            try:
                pool = self._open_pool(name, base)
            except ToolError:
                node.is_left_out = not node.has_worked
                raise
            node.has_worked = True
        with self._counting:
            node.pools += 1
        try:
            yield pool
        finally:
            with self._counting:
                node.pools -= 1
            pool.close()

    def _open_pool(self, name: str, base: PackedBase) -> PipePool:
        return PipePool(name, self._clients[name], base, self._nodes[name].connecting, self._starts)

    @property
    def has_nodes(self) -> bool:
        return not all(one.is_left_out for one in self._nodes.values())

    def stop(self) -> None:
        self._starts.stop()

    def close(self) -> None:
        """There is nothing to leave."""


def _find_client(kind: str, node: str, given: str) -> list[str]:
    if kind not in COMMANDS or not _NAMES[kind].fullmatch(node):
        raise ValueError(f"{kind}:{given} does not name a node. Give {', '.join(f'{one}:NAME' for one in COMMANDS)}.")
    return COMMANDS[kind](node)


def bridge(spec: str, words: list[str]) -> int:
    """Run toolroll on a node, with our standard input and output; its exit status. ValueError, or ToolError.

    The input is that of a client which waits for answers, so the end of either side is the end of both.
    """
    kind, _, node = spec.partition(":")
    pipe = connect(start_client(_find_client(kind, node, node)), words)

    def forward() -> None:
        with suppress(OSError):
            while data := os.read(0, 1 << 16):
                pipe.send(data)
        pipe.finish()

    threading.Thread(target=forward, daemon=True).start()
    while data := pipe.read():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    how = pipe.wait()
    if not how.startswith("status 0"):
        raise ToolError(ErrorCode.NETWORK, how)
    return 0
