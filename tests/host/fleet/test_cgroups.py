"""Control groups of leases: on the kernel's own files where they can be written, and on a folder that acts like them.

The controllers memory, cpu and pids are not to be had where version 1 has them, so their files are plain ones here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from toolroll import Fleet
from toolroll.host.fleet import cgroups
from toolroll.host.fleet.cgroups import LeaseGroups, plan_settings
from toolroll.host.fleet.lease_limits import LeaseLimits
from toolroll.policy.rules import Policy

ENFORCED = "cgroup: memory_bytes, processes, cpus; others per process"

IN_A_GROUP = """
import os, subprocess, sys
from contextlib import suppress
from pathlib import Path
from tests.waiting import until
from toolroll.host.fleet.cgroups import LeaseGroups, find_own_group, remove_group
from toolroll.host.fleet.lease_limits import LeaseLimits
from toolroll.host.runtime.launcher import DEVNULL, AccessRules, works_in_a_child
from toolroll.host.sandbox.choose import choose_sandbox, probe_tiers

group, controller = Path(sys.argv[1]), sys.argv[2]
(group / "cgroup.procs").write_text("0")
assert find_own_group() == str(group)
before = sorted(group.iterdir())
if controller:
    # For a child this process is a stranger in the group.
    assert not works_in_a_child(lambda: LeaseGroups([controller]))
    assert sorted(group.iterdir()) == before
    assert str(os.getpid()) in (group / "cgroup.procs").read_text().split()
LeaseGroups([controller]).close()
assert find_own_group() == str(group / "toolroll-own")

dead = group / "toolroll-leases" / "dead" / "1"
dead.mkdir(parents=True)
left = subprocess.Popen(["sleep", "100"])
(dead / "cgroup.procs").write_text(str(left.pid))
groups = LeaseGroups([controller])
assert left.wait() == -9
assert not dead.parent.exists()

def list_names(group):
    names = []
    for pid in Path(group, "cgroup.procs").read_text().split():
        with suppress(OSError):
            names.append(Path(f"/proc/{pid}/comm").read_text().strip())
    return names

folder = os.open(sys.argv[3], os.O_RDONLY)
for tier in [one.tier for one in probe_tiers() if one.works]:
    path = groups.open(LeaseLimits())
    words = ["/bin/sh", "-c", "sleep 100 & sleep 100"]
    access = AccessRules((sys.argv[3],), cgroup=path)
    env = {"PATH": "/usr/bin:/bin"}
    how = {"stdin": DEVNULL, "stdout": DEVNULL, "stderr": DEVNULL}
    process = choose_sandbox(tier).spawn(access, words, cwd=folder, env=env, **how)
    until(lambda: list_names(path).count("sleep") == 2)
    assert str(process.pid) in Path(path, "cgroup.procs").read_text().split()
    remove_group(path)
    assert process.wait() == -9
    assert not Path(path).exists()
    print(tier)
groups.close()
assert [one.name for one in (group / "toolroll-leases").iterdir() if one.is_dir()] == []
"""


@pytest.fixture
def real() -> Iterator[tuple[Path, str]]:
    """A group of the kernel, beneath that of this process, and a controller that it has."""
    try:
        above = Path(cgroups.find_own_group())
        found = (above / "cgroup.controllers").read_text().split()
        enabled = (above / "cgroup.subtree_control").read_text().split()
        group = above / f"toolroll-test-{os.getpid()}"
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group that can be written: {error}")
    added = found[0] if found and not enabled else ""
    try:
        if added:
            with suppress(OSError):  # a group with processes, unless it is the first of all
                (above / "cgroup.subtree_control").write_text(f"+{added}")
        yield group, ((group / "cgroup.controllers").read_text().split() or [""])[0]
    finally:
        for path, _, _ in os.walk(group, topdown=False):
            os.rmdir(path)
        if added:
            with suppress(OSError):
                (above / "cgroup.subtree_control").write_text(f"-{added}")


def test_commands_start_in_their_group_and_end_with_it(real: tuple[Path, str], tmp_path: Path) -> None:
    group, controller = real
    if not controller:
        pytest.skip("the group has no controller")
    words = [sys.executable, "-c", IN_A_GROUP, str(group), controller, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, done.stderr
    assert "none" in done.stdout


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that acts as a delegated group does: each folder in it has the files of a group, until it is removed."""
    top, make, remove = tmp_path / "group", os.mkdir, os.rmdir
    values = {"cgroup.controllers": "cpuset cpu memory pids\n", "cgroup.procs": f"{os.getpid()}\n"}
    values |= dict.fromkeys(("cgroup.subtree_control", "cgroup.kill", *plan_settings(LeaseLimits())), "")

    def make_group(path: str, *rest: int, **how: int) -> None:
        make(path, *rest, **how)
        if Path(path).is_relative_to(top):
            for name, value in values.items():
                Path(path, name).write_text(value)

    def remove_group(path: str, **how: int) -> None:
        if Path(path).is_relative_to(top):
            for name in values:
                Path(path, name).unlink()
        remove(path, **how)

    monkeypatch.setattr(os, "mkdir", make_group)
    monkeypatch.setattr(os, "rmdir", remove_group)
    monkeypatch.setattr(cgroups, "find_own_group", lambda: str(top))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    os.mkdir(top)
    return top


def test_a_lease_has_its_limits_from_its_group(group: Path, ws: Path) -> None:
    (ws / "a.txt").write_text("one\n")
    limits = {"memory_bytes": 10**8, "cpus": 0.5, "processes": 20}
    with Fleet(ws, policy=Policy(sandbox="none"), limits=limits) as fleet:
        assert fleet.problems == []
        lease = fleet.lease()
        assert lease.exec("cat a.txt").stdout == b"one\n"
        assert lease.limits.enforced == ENFORCED  # type: ignore[attr-defined]
        (own,) = (group / "toolroll-leases").glob("*/1")
        assert {name: (own / name).read_text() for name in plan_settings(LeaseLimits())} == {
            "memory.max": "100000000",
            "memory.swap.max": "0",
            "memory.oom.group": "1",
            "pids.max": "160",
            "cpu.max": "50000 100000",
        }
        assert (own / "cgroup.procs").read_text().startswith("0\n")
        lease.close()
        assert not own.exists()
    assert [one for one in (group / "toolroll-leases").iterdir() if one.is_dir()] == []
    assert (group / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    assert (group / "toolroll-own" / "cgroup.procs").read_text().startswith(str(os.getpid()))


def test_a_limit_that_cannot_be_held_is_said(group: Path, ws: Path) -> None:
    (group / "cgroup.controllers").write_text("io\n")
    with Fleet(ws, limits={"cpus": 2}) as fleet:
        why = "its control group has no controller for memory, pids, cpu"
        assert fleet.problems == [f"the limit cpus is not held: {why}"]
        assert fleet.lease().limits.enforced == "per process"  # type: ignore[attr-defined]
    assert [one.name for one in group.iterdir() if one.is_dir()] == []


def test_groups_of_a_living_process_stay(group: Path) -> None:
    first = LeaseGroups()
    path = first.open(LeaseLimits())
    LeaseGroups().close()
    assert os.path.exists(path)
    first.close()
    assert not os.path.exists(path)
