"""What is the same in every tier: how a command is started, what it gets, and how it fails to start."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.waiting import closed_again, descriptors, until
from toolroll.host.runtime.launcher import AccessRules, Sandbox, python_paths
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.sandbox.tiers import Tier
from toolroll.host.sandbox.toolchains import readable_paths
from toolroll.result import ErrorCode, ToolError

Run = Callable[..., tuple[int, str]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def tier(tier: str) -> Sandbox:
    """Each tier, also the one that confines nothing."""
    return choose_sandbox(tier)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No thread and no descriptor stays; one tier keeps a few rulesets, which have no path, and two threads that wait."""
    before, threads = descriptors(), len(os.listdir("/proc/self/task"))
    yield
    assert closed_again(before)
    until(lambda: len(os.listdir("/proc/self/task")) <= threads + 2)


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("exit 7", 7, ""),
        ("echo out; echo err >&2", 0, "out\nerr\n"),
        ("cat", 0, ""),
        ("echo $A-$B", 0, "1-two words\n"),
        ("basename $PWD", 0, "ws\n"),
        ("ls -1 /proc/self/fd | head -3 | tr '\\n' ' '; test -e /proc/self/fd/9 || echo; ", 0, "0 1 2 \n"),
    ],
)
def test_a_command(run: Run, tier: Sandbox, script: str, status: int, said: str) -> None:
    assert run(tier, script, env={"A": "1", "B": "two words"}) == (status, said)


def test_a_session_of_its_own(tier: Sandbox, ws: Path) -> None:
    fd, null = os.open(ws, os.O_RDONLY), subprocess.DEVNULL
    access = AccessRules((str(ws),))
    with tier.spawn(
        access, ["cat"], cwd=fd, env={"PATH": "/bin"}, stdin=subprocess.PIPE, stdout=null, stderr=null
    ) as one:
        assert os.getsid(one.pid) == os.getpgid(one.pid) == one.pid
        one.stdin.close()
    os.close(fd)


def test_a_signal_is_told_as_the_tier_can(run: Run, tier: Sandbox) -> None:
    """Bubblewrap's outer process says it as a shell would."""
    assert run(tier, "kill -9 $$")[0] == (128 + 9 if tier.tier is Tier.BUBBLEWRAP else -9)


def test_the_environment_is_what_was_given(run: Run, tier: Sandbox) -> None:
    status, said = run(tier, ["env"], env={"EMPTY": "", "LINES": "a\nb", "ODD": "\udcff="})
    ours = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nowhere", "LANG": "C.UTF-8"}
    expected = [f"{name}={value}" for name, value in ours.items()] + ["EMPTY=", "LINES=a", "b", "ODD=\ufffd="]
    assert status == 0
    assert sorted(line for line in said.splitlines() if not line.startswith("PWD=")) == sorted(expected)


def test_a_descriptor_is_passed_on(run: Run, tier: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("by descriptor")
    fd = os.open(tmp_path / "given", os.O_RDONLY)
    assert run(tier, f"cat <&{fd}", pass_fds=(fd,)) == (0, "by descriptor")
    os.close(fd)


def test_the_folder_is_the_descriptor_not_the_path(run: Run, tier: Sandbox, ws: Path) -> None:
    (ws / "a").mkdir()
    (ws / "other").mkdir()
    fd = os.open(ws / "a", os.O_RDONLY)
    (ws / "a").rename(ws / "moved")
    (ws / "a").symlink_to("other")
    assert run(tier, "basename $(pwd -P)", cwd=Path(f"/proc/self/fd/{fd}")) == (0, "moved\n")
    os.close(fd)


@pytest.mark.parametrize(
    ("argv", "code", "why"),
    [
        (["no-such-program"], ErrorCode.EXECUTION, "Cannot run 'no-such-program': No such file or directory. Check"),
        (["/no/such/program"], ErrorCode.EXECUTION, "Cannot run '/no/such/program': No such file or directory. Check"),
        (["./missing"], ErrorCode.EXECUTION, "Cannot run './missing': No such file or directory. Check"),
        (["./plain"], ErrorCode.EXECUTION, "Cannot run './plain': Permission denied. It is not executable"),
        (["/etc"], ErrorCode.EXECUTION, "Cannot run '/etc': Permission denied. It is not executable"),
        (["echo", "x" * 200_000], ErrorCode.EXECUTION, "Argument list too long. Put long text into a file"),
        ([], ErrorCode.VALIDATION, "The command is empty. Give a program to run."),
        ([""], ErrorCode.VALIDATION, "The command is empty. Give a program to run."),
        (["echo", "a\0b"], ErrorCode.VALIDATION, "The command holds a NUL byte"),
    ],
)
def test_what_cannot_be_run(run: Run, tier: Sandbox, ws: Path, argv: list[str], code: ErrorCode, why: str) -> None:
    (ws / "plain").write_text("x")
    with pytest.raises(ToolError) as caught:
        run(tier, argv)
    assert caught.value.code is code
    assert why in caught.value.message


@pytest.mark.parametrize("env", [{"A=B": "x"}, {"": "x"}, {"A": "x\0"}])
def test_an_environment_that_cannot_be(run: Run, tier: Sandbox, env: dict[str, str]) -> None:
    with pytest.raises(ToolError) as caught:
        run(tier, "true", env=env)
    assert caught.value.code is ErrorCode.VALIDATION


def test_a_reach_is_absolute() -> None:
    with pytest.raises(ValueError, match="absolute paths only, not 'ws'"):
        AccessRules(("/a", "ws"))


def test_the_folders_that_may_be_read(run: Run, sandbox: Sandbox, ws: Path, tmp_path: Path) -> None:
    for name in ("tools", "others"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    (ws / "venv").mkdir()
    access = AccessRules((str(ws),), (str(tmp_path / "tools"), str(ws / "venv"), str(tmp_path / "missing")))
    script = f"cd '{tmp_path}'; cat tools/a others/a 2>/dev/null; echo x > tools/b; echo y > ws/venv/c"
    assert run(sandbox, script, access=access)[1].startswith("tools")
    assert not (tmp_path / "tools" / "b").exists()
    assert (ws / "venv" / "c").read_text() == "y\n"  # what may be changed may be changed all through


def test_a_toolchain_runs(run: Run, sandbox: Sandbox, ws: Path) -> None:
    access = AccessRules((str(ws),), readable_paths({"HOME": str(ws), "PATH": os.environ["PATH"]}))
    said = run(
        sandbox, [sys.executable, "-c", "import ssl, json, sqlite3, ctypes; print(json.dumps([1]))"], access=access
    )
    assert said == (0, "[1]\n")


@pytest.mark.parametrize("script", ["echo x > new", "rm seen", "mkdir sub", "chmod 777 ."])
def test_nothing_can_be_changed_where_only_reading_is_granted(
    run: Run, sandbox: Sandbox, ws: Path, script: str, tmp_path: Path
) -> None:
    (ws / "seen").write_text("here")
    (tmp_path / "temp").mkdir()
    mode = ws.stat().st_mode
    access = AccessRules((str(tmp_path / "temp"),), (str(ws),))
    status, said = run(sandbox, f"cat seen; {script}", access=access)
    assert said.startswith("here")
    assert (sorted(os.listdir(ws)), (ws / "seen").read_text()) == (["seen"], "here")
    if script.startswith("chmod") and sandbox.tier is Tier.LANDLOCK:
        return  # one of its gaps
    assert status != 0
    assert ws.stat().st_mode == mode


CLIENT = """
import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
socket.getaddrinfo("127.0.0.1", 1)
socket.if_nameindex()
print("network", flush=True)
socket.socket(socket.AF_UNIX).connect("s")
print("path")
"""


def test_the_network_when_it_is_granted(run: Run, tier: Sandbox, ws: Path) -> None:
    (ws / "client.py").write_text(CLIENT)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as path:
        path.bind(str(ws / "s"))
        path.listen()
        server.settimeout(20)
        access = AccessRules((str(ws),), python_paths(), network=True)
        script = f"{sys.executable} client.py {server.getsockname()[1]} 2>/dev/null"
        found = run(tier, script, access=access)
        server.accept()[0].close()
    assert found == ((0, "network\npath\n") if tier.tier is Tier.NONE else (1, "network\n"))


SETTING = "/proc/sys/kernel/core_pattern"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could")
@pytest.mark.parametrize(
    "script",
    [
        f"cat {SETTING} > copy && cat copy > {SETTING}",  # the same again, so that nothing changes
        "head -c 1 /etc/shadow",
        "chown 65534 .",
        "nice -n -1 true 2>&1 | grep -q denied && exit 1; exit 0",
    ],
)
def test_root_is_an_ordinary_user(run: Run, sandbox: Sandbox, plain: Sandbox, ws: Path, script: str) -> None:
    assert run(sandbox, script)[0] != 0
    assert run(plain, script)[0] == 0
    os.chown(ws, 0, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root owns them")
def test_settings_are_read_but_those_for_root_alone(run: Run, sandbox: Sandbox) -> None:
    script = "cat /etc/passwd >/dev/null && ls /etc >/dev/null && echo fine; find /etc -type f ! -perm -004 -exec cat {} + | wc -c"
    assert run(sandbox, f"({script}) 2>/dev/null") == (0, "fine\n0\n")


PARENT = """
import os, subprocess, sys
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.runtime.launcher import AccessRules, python_paths
ws, tier = sys.argv[1:]
script = "env; cat /proc/$PPID/environ /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ; ps auxeww; tr '\\\\0' ' ' < /proc/$PPID/cmdline"
process = choose_sandbox(tier).spawn(AccessRules((ws,)), ["bash", "-c", script], cwd=os.open(ws, os.O_RDONLY), env={"PATH": "/usr/bin:/bin", "MINE": "shown"},
    stdin=subprocess.DEVNULL, stdout=1, stderr=subprocess.DEVNULL)
process.wait()
"""


def test_a_secret_of_the_parent_cannot_be_found(tier: Sandbox, ws: Path) -> None:
    secret = os.urandom(12).hex()
    env = {**os.environ, "SECRET": secret}
    done = subprocess.run(
        [sys.executable, "-c", PARENT, ws, tier.tier], env=env, stdout=subprocess.PIPE, check=True, timeout=60
    )
    assert b"MINE=shown" in done.stdout
    assert (secret.encode() in done.stdout) == (tier.tier is Tier.NONE)


def test_many_at_once_and_the_callers_stay_free(run: Run, sandbox: Sandbox, ws: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("outside")
    before = marks()

    def one(number: int) -> tuple[tuple[int, str], str, int]:
        found = run(sandbox, f"cat '{outside}' 2>/dev/null; echo {number}; echo {number} > {number}")
        with socket.socket(socket.AF_UNIX) as still_to_be_had:
            return found, outside.read_text(), stat.S_IFMT(os.fstat(still_to_be_had.fileno()).st_mode)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(32)))
    assert found == [((0, f"{number}\n"), "outside", stat.S_IFSOCK) for number in range(32)]
    assert sorted(int(name) for name in os.listdir(ws)) == list(range(32))
    assert marks() == before


def marks() -> list[str]:
    """What confinement leaves on a thread."""
    status = Path("/proc/thread-self/status").read_text().splitlines()
    return [line for line in status if line.startswith(("Cap", "NoNewPrivs", "Seccomp"))]


def spawned(sandbox: Sandbox, ws: Path, reaches: list[AccessRules]) -> int:
    """Start as many commands as there are reaches, one after the other; how many descriptors are open then."""
    fd, null = os.open(ws, os.O_RDONLY), subprocess.DEVNULL
    for access in reaches:
        with sandbox.spawn(
            access, ["true"], cwd=fd, env={"PATH": "/usr/bin:/bin"}, stdin=null, stdout=null, stderr=null
        ) as one:
            assert one.wait(60) == 0
    os.close(fd)
    return len(os.listdir("/proc/self/fd"))


def test_descriptors_stay_flat(sandbox: Sandbox, ws: Path) -> None:
    count = 100 if sandbox.tier == "landlock" else 20
    for number in range(40):
        (ws / str(number)).mkdir()
    many = [AccessRules((str(ws / str(number)), str(ws))) for number in range(40)]  # more than rulesets are kept for
    before = spawned(sandbox, ws, many[:20])
    after = spawned(sandbox, ws, many + [AccessRules((str(ws),))] * count)
    assert after < before + 20  # one for each command would be 60


def test_a_folder_made_anew_is_the_one_that_may_be_changed(run: Run, sandbox: Sandbox, ws: Path) -> None:
    for _ in range(3):
        (ws / "temp").mkdir()
        access = AccessRules((str(ws / "temp"),))
        assert run(sandbox, "echo x > a && cat a", access=access, cwd=ws / "temp") == (0, "x\n")
        (ws / "temp" / "a").unlink()
        (ws / "temp").rmdir()
        (ws / f"other{_}").mkdir()  # so that the next one is not given the same number
