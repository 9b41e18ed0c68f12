"""Leases of a frozen base: isolated, searched by the base's index, limited, and gone at the end."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolroll import Fleet, Lease, ToolError
from toolroll.fleet.pool import PoolKit, freeze
from toolroll.host.files.versions import digest
from toolroll.host.settings import Settings
from toolroll.policy.rules import Policy

FILES = 110  # enough for an index


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("fleet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="module")
def source(cache: Path) -> Path:
    """A repository with two commits."""
    folder = cache / "project"
    (folder / "sub").mkdir(parents=True)
    for number in range(FILES):
        (folder / f"m{number}.py").write_text(f"x{number} = {number}\n")
    (folder / "sub" / "a.txt").write_text("alpha\n")
    (folder / ".gitignore").write_text("*.log\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    (folder / "later.txt").write_text("later\n")
    return folder


@pytest.fixture(scope="module")
def fleet(source: Path) -> Iterator[Fleet]:
    limits = {"disk_bytes": 4_000_000, "seconds": 600}
    with Fleet(source, commit="HEAD", recipe=["echo ready > ready.txt"], limits=limits) as fleet:
        yield fleet


@pytest.fixture
def lease(fleet: Fleet) -> Iterator[Lease]:
    made = fleet.lease()
    yield made
    made.close()


def text(kit: Lease, name: str, **arguments: object) -> str:
    result = kit.call(name, arguments)
    assert result.ok, result.text
    return result.text


def test_a_base_is_a_commit_with_its_recipe(lease: Lease) -> None:
    assert text(lease, "read", path="ready.txt") == "1\tready"
    assert not lease.call("read", {"path": "later.txt"}).ok


def test_what_was_installed_elsewhere_is_found_by_its_path(source: Path, bubblewrap: object) -> None:
    """A program of a virtual environment begins with the path of that; a base that was sent is elsewhere."""
    recipe = [
        "mkdir bin",
        "ln -s /bin/sh bin/sh",
        "echo '#!'$PWD/bin/sh > bin/tool",
        "echo pwd >> bin/tool",
        "chmod +x bin/tool",
    ]
    frozen = freeze(str(source), None, recipe, "local", settings=Settings())
    with closing(frozen):
        moved = Path(frozen.path).rename(Path(frozen.path).with_name("moved"))
        how: dict[str, Any] = {"prepared_at": frozen.path, "policy": Policy(sandbox="bubblewrap")}
        with PoolKit(str(moved), frozen.state, {}, **how) as pool, closing(pool.lease()) as lease:
            lease.write_bytes("own.txt", b"own")
            assert lease.exec("bin/tool").stdout.decode() == f"{lease.workspace}\n"
            assert lease.exec(f"cat {frozen.path}/own.txt").stdout == b"own"
            assert text(lease, "read", path=f"{frozen.path}/own.txt") == "1\town"


def test_a_search_sees_what_the_lease_has_changed_and_nobody_else_does(fleet: Fleet, lease: Lease) -> None:
    text(lease, "edit", path="m3.py", old="x3 = 3", new="y3 = 3")
    text(lease, "write", path="sub/new.txt", content="y3 too\n")
    text(lease, "write", path="out.log", content="y3 ignored\n")
    text(lease, "delete", path="m4.py")
    assert text(lease, "grep", pattern="y3").splitlines() == ["sub/new.txt", "1:y3 too", "m3.py", "1:y3 = 3"]
    assert text(lease, "grep", pattern="x3 = 3").startswith("No matches.")
    assert text(lease, "grep", pattern="x4 = 4").startswith("No matches.")
    assert text(lease, "find", pattern="{m3,m4,new,out}.*").split() == ["sub/new.txt", "m3.py"]
    other = fleet.lease()
    assert text(other, "grep", pattern="[xy]3 = 3") == "m3.py\n1:x3 = 3"
    other.close()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("rm -r sub", id="a folder is gone"),
        pytest.param("ln -s m1.py link.py", id="a link"),
        pytest.param("echo 'm1*' > .ignore", id="an ignore file"),
        pytest.param("touch -d 2001-01-01 m9.py; echo 'x1 = ' > old.py; touch -d 2001-01-01 old.py", id="old times"),
        pytest.param("mv sub other; echo x1 > other/x.txt", id="a folder is renamed"),
    ],
)
def test_a_search_is_right_after_any_change(lease: Lease, command: str) -> None:
    text(lease, "bash", command=command)
    own = subprocess.run(["ls", "-A", lease.workspace], capture_output=True, text=True, check=True).stdout.split()
    found = text(lease, "find", pattern="*", limit=500).split()
    hidden = "m1" if ".ignore" in own else "."
    files = {one for one in own if not one.startswith((".", hidden)) and one not in ("sub", "other")}
    assert files <= {one.rstrip("@") for one in found if "/" not in one}
    lines = text(lease, "grep", pattern="x1 = ", output="files", limit=500).split()
    assert ("m1.py" in lines) is (hidden == ".")


def test_a_command_in_a_lease_can_be_undone(lease: Lease) -> None:
    said = text(lease, "bash", command="echo new > sub/new.txt; rm m7.py; echo 'x = 1' > m8.py")
    assert said.endswith("Changed 3 files: m7.py (deleted), m8.py (+1 -1), sub/new.txt (new).")
    text(lease, "edit", path="m9.py", old="9", new="10", replace_all=True)
    assert "Changed 1 file: m9.py (+1 -1)." in text(lease, "bash", command="echo changed > m9.py")
    text(lease, "undo", steps=3)
    assert lease.changes() == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rm m3.py; echo 2 > m4.py; touch -d 2001-01-01 m5.py", "m3.py"),
        ("mv sub other && echo x > other/b.txt", "other/b.txt"),
        ("rm -r sub && mkdir sub && echo y > sub/b.txt", "sub/b.txt"),
        ("mkdir -p sub/deep && ln -s a.txt sub/link && ln m1.py sub/hard", "sub/hard"),
        ("printf '' > .gitignore; echo z > some.log", "some.log"),
    ],
)
def test_every_change_of_a_command_is_recorded_and_undone(lease: Lease, command: str, said: str) -> None:
    text(lease, "bash", command="echo first > sub/first.txt; rm sub/first.txt")
    before = list_tree(lease)
    assert said in text(lease, "bash", command=command)
    assert list_tree(lease) != before
    text(lease, "undo")
    assert list_tree(lease) == before


def list_tree(lease: Lease) -> str:
    return text(
        lease, "bash", command="find . -path ./.git -prune -o -printf '%p %y %s %l\\n' | sort; cat m4.py .gitignore"
    )


def test_what_a_command_has_staged_in_a_lease_is_unstaged_by_undo(lease: Lease) -> None:
    text(lease, "bash", command="echo new > new.txt; git add new.txt")
    assert "new.txt" in text(lease, "bash", command="git diff --cached --name-only")
    text(lease, "undo")
    assert text(lease, "bash", command="git status --porcelain") == "?? ready.txt"


def test_the_index_of_the_base_is_not_copied_for_each_lease(lease: Lease) -> None:
    index = digest(Path(lease.workspace, ".git", "index").read_bytes()).hex()
    text(lease, "bash", command="echo 1 > b.txt")
    assert not [one for one in Path(lease.state_dir).rglob("*") if one.name == index]
    text(lease, "bash", command="git add b.txt")
    assert [one for one in Path(lease.state_dir).rglob("*") if one.name == index]


def test_leases_do_not_mix_and_leave_nothing(fleet: Fleet, source: Path, cache: Path) -> None:
    """Eight leases at once, a few calls each."""

    def work(number: int) -> list[str]:
        kit = fleet.lease()
        try:
            text(kit, "edit", path="m1.py", old="x1 = 1", new=f"x1 = 'lease {number}'")
            text(kit, "bash", command=f"echo {number} > own.txt")
            assert text(kit, "grep", pattern="'lease ") == f"m1.py\n1:x1 = 'lease {number}'"
            assert text(kit, "bash", command="cat own.txt").split("\n")[0] == str(number)
            return [one.path for one in kit.changes()]
        finally:
            kit.close()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [["m1.py", "own.txt"]] * 8
    assert (source / "m1.py").read_text() == "x1 = 1\n"
    mounts = Path("/proc/self/mountinfo").read_text()
    assert str(cache) not in mounts


def test_a_search_of_a_later_lease_is_not_confined_to_an_earlier_one(cache: Path) -> None:
    """Overlays of few files, searched by ripgrep: their device numbers are used again."""
    small = cache / "small"
    small.mkdir()
    for number in range(25):
        (small / f"m{number}.py").write_text("x = 1\n")
    with Fleet(small) as fleet:
        for _ in range(10):
            kit = fleet.lease()
            text(kit, "write", path="new.py", content="y = 1\n")
            assert text(kit, "grep", pattern="(?-u:y) = 1") == "new.py\n1:y = 1"
            kit.close()


def test_a_lease_ends_what_writes_too_much(lease: Lease) -> None:
    assert (lease.limits.disk_bytes, lease.limits.enforced) == (4_000_000, "per process")  # type: ignore[attr-defined]
    result = lease.call("bash", {"command": "for i in 1 2 3; do head -c 2000000 /dev/zero > z$i; done; sleep 30"})
    assert not result.ok
    assert "its limit is 4,000,000" in result.text
    assert not lease.call("write", {"path": "more.txt", "content": "more"}).ok
    text(lease, "bash", command="rm z*")
    text(lease, "write", path="more.txt", content="more")


def test_leases_where_no_overlay_can_be_mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of the base has a space, which the options of a mount cannot hold: leases are copies."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("one\n" * 50_000)
    with Fleet(tmp_path / "ws", policy=Policy(sandbox="none"), limits={"disk_bytes": 100_000}) as fleet:
        first, second = fleet.lease(), fleet.lease()
        assert first.kind in ("copy", "reflink")
        text(first, "write", path="b.txt", content="own\n")
        assert [one.path for one in first.exec("echo two > a.txt").changes] == ["a.txt"]
        assert sorted(text(first, "grep", pattern="two|own").split()) == ["1:own", "1:two", "a.txt", "b.txt"]
        assert [one.path for one in first.changes()] == ["a.txt", "b.txt"]
        assert second.changes() == []
        text(first, "undo")
        assert first.read_bytes("a.txt") == second.read_bytes("a.txt")
        with suppress(ToolError):  # if it runs when the disk is looked at
            second.exec("head -c 150000 /dev/zero > z")
        assert "The lease has written 1" in second.call("write", {"path": "c.txt", "content": "c"}).text
    assert [one for one in (tmp_path / "a cache").rglob("*") if one.is_file()] == []


def test_a_lease_has_the_observer_of_the_fleet_and_its_own_hooks(tmp_path: Path, cache: Path) -> None:
    """A configured hook reads the lease's files; a hook of one lease is not one of another."""
    (tmp_path / "a.txt").write_text("of the base\n")
    script = "import sys; print(open('a.txt').read(), file=sys.stderr); sys.exit(2)"
    row = {"event": "after", "command": shlex.join([sys.executable, "-c", script]), "tools": "write"}
    seen: list[str] = []
    settings = msgspec.convert({"hook": [row]}, Settings)
    with Fleet(tmp_path, settings=settings, observe=lambda record: seen.append(record.name)) as fleet:
        first, second = fleet.lease(), fleet.lease()
        first.before(lambda _: "not here")
        assert first.call("ls").text == "A hook refused 'ls': not here"
        assert text(second, "write", path="a.txt", content="of the lease").endswith("\nof the lease")
        first.close()
        text(second, "ls")
    assert seen == ["ls", "write", "ls"]


def test_a_read_does_not_wait_for_the_commands_of_other_leases(fleet: Fleet, lease: Lease) -> None:
    """More commands than run at once, each until a file is there."""
    others = [fleet.lease() for _ in range(4 * (os.cpu_count() or 1) + 1)]
    with ThreadPoolExecutor(len(others)) as pool:
        running = [pool.submit(one.exec, "until [ -e go ]; do sleep 0.05; done", timeout=60) for one in others]
        try:
            assert "alpha" in text(lease, "read", path="sub/a.txt")
            assert not any(one.done() for one in running)
        finally:
            for one in others:
                Path(one.workspace, "go").touch()
        assert [one.result().code for one in running] == [0] * len(others)
    for one in others:
        one.close()


def test_leases_have_the_users_settings_for_the_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base below the home folder, named as a user would."""
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    base = tmp_path / "HOME" / "shop"
    base.mkdir(parents=True)
    (tmp_path / "XDG_CONFIG_HOME" / "toolroll").mkdir(parents=True)
    settings = f'[workspace."{base}"]\nmode = "thinking"\n'
    (tmp_path / "XDG_CONFIG_HOME" / "toolroll" / "toolroll.toml").write_text(settings)
    with Fleet("~/shop") as fleet, fleet.lease() as lease:
        assert lease.mode == "thinking"
        assert not lease.call("write", {"path": "a.txt", "content": "a"}).ok


def test_the_time_of_a_lease_ends(lease: Lease) -> None:
    text(lease, "ls")
    lease._started -= 599.5
    result = lease.call("bash", {"command": "sleep 20"})
    assert not result.ok
    assert "The time of this lease is over" in lease.call("ls").text


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"base": "missing"}, "There is no folder"),
        ({"commit": "no-such-commit"}, "has no commit 'no-such-commit'"),
        ({"recipe": ["exit 3"]}, r"The recipe fails at 'exit 3' \(status 3, and it printed nothing\)\.$"),
    ],
)
def test_a_base_that_cannot_be_made_says_why(tmp_path: Path, cache: Path, how: dict[str, object], said: str) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    base = how.pop("base", None)
    with pytest.raises(ToolError, match=said):
        Fleet(tmp_path / str(base) if base else tmp_path, **how)  # type: ignore[arg-type]
    assert list((cache / "cache").rglob("forks-*/1/files/*/a.txt")) == []


# A process of its own: all threads of this one would have too few files.
MANY = """
import resource, sys
from toolroll import Fleet, ToolError
with Fleet(sys.argv[1]) as fleet:
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    try:
        for _ in range(100):
            fleet.lease().call("read", {"path": "m1.py"})
    except (ToolError, OSError) as error:
        print(error)
"""


def test_where_files_run_out_the_error_says_what_helps(source: Path, cache: Path) -> None:
    done = subprocess.run([sys.executable, "-c", MANY, source], capture_output=True, text=True, timeout=60, check=True)
    assert "Too many open files" in done.stdout
    assert done.stdout.endswith("Close kits that are not used, or raise the limit of the process (`ulimit -n`).\n")
    assert str(cache) not in Path("/proc/self/mountinfo").read_text()
