"""What all adapters for sandboxes stand on."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from tests.adapters.task import FAIL, unknown_statuses
from toolroll import Kit, Policy
from toolroll.adapters.kit_sandbox import UNKNOWN_STATUS, KitSandbox
from toolroll.result import ToolError


@pytest.fixture(scope="module")
def box():
    with KitSandbox() as made:
        yield made


@pytest.fixture
def shared_temp(box):
    if not box.kit.share_temp():
        pytest.skip(
            "the cache folder of the user is beneath /tmp, or there is no bubblewrap: each command has its own /tmp"
        )


def test_files_in_tmp(box, shared_temp):
    for path in ("/tmp/f/g", "/var/tmp/h"):
        test_files_are_where_commands_find_them(box, path)
    box.run("mkdir -p /tmp/folder")
    with pytest.raises(IsADirectoryError):
        box.write("/tmp/folder", b"x")


@pytest.mark.parametrize("path", ["a b/c", "{ws}/d/e"])
def test_files_are_where_commands_find_them(box, path):
    path = path.format(ws=box.workspace)
    box.write(path, b"one\0")
    box.write(path, b"two\0")
    assert box.run(["cat", path]).stdout == b"two\0"
    assert box.run(["tee", path], stdin=b"three\xff").code == 0
    assert box.read(path) == b"three\xff"
    with pytest.raises(OSError, match="File too large"):
        box.read(path, 3)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("none", FileNotFoundError),
        ("/tmp/none", FileNotFoundError),
        (".", IsADirectoryError),
        ("/etc", IsADirectoryError),
        ("../x", PermissionError),
        ("/etc/shadow", PermissionError),
    ],
)
def test_what_cannot_be_read(box, path, error):
    with pytest.raises(error):
        box.read(path)


@pytest.mark.parametrize(
    ("path", "error"),
    [("f", IsADirectoryError), ("../x", PermissionError), ("/etc/new", PermissionError)],
)
def test_what_cannot_be_written(box, path, error):
    box.run("mkdir -p f")
    with pytest.raises(error):
        box.write(path, b"x")


def test_the_mode_of_a_file_counts_for_root_too(box):
    box.write("closed", b"x")
    box.run("chmod 0 closed")
    for operate in (box.read, lambda path: box.write(path, b"y")):
        with pytest.raises(PermissionError):
            operate("closed")


def test_what_others_have_changed_is_overwritten(box):
    box.write("both", b"ours")
    Path(box.workspace, "both").write_bytes(b"theirs")
    box.write("both", b"ours again")
    assert box.read("both") == b"ours again"


@pytest.mark.parametrize("cwd", [None, "sub", "{ws}/sub", "/usr/bin", "/tmp"])
def test_commands_begin_in_the_folder(box, cwd):
    box.run("mkdir -p sub")
    cwd = cwd and cwd.format(ws=box.workspace)
    for command in ("pwd; exit 3", ["sh", "-c", "pwd; exit 3"]):
        done = box.run(command, cwd=cwd)
        assert (done.stdout.decode().strip(), done.code) == (os.path.join(box.workspace, cwd or "").rstrip("/"), 3)


def test_a_program_in_tmp_runs(box, shared_temp):
    box.write("/tmp/program", b'#!/bin/sh\nprintf \'%s|\' "$@" "$V"\n')
    box.run(["chmod", "+x", "/tmp/program"])
    assert box.run(["/tmp/program", "a b", "$HOME"], env={"V": "v"}).stdout == b"a b|$HOME|v|"


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["no-such-program"], FileNotFoundError),
        (["/etc/passwd"], PermissionError),
        ("sudo id", PermissionError),
        (["sleep", "9"], TimeoutError),
    ],
)
def test_what_does_not_run(box, command, error):
    with pytest.raises(error):
        box.run(command, timeout=0.3)


def test_an_unknown_exit_status_is_a_failure_that_says_why():
    with KitSandbox() as box, unknown_statuses(box.workspace):
        done = box.run(f"printf out; printf err >&2; {FAIL}")
    assert (done.stdout, done.code) == (b"out", UNKNOWN_STATUS)
    assert done.stderr.startswith(b"err\n[The exit status of the command is unknown; 125 stands for it.")
    assert b"signal.signal(signal.SIGCHLD, signal.SIG_DFL)" in done.stderr


def test_cancelling_ends_the_command(box):
    async def run():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(box.arun("sleep 60"), 0.3)

    asyncio.run(run())


def test_where_each_command_has_its_own_tmp_a_file_there_is_refused(ws):
    with KitSandbox(ws) as own:  # by Landlock, and beneath /tmp
        own.write(f"{ws}/a", b"a")
        assert own.run("cat a").stdout == b"a"
        with pytest.raises(PermissionError, match=r"has its own 'tmp' here; write in .* or \$TMPDIR"):
            own.write("/tmp/b", b"b")


def test_a_file_over_the_limit_of_tools_is_written_by_a_command(ws):
    with KitSandbox(ws, limits={"write_bytes": 10}) as own:
        own.write("a/b", b"x" * 20)
        assert own.read("a/b") == b"x" * 20


def test_a_kit_stays_open_and_a_fork_of_it_is_dropped(tmp_path):
    (tmp_path / "a").write_text("a")
    with Kit(tmp_path, policy=Policy()) as kit:
        with KitSandbox(kit, fork=True) as own:
            own.write(f"{tmp_path}/a", b"b")
            assert own.run(["cat", f"{tmp_path}/a"], cwd=str(tmp_path)).stdout == b"b"
            place = own.workspace
        assert not os.path.exists(place)
        assert kit.read_bytes("a") == b"a"


def test_nothing_is_left_of_its_own_folder():
    with KitSandbox() as own:
        own.run("mkdir -p a; touch a/b; chmod 0 a; touch /tmp/c")
        place, temp = Path(own.workspace), own.run("printf %s $TMPDIR").stdout
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert not place.exists()
    assert not os.path.exists(temp)


def test_folders_at_paths_of_their_own(shared_temp):
    with KitSandbox(at="/srv/work", folders=("/tests",), policy=Policy()) as own:
        os.makedirs(f"{own.workspace}/.git/hooks")
        own.write("/tests/deep/f", b"f")
        done = own.run("cat /tests/deep/f; echo g > g; touch /srv/work/.git/hooks/h /srv/new /new", cwd="/srv/work")
        assert (done.stdout, done.code) == (b"f", 1)
        assert done.stderr.count(b"Read-only file system") == 3  # the workspace is guarded by either name
        assert own.read("g") == own.read("/srv/work/g") == b"g\n"
        assert not Path("/srv/work").exists()


@pytest.mark.parametrize(
    ("at", "folders", "said"),
    [
        ("/app", ("/app/x",), "The workspace cannot be at '/app': commands have '/app/x' there"),
        ("/", (), "The workspace cannot be at '/': commands have '/tmp' there"),
        ("/app/../x", (), "'/app/../x' is no plain absolute path"),
        ("/app", ("/usr/x",), "No folder can be shown at '/usr/x': commands have '/usr' there"),
        ("/app", ("/a", "/a/b"), "No folder can be shown at '/a/b': commands have '/a' there"),
    ],
)
def test_a_folder_at_a_path_that_is_taken(shared_temp, at, folders, said):
    with pytest.raises(ToolError, match=said), KitSandbox(at=at, folders=folders) as own:
        own.run("true")


def test_a_path_of_its_own_needs_a_shared_temporary_folder(ws):
    with pytest.raises(OSError, match="'/app' needs bubblewrap"):
        KitSandbox(ws, at="/app")
