"""The stage: commands on it see what others see, none changes it, it follows the machine, and it leaves nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolroll.host.files.system import DEVICES, System, system
from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.sandbox.mount_plan import plan_mounts
from toolroll.host.sandbox.shared_mounts import PLACE, SharedMounts, enter_mounts
from toolroll.host.sandbox.syscalls import Kernel, run_apart
from toolroll.result import ToolError

Run = Callable[..., tuple[int, str]]

IS_STAGED = "grep -q ' /dev/null ' /proc/self/mountinfo && echo not || echo staged"
LISTING = "cd {}; stat -c '%n %F %a %U %t %T' $(ls -A) | sort; readlink $(ls -A)"
FLAGS = "awk '{print $5, $6, $9}' FS='[ ]' /proc/self/mountinfo | sort"


@pytest.fixture
def group(bubblewrap: Sandbox, kernel: Kernel, ws: Path) -> Iterator[Sandbox]:
    """Where a stage can be made."""
    try:
        SharedMounts(kernel, plan_mounts((str(ws),), (), system(), False), "/usr/bin/bwrap").close()
    except OSError as error:
        pytest.skip(f"no stage can be made here: {error.strerror}")
    found = bubblewrap.group()
    yield found
    found.close()


@pytest.fixture
def outside(group: Sandbox) -> Iterator[Path]:
    """A folder that is not in /tmp, for that is each command's own."""
    folder = Path(tempfile.mkdtemp(prefix="toolroll-test-", dir="/var/lib"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def each(run: Run) -> Run:
    """Run scripts one after the other, all in a thread that ends: what they said."""

    def each(sandbox: Sandbox, *scripts: str | list[str], **more: object) -> list[str]:
        return run_apart(lambda: [run(sandbox, script, disposable=True, **more)[1] for script in scripts])

    return each


def held() -> list[str]:
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    found = (os.readlink(link) for link in links if os.path.lexists(link))
    return [path for path in found if path.startswith("mnt:") or path.endswith("mountinfo")]


def mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


def test_it_is_for_commands_that_come_again_in_a_thread_of_their_own(run: Run, each: Run, group: Sandbox) -> None:
    assert each(group, *[IS_STAGED] * 3) == ["not\n", "staged\n", "staged\n"]
    assert run(group, IS_STAGED) == (0, "not\n")


@pytest.mark.parametrize("folder", ["/", "/dev", "/etc", "/etc/ssl", "/sys", "/var", "/dev/shm", "/dev/pts"])
def test_files_are_as_without_it(each: Run, group: Sandbox, folder: str) -> None:
    without, on_it = each(group, *[LISTING.format(folder)] * 2)
    assert on_it == without


def test_mounts_are_as_without_it(each: Run, group: Sandbox, ws: Path, outside: Path) -> None:
    (outside / "tools").mkdir()
    access = AccessRules((str(ws),), (str(outside / "tools"),))
    found = [
        {path: options.split(",") for path, options, *_ in map(str.split, said.splitlines())}
        for said in each(group, *[FLAGS] * 2, access=access)
    ]
    without, on_it = found
    assert [path for path in on_it if path not in without] == []
    assert {path for path in without if path not in on_it} <= set(DEVICES)
    # A device that hides a program, as /dev/null may, is no device there.
    same = (path for path in on_it if not Path(path).is_char_device())
    changed = {path: on_it[path] for path in same if on_it[path] != without.get(path, on_it[path])}
    assert changed == {"/dev": ["ro", "nosuid", "relatime"]}  # where the devices are not mounts of their own
    for one in found:
        writable = [path for path, options in one.items() if options[0] == "rw" and not Path(path).is_char_device()]
        assert sorted(writable) == sorted(["/dev/pts", "/dev/shm", "/tmp", str(ws)])


def test_nobody_changes_it(each: Run, group: Sandbox) -> None:
    name, folders = f"toolroll-test-{os.urandom(6).hex()}", ("", "/dev", "/etc", "/usr", "/var", "/sys", "/etc/ssl")
    paths = [f"{folder}/{name}" for folder in folders]
    script = "; ".join(f"(echo x > {path}; cat {path} && echo {path})" for path in paths)
    try:
        said = each(group, *[f"({script}) 2>/dev/null"] * 3)
    finally:
        for path in paths:
            Path(path).unlink(missing_ok=True)
    assert said == ["", "", ""]


def test_devices_work_and_memory_and_terminals_are_its_own(each: Run, group: Sandbox) -> None:
    script = (
        "echo x > /dev/null && head -c 3 /dev/zero | wc -c && head -c 2 /dev/urandom | wc -c; ls -A /dev/shm; "
        "echo x > /dev/shm/mine && cat /dev/shm/mine; "
        "script -qc 'tty; sleep 0.2' /dev/null & script -qc 'tty; sleep 0.2' /dev/null & sleep 0.1; ls /dev/pts; wait"
    )
    if shutil.which("script", path="/usr/bin:/bin") is None:
        pytest.skip("there is no script(1)")
    for said in each(group, *[script] * 3):
        assert sorted(said.split()) == sorted(["3", "2", "x", "/dev/pts/0", "/dev/pts/1", "0", "1", "ptmx"])


def test_what_is_memory_of_no_process_is_bounded(each: Run, group: Sandbox) -> None:
    script = "for one in /tmp /dev/shm; do echo $(($(stat -f -c '%b * %S' $one) >> 20)); done"
    assert each(group, *[script] * 2) == ["512\n512\n"] * 2


def test_a_terminal_of_another_command_is_not_there(each: Run, group: Sandbox, ws: Path) -> None:
    opened = "import os, time; os.openpty(); open('up', 'w'); time.sleep(60)"
    each(group, "true", "true")

    def both() -> str:
        fd, null = os.open(ws, os.O_RDONLY), subprocess.DEVNULL
        env = {"PATH": "/usr/bin:/bin"}
        argv = ["/usr/bin/python3", "-c", opened]
        with group.spawn(
            AccessRules((str(ws),)), argv, cwd=fd, env=env, stdin=null, stdout=null, stderr=null, disposable=True
        ) as other:
            os.close(fd)
            said = each(group, "until test -e up; do sleep 0.01; done; ls /dev/pts")[0]
            other.kill()
        return said

    if not os.path.exists("/usr/bin/python3"):
        pytest.skip("no Python of the system's own")
    assert run_apart(both) == "ptmx\n"


def test_a_workspace_inside_of_what_is_read_and_the_other_way_round(each: Run, group: Sandbox, outside: Path) -> None:
    inner, tools = outside / "tools" / "inner", outside / "tools" / "inner" / ".venv"
    tools.mkdir(parents=True)
    (outside / "tools" / "a").write_text("a")
    access = AccessRules((str(inner),), (str(outside / "tools"), str(tools)))
    script = "cat ../a; (echo x > ../b) 2>/dev/null; echo x > b && echo x > .venv/b && cat b"
    assert each(group, *[script] * 2, access=access, cwd=inner) == ["ax\n"] * 2
    assert sorted(path.name for path in (outside / "tools").rglob("b")) == ["b", "b"]


def test_what_is_kept_stays_read_only(each: Run, group: Sandbox, ws: Path) -> None:
    (ws / ".git").mkdir()
    access = AccessRules((str(ws),), keep=(f"{ws}/.git",))
    script = "echo x > .git/a; mv .git g; rmdir .git; ls -A; echo x > b"
    assert each(group, *[f"({script}) 2>/dev/null; {IS_STAGED}"] * 2, access=access) == [
        ".git\nnot\n",
        ".git\nb\nstaged\n",
    ]


def test_it_follows_when_something_is_made_anew(each: Run, group: Sandbox, ws: Path, outside: Path) -> None:
    """A virtual environment that was removed and built again; settings that were replaced, as editors do."""
    tools, settings = outside / "tools", outside / "settings"
    access = AccessRules((str(ws),), (str(tools), str(settings)))
    said = []
    for number in range(4):
        shutil.rmtree(tools, ignore_errors=True)
        tools.mkdir()
        (tools / "a").write_text(f"{number} ")
        (outside / "new").write_text(f"{number} ")
        (outside / "new").rename(settings)
        said += each(group, f"cat {tools}/a {settings}; {IS_STAGED}", access=access)
    assert said == ["0 0 not\n", *(f"{number} {number} staged\n" for number in (1, 2, 3))]


def again(path: Path) -> None:
    path.unlink()
    path.write_text("2")


def the_same(path: Path) -> None:
    time.sleep(0.02)  # longer than a tick of the clock of files
    os.link(path, path.with_name("other"))
    path.unlink()
    os.link(path.with_name("other"), path)


@pytest.mark.parametrize("replace", [again, the_same])
def test_a_secret_that_was_replaced_is_covered_again(
    kernel: Kernel, ws: Path, outside: Path, replace: Callable[[Path], None]
) -> None:
    """What covers a file goes when its name does, so a stage from before does not stand any more."""
    folder, secret = outside / "settings", outside / "settings" / "secret"
    folder.mkdir()
    secret.write_text("1")
    own = System((), (), (), (str(secret),), ())
    files = plan_mounts((str(ws),), (str(folder),), own, False)

    def shown(stage: SharedMounts) -> bool:
        fd = stage.open()
        with enter_mounts(kernel, fd):
            os.close(fd)
            return os.path.isfile(PLACE + str(secret))

    stage = SharedMounts(kernel, files, "/usr/bin/bwrap")
    seen = [stage.stands(), stage.stands(), run_apart(lambda: shown(stage))]
    replace(secret)
    seen += [stage.stands(), run_apart(lambda: shown(stage))]
    stage.close()
    assert seen == [True, True, False, False, True]


MOUNTING = """
import os, subprocess, sys
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.runtime.launcher import AccessRules
ws, tools, null = sys.argv[1], sys.argv[2], subprocess.DEVNULL
group = choose_sandbox("bubblewrap").group()
def said(script):
    with group.spawn(AccessRules((ws,), (tools,)), ["bash", "-c", script], cwd=os.open(ws, os.O_RDONLY), env={"PATH": "/usr/bin:/bin"},
                     stdin=null, stdout=subprocess.PIPE, stderr=null, disposable=True) as process:
        return process.communicate()[0].decode().strip()
print(said("true") + said("ls " + tools), end=";")
subprocess.run(["mount", "-t", "tmpfs", "tmpfs", tools + "/on"], check=True)
open(tools + "/on/new", "w").close()
print(said(f"ls {tools}/on; echo x > {tools}/on/x || echo held"), end=";")
subprocess.run(["umount", tools + "/on"], check=True)
print(said(f"ls {tools}/on; grep -c {tools} /proc/self/mountinfo"))
"""


def test_it_follows_the_mounts_of_the_machine(group: Sandbox, ws: Path, outside: Path) -> None:
    (outside / "tools" / "on").mkdir(parents=True)
    words = ["unshare", "-m", sys.executable, "-c", MOUNTING, str(ws), str(outside / "tools")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(words, env=env, capture_output=True, check=True).stdout == b"on;new\nheld;1\n"


def test_the_thread_is_back_and_nothing_is_left(each: Run, run: Run, group: Sandbox, tmp_path: Path) -> None:
    def where() -> tuple[str, str]:
        return os.readlink("/proc/thread-self/ns/mnt"), os.readlink("/proc/thread-self/cwd")

    before, mounted, holding = where(), mounts(), held()

    def work() -> list[tuple[str, str]]:
        found = [where()]
        for _ in range(2):
            run(group, "true", disposable=True)
            found.append(where())
        with pytest.raises(ToolError, match="Argument list too long"):
            run(group, ["true", "x" * 200_000], disposable=True)
        return [*found, where()]

    assert run_apart(work) == [before] * 4
    assert (where(), mounts(), len(held())) == (before, mounted, len(holding) + 2)
    group.close()
    assert held() == holding
    assert each(group, IS_STAGED) == ["not\n"]


def test_a_command_gets_no_descriptor_of_it(each: Run, group: Sandbox) -> None:
    assert each(group, "true", "ls -l /proc/self/fd | grep -c -e mnt: -e mountinfo")[1] == "0\n"


@pytest.mark.parametrize("call", ["unshare", "mount", "mount_setattr"])
def test_where_none_can_be_made_commands_run_without(each: Run, group: Sandbox, kernel: Kernel, call: str) -> None:
    group._stages._kernel = Kernel({**kernel._numbers, call: 9999})  # type: ignore[attr-defined]
    holding = held()
    assert each(group, *[IS_STAGED] * 3) == ["not\n"] * 3
    assert held() == holding


def test_where_bubblewrap_does_not_start_on_it_commands_run_without(each: Run, group: Sandbox) -> None:
    group._stages._works = lambda *_: False  # type: ignore[attr-defined]
    holding = held()
    assert each(group, *[IS_STAGED] * 3) == ["not\n"] * 3
    assert held() == holding


def test_a_command_that_cannot_enter_it_is_not_started(each: Run, group: Sandbox, kernel: Kernel, ws: Path) -> None:
    each(group, "true", "true")
    group._kernel = Kernel({**kernel._numbers, "mount": 9999})  # type: ignore[attr-defined]
    with pytest.raises(ToolError, match="not started, because it could not be confined: mount: Function not"):
        each(group, "echo x > made")
    assert not (ws / "made").exists()


@pytest.mark.parametrize("wide", ["/sys", "/sys/kernel/mm"])
def test_where_its_place_is_seen_there_is_none(each: Run, group: Sandbox, ws: Path, wide: str) -> None:
    script = f"test -e {wide} && echo there; {IS_STAGED}"
    assert each(group, *[script] * 2, access=AccessRules((str(ws),), (wide,))) == ["there\nnot\n"] * 2
