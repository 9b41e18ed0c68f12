"""MCP servers over pipes and over HTTP: from start to the first list of tools, reads of a small file, and a search.

Reads are those of a session: a new server each time, a thousand calls after its first list of tools; wall time is
the median of the calls that wait for each other, and the mean of those that do not. CPU time is that of the server
alone, as a mean. The official filesystem server comes from npm and runs on Node; it is left out where neither can be
had. The Python SDK's server is the least that its low-level part allows. The floor answers the same messages from a
bare loop with msgspec. The client in front of all of them writes each call by itself and looks at each answer as bytes.

The search is for all Python files of flask, ten times in a session after a first one; the floor is Python's own glob.

The official server has no HTTP, so beside reads over HTTP its row is that over pipes; so is one of ours, for HTTP may
cost at most twice as much. All calls of such a session are
made on as many connections as there are calls in flight. The SDK's own server there answers in JSON, which is its
quicker way, asks for no token and checks no Host. The floor is a bare asyncio server with msgspec.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median

import msgspec

import toolroll
from bench import corpora, over_http, peers
from bench.cases import Settings
from bench.mcp_servers import FLOOR, FOUND, HTTP_FLOOR, HTTP_SDK, SDK, ServerProcess
from bench.measure import Contestant, Race, Role, Sample

OFFICIAL = "@modelcontextprotocol/server-filesystem"
PINNED = "2026.8.31"
CALLS = 1_000
SEARCHES = 10
Served = tuple[str, Role, Sequence[str], str]
"""What a server is called, its role, its command line and the name of its tool that reads."""


def races(settings: Settings) -> Iterator[Race]:
    file = settings.scratch / "small.txt"
    file.write_text("".join(f"line {number}\n" for number in range(20)))
    servers = list(_servers(settings.scratch))
    state = str(settings.state)
    yield Race(
        "start to tools/list",
        [Contestant(name, role, _starting(argv, state)) for name, role, argv, _ in servers],
        most_rounds=15,
    )
    yield Race(
        "first start to tools/list, without byte code",
        [
            Contestant(name, role, _starting(_without_bytecode(settings.scratch) if role == "ours" else argv, state))
            for name, role, argv, _ in servers
        ],
        most_rounds=15,
    )
    for title, flight in (("read, one at a time", 1), ("read, 16 in flight", 16)):
        racers = [
            Contestant(name, role, _session(argv, state, {"name": tool, "arguments": {"path": str(file)}}, flight))
            for name, role, argv, tool in servers
        ]
        yield Race(title, racers)
    yield _finding(settings)
    if peers.present("mcp"):  # the SDK is one of those that are measured
        yield from _over_http(settings.scratch, state, file, servers)


def _finding(settings: Settings) -> Race:
    tree = corpora.real("flask")
    asked = {"path": str(tree), "pattern": "**/*.py"}
    servers: list[tuple[str, Role, Sequence[str], str, dict[str, int]]] = [
        ("toolroll mcp", "ours", _ours(tree), "find", {"limit": 1000}),
        *((OFFICIAL, "peer", argv, "search_files", {}) for argv in _official_at(tree)),
        ("bare loop with glob", "floor", [sys.executable, "-c", FOUND], "find", {}),
    ]
    racers = [
        Contestant(name, role, _session(argv, str(settings.state), call, 1, SEARCHES, b"wrappers.py"))
        for name, role, argv, tool, more in servers
        if (call := {"name": tool, "arguments": asked | more})
    ]
    return Race("find **/*.py in flask", racers, most_rounds=15)


def _over_http(folder: Path, state: str, file: Path, servers: Sequence[Served]) -> Iterator[Race]:
    ours = [sys.executable, "-m", "toolroll", "mcp", "--http", "-C", str(folder)]
    sdk, floor = ([sys.executable, "-c", one] for one in (HTTP_SDK, HTTP_FLOOR))
    read = {"name": "read", "arguments": {"path": str(file)}}
    for title, flight in (("read over HTTP, one at a time", 1), ("read over HTTP, 16 in flight", 16)):
        pipes = [
            Contestant(f"{name} (pipes)", "peer", _session(argv, state, {**read, "name": tool}, flight))
            for name, _, argv, tool in servers
            if name in (OFFICIAL, "toolroll mcp")
        ]
        yield Race(
            title,
            [
                Contestant("toolroll mcp --http", "ours", _web_session(ours, state, read, flight)),
                *pipes,
                Contestant("mcp low-level Server over HTTP", "peer", _web_session(sdk, state, read, flight)),
                Contestant("bare asyncio with msgspec", "floor", _web_session(floor, state, read, flight)),
            ],
        )


def _servers(folder: Path) -> Iterator[Served]:
    yield "toolroll mcp", "ours", _ours(folder), "read"
    for argv in _official_at(folder):
        yield OFFICIAL, "peer", argv, "read_text_file"
    if peers.present("mcp"):
        yield "mcp low-level Server", "peer", [sys.executable, "-c", SDK], "read"
    yield "bare loop with msgspec", "floor", [sys.executable, "-c", FLOOR], "read"


def _ours(folder: Path) -> list[str]:
    return [sys.executable, "-m", "toolroll", "mcp", "-C", str(folder)]


def _without_bytecode(folder: Path) -> list[str]:
    """Ours from a copy of the package as an installation leaves it: nothing is compiled, and nothing will be."""
    copy = folder / "without-bytecode"
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(toolroll.__file__).parent, copy / "toolroll", ignore=left_out, dirs_exist_ok=True)
    start = f"import sys; sys.path.insert(0, {str(copy)!r}); from toolroll.cli import main; sys.exit(main())"
    return [sys.executable, "-B", "-c", start, "mcp", "-C", str(folder)]


def _official_at(folder: Path) -> Iterator[list[str]]:
    """Its command line, where it can be had."""
    node, script = shutil.which("node"), _official()
    if node and script:
        yield [node, str(script), str(folder)]


def _official() -> Path | None:
    """The official server, from npm on the first run."""
    home = peers.HOME / "node"
    script = home / "node_modules" / OFFICIAL / "dist" / "index.js"
    npm = shutil.which("npm")
    if not script.exists() and npm is not None:
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", str(home)]
        home.mkdir(parents=True, exist_ok=True)
        subprocess.run([*command, f"{OFFICIAL}@{PINNED}"], check=False, capture_output=True)
    return script if script.exists() else None


class _Head(msgspec.Struct):
    """What tells an answer from what comes unasked; an answer has to be JSON all the same."""

    method: str = ""


_heads = msgspec.json.Decoder(_Head)


class _Server(ServerProcess):
    def __init__(self, argv: Sequence[str], state: str) -> None:
        super().__init__(argv, state, subprocess.PIPE)
        self._number = 0
        self._lines: deque[bytes] = deque()
        self._rest = b""

    def send(self, method: str, params: bytes) -> None:
        """Ask something; the parameters are JSON already, so that this client costs little beside the servers."""
        assert self.process.stdin is not None
        self._number += 1
        message = b'{"jsonrpc": "2.0", "id": %d, "method": "%b", "params": %b}\n'
        os.write(self.process.stdin.fileno(), message % (self._number, method.encode(), params))

    def answer(self) -> bytes:
        """The next answer, as it came; what comes unasked is passed over."""
        while True:
            while not self._lines:
                self._read()
            line = self._lines.popleft()
            if not _heads.decode(line).method:
                return line

    def _read(self) -> None:
        assert self.process.stdout is not None
        if not (chunk := os.read(self.process.stdout.fileno(), 1 << 16)):
            raise RuntimeError("the server has gone")
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        self._lines += whole

    def begin(self) -> None:
        """The handshake and the first list."""
        assert self.process.stdin is not None
        who = {"name": "bench", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
        self.send("initialize", msgspec.json.encode(hello))
        self.answer()
        os.write(self.process.stdin.fileno(), b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        self.send("tools/list", b"{}")
        if b'"tools"' not in self.answer():
            raise RuntimeError("no list of tools")


def _starting(argv: Sequence[str], state: str) -> Callable[[], Sample]:
    def sample() -> Sample:
        began = time.perf_counter()
        with _Server(argv, state) as server:
            server.begin()
            return Sample(server.cpu(), time.perf_counter() - began)

    return sample


def _session(
    argv: Sequence[str], state: str, asked: object, flight: int, calls: int = CALLS, holds: bytes = b"line 19"
) -> Callable[[], Sample]:
    call = msgspec.json.encode(asked)

    def sample() -> Sample:
        with _Server(argv, state) as server:
            server.begin()
            server.send("tools/call", call)
            server.answer()
            cpu, began = server.cpu(), time.perf_counter()
            sent, at = 0, []
            for got in range(calls):
                while sent < calls and sent - got < flight:
                    server.send("tools/call", call)
                    sent += 1
                if holds not in (answer := server.answer()):
                    raise RuntimeError(f"a call failed: {answer!r}")
                at.append(time.perf_counter())
            return _taken(server.cpu() - cpu, began, at, flight)

    return sample


def _web_session(argv: Sequence[str], state: str, call: object, flight: int) -> Callable[[], Sample]:
    def sample() -> Sample:
        with over_http.Server(argv, state) as server:
            server.begin(flight)
            server.calls(call, flight, "line 19")
            cpu, began = server.cpu(), time.perf_counter()
            at = server.calls(call, CALLS, "line 19")
            return _taken(server.cpu() - cpu, began, at, flight)

    return sample


def _taken(cpu: float, began: float, at: Sequence[float], flight: int) -> Sample:
    calls = len(at)
    took = [after - before for before, after in pairwise([began, *at])]
    return Sample(cpu / calls, median(took) if flight == 1 else (at[-1] - began) / calls)
