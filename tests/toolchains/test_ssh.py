"""The fleet through a real sshd on the loopback: `make toolchains`.

sshd is looked for on PATH, and in the folder that TOOLCHAINS names as `sshd/usr/sbin/sshd`, with its libraries beside it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from toolroll import Fleet, ToolError

UNPACKED = f"{os.environ.get('TOOLCHAINS', '')}/sshd"
SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:{UNPACKED}/usr/sbin")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SSHD or not shutil.which("ssh"), reason="sshd or ssh is missing"),
]

SERVER = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {place}/host
AuthorizedKeysFile {place}/user.pub
StrictModes no
UsePAM no
PidFile none
SetEnv XDG_CACHE_HOME={place}/node/cache XDG_STATE_HOME={place}/node/state TMPDIR={place}/node/tmp
"""
CLIENT = """\
Host changed
  UserKnownHostsFile {place}/changed
Host unknown
  UserKnownHostsFile {place}/none
Host silent
  Port 1
Host *
  HostName 127.0.0.1
  Port {port}
  UserKnownHostsFile {place}/known
  IdentityFile {place}/user
  IdentitiesOnly yes
"""
# As root, sshd wants a user and a folder of its own, which a machine without the package does not have.
AS_ROOT = """\
cp /etc/passwd {place}/passwd
grep -q ^sshd: {place}/passwd || echo sshd:x:65533:65534::/run/sshd:/bin/false >> {place}/passwd
mount --bind {place}/passwd /etc/passwd && mount -t tmpfs none /run && mkdir /run/sshd && exec "$0" "$@"
"""


class Server:
    """An sshd, and the folder of all that belongs to it."""

    def __init__(self, place: Path) -> None:
        self.node = place / "node"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name)], check=True)
        for name, key in (("known", "host"), ("changed", "user")):
            (place / name).write_text(f"[127.0.0.1]:{port} {(place / f'{key}.pub').read_text()}")
        for name, text in (("sshd_config", SERVER), ("ssh_config", CLIENT)):
            (place / name).write_text(text.format(place=place, port=port))
        (self.node / "tmp").mkdir(parents=True)
        (place / "bin").mkdir()
        (place / "bin" / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {place}/ssh_config "$@"\n')
        (place / "bin" / "ssh").chmod(0o755)
        words = [str(SSHD), "-D", "-e", "-f", str(place / "sshd_config")]
        if os.geteuid() == 0:
            words = ["unshare", "--mount", "sh", "-ec", AS_ROOT.format(place=place), *words]
        libraries = next(Path(UNPACKED).rglob("libwrap.so.0"), Path("/lib/none")).parent
        environ = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
        self.log = (place / "log").open("wb")
        self.process = subprocess.Popen(words, env=environ, stderr=self.log)
        for _ in range(100):
            if b"Server listening" in (place / "log").read_bytes():
                return
            time.sleep(0.05)
        raise AssertionError((place / "log").read_text())

    def clients(self, node: str) -> list[int]:
        """The clients of ssh that are connected to a node of ours."""
        return _find_processes("cmdline", f"{self.node.parent}/ssh_config\0", f"\0{node}\0")

    def processes(self) -> list[int]:
        """What runs on the node."""
        return _find_processes("environ", f"XDG_STATE_HOME={self.node}")

    def wait_until_empty(self) -> list[str]:
        """What is left on the node besides toolroll itself, when its processes have ended."""
        for _ in range(200):
            if not self.processes():
                break
            time.sleep(0.05)
        app = self.node / "cache" / "toolroll" / "app"
        files = [str(one) for one in self.node.rglob("*") if not one.is_dir() and app not in one.parents]
        mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(self.node) in line]
        return [*map(str, self.processes()), *files, *mounts]


def _find_processes(file: str, *texts: str) -> list[int]:
    found = []
    for one in Path("/proc").glob(f"[0-9]*/{file}"):
        with suppress(OSError):
            data = one.read_bytes()
            found += [int(one.parent.name)] if all(text.encode() in data for text in texts) else []
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    place = tmp_path_factory.mktemp("sshd")
    made = Server(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(place / "bin"), prepend=os.pathsep)
        patch.setenv("XDG_CACHE_HOME", str(place / "here"))  # one packed toolroll for all tests
        yield made
    made.process.terminate()
    made.process.wait()
    made.log.close()


def write_tasks(path: Path, count: int, seconds: float = 0) -> None:
    with path.open("w") as file:
        for number in range(count):
            calls: list[Any] = [
                ["read", {"path": "a.txt", "limit": 5}],
                ["edit", {"path": "a.txt", "old": "50\n51", "new": f"task {number}"}],
                ["grep", {"pattern": "^9|task"}],
                ["bash", {"command": f"sleep {seconds}; echo {number} > own.txt; cat own.txt"}],
            ]
            file.write(json.dumps({"id": str(number), "calls": calls, "check": f"grep 'task {number}$' a.txt"}) + "\n")


def run_tasks(ws: Path, tasks: Path, engine: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """The exit status, the results without what differs from run to run, and what was said about workers."""
    out = tasks.with_suffix(f".{engine.partition(':')[0]}")
    words = ["fleet", "run", str(tasks), "-C", str(ws), "--engine", engine, "--results", str(out)]
    done = subprocess.run([sys.executable, "-m", "toolroll", *words], capture_output=True, text=True, check=False)
    rows = {}
    for row in map(json.loads, out.read_text().splitlines()):
        assert row["id"] not in rows
        rows[row["id"]] = {key: value for key, value in row.items() if key not in ("worker", "seconds", "attempt")}
        for call in row.get("calls", ()):
            del call["ms"]
    return done.returncode, rows, done.stderr


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 101)))
    return folder


def test_results_are_those_of_this_machine_and_bad_nodes_are_named(server: Server, ws: Path, tmp_path: Path) -> None:
    write_tasks(tmp_path / "tasks.jsonl", 8)
    local = run_tasks(ws, tmp_path / "tasks.jsonl", "local")
    there = run_tasks(ws, tmp_path / "tasks.jsonl", "ssh:first,changed,unknown,silent,second")
    assert local[:2] == there[:2]
    assert {row["status"] for row in there[1].values()} == {"passed"}
    said = sorted(line for line in there[2].splitlines() if "left out" in line)
    assert said == [
        "worker: ssh:changed is left out: its host key has changed. If that is right, remove the old one with "
        "`ssh-keygen -R`.",
        "worker: ssh:silent is left out: status 255: ssh: connect to host 127.0.0.1 port 1: Connection refused",
        "worker: ssh:unknown is left out: its host key is not known. Connect once with ssh to accept it.",
    ]
    assert server.wait_until_empty() == []


def test_what_a_recipe_installs_works_on_a_node(server: Server, ws: Path) -> None:
    """The programs of a virtual environment begin with the path where it was made, which is on this machine."""
    program = 'print(__import__("os").getcwd())'
    recipe = [
        f"{sys.executable} -m venv --without-pip --copies env",
        f"echo \"#!$PWD/env/bin/python\" > tool; echo '{program}' >> tool; chmod +x tool",
    ]
    with Fleet(ws, engine="ssh:first", recipe=recipe) as fleet:
        lease = fleet.lease()
        assert lease.exec("./tool").stdout.decode() == f"{lease.workspace}\n"
    assert server.wait_until_empty() == []


def test_tasks_of_a_node_that_dies_run_elsewhere(server: Server, ws: Path, tmp_path: Path) -> None:
    write_tasks(tmp_path / "tasks.jsonl", 12, seconds=0.7)
    cut: list[int] = []
    results = tmp_path / "tasks.ssh"

    def cut_one() -> None:
        """Cut the connections to a node while it runs tasks; it cannot be reached any more."""
        while not results.exists() or not results.read_bytes():
            time.sleep(0.05)
        config = server.node.parent / "ssh_config"
        config.write_text(f"Host doomed\n  Port 1\n{config.read_text()}")
        cut.extend(server.clients("doomed"))
        for one in cut:
            os.kill(one, signal.SIGKILL)

    cutter = threading.Thread(target=cut_one)
    cutter.start()
    status, rows, said = run_tasks(ws, tmp_path / "tasks.jsonl", "ssh:first,doomed")
    cutter.join()
    assert cut
    assert "on ssh:doomed ended with status -9" in said
    assert "on ssh:doomed is left out: status 255" in said
    assert {name: row.get("why") for name, row in rows.items() if row["status"] != "passed"} == {}, said
    assert (status, len(rows)) == (0, 12)
    assert server.wait_until_empty() == []


def test_a_command_ends_with_the_connection_and_a_lease_is_had_elsewhere(server: Server, ws: Path) -> None:
    with Fleet(ws, engine="ssh:first,second") as fleet:
        first, second = fleet.lease(), fleet.lease()
        assert first.read_bytes("a.txt") == second.read_bytes("a.txt")
        threading.Timer(1.0, first._worker._pipe._process.kill).start()
        with pytest.raises(ToolError, match=r"ssh:first is gone \(status -9.*Ask for another lease"):
            first.exec("sleep 60")
        assert second.exec("echo still here").stdout == b"still here\n"
        third = fleet.lease()
        assert third.call("read", {"path": "a.txt"}).ok
        third._worker._pipe._process.kill()
        with pytest.raises(ToolError, match="ssh:second is gone"):
            second.exec("sleep 60")
        assert fleet.lease().call("read", {"path": "a.txt"}).ok  # a new connection
    assert server.wait_until_empty() == []


def test_mcp_is_served_from_another_machine(server: Server, ws: Path) -> None:
    version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "grep", "arguments": {"pattern": "^77"}},
        },
    ]
    sent = "".join(json.dumps(one) + "\n" for one in messages)

    def serve(node: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "toolroll", "mcp", "--at", node, "-C", str(ws)]
        return subprocess.run(words, input=sent, capture_output=True, text=True, check=False)

    done = serve("ssh:first")
    assert (done.returncode, done.stderr) == (0, "")
    answers = {row["id"]: row["result"] for row in map(json.loads, done.stdout.splitlines())}
    assert answers[2]["content"][0]["text"] == "a.txt\n77:77"
    done = serve("ssh:changed")
    assert (done.returncode, done.stdout) == (2, "")
    assert "ssh:changed: its host key has changed." in done.stderr
