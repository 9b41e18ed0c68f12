"""One place starts processes, and what it starts for toolroll itself is held to its access."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER, UNCONFINED
from toolroll import Kit
from toolroll.host.runtime.launcher import PIPE, STDOUT, AccessRules, Launcher
from toolroll.host.runtime.processes import stream
from toolroll.host.sandbox.choose import choose_for_helpers
from toolroll.host.sandbox.tiers import Unconfined
from toolroll.result import ToolError

SOURCE = Path(__file__).parents[3] / "src" / "toolroll"
STARTS = (
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.spawn",
    "os.system",
    "os.popen",
    "pty.",
    "asyncio.create_subprocess",
)
MODULES = {"subprocess", "_posixsubprocess", "multiprocessing", "pty"}
WORDS = re.compile(
    r"subprocess|multiprocessing|\bpty\b|ProcessPool|from os import|\bos\.(exec|posix_|fork|spawn|system|popen)"
)
"""A module without any of these is not parsed: to parse all of them takes seconds."""


def starts(tree: ast.AST) -> Iterator[str]:
    """How a module could start a process by itself."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name.split(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                if module.split(".")[0] in MODULES or module == "os":
                    yield from (
                        f"{module}.{one.name}" for one in names if module != "os" or f"os.{one.name}".startswith(STARTS)
                    )
                yield from (one.name for one in names if one.name == "ProcessPoolExecutor")
            case ast.Attribute(value=ast.Name(id=module), attr=name) if f"{module}.{name}".startswith(STARTS):
                yield f"{module}.{name}"


def test_nothing_else_starts_a_process() -> None:
    found = {
        str(path.relative_to(SOURCE)): names
        for path in SOURCE.rglob("*.py")
        if WORDS.search(text := path.read_text())
        if (names := sorted(set(starts(ast.parse(text)))))
    }
    # The second is sent to nodes of a Ray cluster, which have no launcher of ours.
    assert found == {
        "host/runtime/launcher.py": ["os.fork", "subprocess"],
        "host/fleet/node_processes.py": ["subprocess"],
    }


def output(launcher: Launcher, argv: list[str], access: AccessRules, folder: Path) -> str:
    fd = os.open(folder, os.O_RDONLY)
    try:
        with stream(launcher.start(argv, access, cwd=fd, stdout=PIPE, stderr=STDOUT)) as running:
            return b"".join(running).decode()
    finally:
        os.close(fd)


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for name in ("ws/a", "outside/secret"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(f"{name}\n")
    return tmp_path


def test_a_helper_reads_what_it_is_given_and_nothing_else(world: Path) -> None:
    argv = ["/bin/cat", "a", str(world / "outside/secret")]
    access = AccessRules((), (str(world / "ws"),))
    assert output(UNCONFINED, argv, access, world / "ws") == "ws/a\noutside/secret\n"
    held = output(LAUNCHER, argv, access, world / "ws")
    assert held.startswith("ws/a\n")
    assert held.count("\n") == 2
    assert "Permission denied" in held


def test_a_helper_writes_nothing_and_has_no_network(world: Path) -> None:
    access = AccessRules((), (str(world),))
    script = "echo x > new; echo x > /tmp/toolroll-new; python3 -c 'import socket; socket.socket()'"
    output(LAUNCHER, ["/bin/sh", "-c", script], access, world / "ws")
    assert sorted(os.listdir(world / "ws")) == ["a"]
    assert not os.path.exists("/tmp/toolroll-new")
    code = "import socket\ntry:\n    socket.socket()\nexcept OSError as error:\n    print(error.strerror)"
    with stream(LAUNCHER.start_python(code, stdout=PIPE)) as running:
        assert b"".join(running) == b"Operation not permitted\n"


def test_without_the_system_not_even_that_is_read(world: Path) -> None:
    program = LAUNCHER.program("rg")
    access = AccessRules((), (str(world / "ws"), program), system=False)
    said = output(LAUNCHER, [program, "--no-messages", "-c", "", "a", "/etc/passwd"], access, world / "ws")
    assert said == "a:1\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_root_still_reads_files_of_others(world: Path) -> None:
    os.chown(world / "ws/a", 65534, 65534)
    (world / "ws/a").chmod(0o600)
    assert output(LAUNCHER, ["/bin/cat", "a"], AccessRules((), (str(world / "ws"),)), world / "ws") == "ws/a\n"


def test_its_environment(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    said = output(LAUNCHER, ["/usr/bin/env"], AccessRules(()), Path("/"))
    assert said == f"PATH={os.environ['PATH']}\nLANG=C.UTF-8\n"


def test_a_program_is_named_by_its_absolute_path(world: Path) -> None:
    with pytest.raises(ValueError, match="by its absolute path, not 'cat'"):
        output(LAUNCHER, ["cat"], AccessRules(()), world)


def test_no_program_is_taken_from_the_workspace(tmp_path: Path) -> None:
    """Neither by its folder nor by a link to it."""
    for name in ("ws/bin", "good", "linked"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("ws/bin/tool", "good/tool"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "linked/tool").symlink_to(tmp_path / "ws/bin/tool")
    (tmp_path / "ws/out").symlink_to(tmp_path / "good")
    path = os.pathsep.join(["ws/bin", "", *(f"{tmp_path}/{name}" for name in ("ws/bin", "ws/out", "linked", "good"))])
    launcher = Launcher(Unconfined, path, str(tmp_path / "ws"))
    assert launcher.find("tool") == f"{tmp_path}/good/tool"
    (tmp_path / "good/tool").unlink()
    assert launcher.program("tool") == f"{tmp_path}/good/tool"  # looked up once
    with pytest.raises(ToolError, match="Cannot run 'tool': No such file"):
        Launcher(Unconfined, path, str(tmp_path / "ws")).program("tool")


def test_our_own_environment_in_the_workspace_is_ours() -> None:
    found = Launcher(Unconfined, "", os.path.dirname(sys.prefix)).find("rg")
    assert found is not None
    assert found.startswith(sys.prefix)


def test_the_end_of_a_command_leaves_helpers_alone(ws: Path, tmp_path: Path) -> None:
    """They are held as commands are, and one that has just ended must still be there to be waited for."""
    with Kit(ws, state_dir=tmp_path / "state") as kit:
        job = kit.call("bash", {"command": "sleep 60", "background": True})
        processes = [LAUNCHER.start(["/bin/true"], AccessRules(()), cwd=kit._services.root.fd) for _ in range(5)]
        sleeper = LAUNCHER.start(["/bin/sleep", "60"], AccessRules(()), cwd=kit._services.root.fd)
        assert kit.call("bash", {"command": "true"}).ok
        kit.call("job", {"action": "kill", "id": job.data["job"]})
        assert [one.wait(10) for one in processes] == [0] * 5
        assert sleeper.poll() is None
        sleeper.kill()
        sleeper.wait()


def test_helpers_are_confined_here() -> None:
    """A tier that is broken must not hide behind helpers that run without it."""
    if sys.platform == "linux":
        assert not isinstance(choose_for_helpers(), Unconfined)
