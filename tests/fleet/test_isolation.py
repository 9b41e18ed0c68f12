"""What one lease cannot do to another one of the same process: read it, write to it, end its programs, use its servers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import until
from toolroll import Fleet, Lease
from toolroll.policy.rules import Policy

SCRIPT = "server_of_one_lease.py"
SERVER = """
import os, socket
with socket.create_server(("127.0.0.1", 0)) as server:
    with open("server.txt", "w") as file:
        file.write(f"{os.getpid()} {server.getsockname()[1]}")
    while True:
        server.accept()[0].close()
"""


@pytest.fixture(params=["bubblewrap", "landlock"])
def leases(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Lease, Lease]]:
    """One that has a secret file and runs a server, and another one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / SCRIPT).write_text(SERVER)
    with Fleet(tmp_path / "ws", policy=Policy(sandbox=request.param)) as fleet:
        first, second = fleet.lease(), fleet.lease()
        assert first.call("write", {"path": "secret.txt", "content": "only mine"}).ok
        started = first.call("bash", {"command": f"{sys.executable} {SCRIPT}", "background": True})
        assert started.ok, started.text
        until(lambda: first.exec("cat server.txt").stdout != b"")
        yield first, second


def run(kit: Lease, command: str) -> str:
    done = kit.exec(command, timeout=20)
    return (done.stdout + done.stderr).decode()


def test_a_lease_reads_and_changes_no_other_one(leases: tuple[Lease, Lease]) -> None:
    first, second = leases
    theirs = Path(first.workspace, "secret.txt")
    upper = Path(first.state_dir).parent / "upper" / "secret.txt"
    assert upper.is_file()
    for path in (theirs, upper):
        assert "only mine" not in run(second, f"cat {path}; grep -r 'only mine' {upper.parent}")
        assert not second.call("read", {"path": str(path)}).ok
        run(second, f"echo changed > {path}; rm -f {path}; mkdir -p {first.workspace} && touch {first.workspace}/new")
    assert run(first, "cat secret.txt; ls") == f"only minesecret.txt\nserver.txt\n{SCRIPT}\n"
    assert [one.path for one in second.changes()] == []


def test_a_lease_ends_no_program_of_another_one_and_reaches_no_server(leases: tuple[Lease, Lease]) -> None:
    first, second = leases
    pid, port = run(first, "cat server.txt").split()
    reach = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('rea' 'ched')"  # an error shows the code
    assert "reached" in run(first, f'{sys.executable} -c "{reach}"')
    seen = find_servers()
    assert seen
    for number in (pid, *seen):
        run(second, f'{sys.executable} -c "import os; os.kill({number}, 9)"')
    assert "reached" not in run(second, f'{sys.executable} -c "{reach}"')
    assert "reached" in run(first, f'{sys.executable} -c "{reach}"')  # it still runs


def find_servers() -> list[str]:
    """The numbers of the processes of servers, as the machine knows them."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found += [one.name] if SCRIPT.encode() in (one / "cmdline").read_bytes() else []
    return found
