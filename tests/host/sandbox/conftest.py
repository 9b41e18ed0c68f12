"""The tiers that work on this machine, and a way to run a shell script under one."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll.host.runtime.launcher import AccessRules, Sandbox, python_paths
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.host.sandbox.landlock import abi
from toolroll.host.sandbox.syscalls import Kernel, machine

Run = Callable[..., tuple[int, str]]

PATH = "/usr/local/bin:/usr/bin:/bin"


def landlock_abi() -> int:
    """The version of Landlock that the kernel of this machine offers; 0 for none."""
    here = machine()
    return 0 if here is None else abi(Kernel(here.numbers))


@pytest.fixture
def sandbox(confined: str) -> Sandbox:
    """Each tier that confines."""
    return choose_sandbox(confined)


@pytest.fixture
def kernel() -> Kernel:
    here = machine()
    if here is None:
        pytest.skip(f"not for {sys.platform}")
    return Kernel(here.numbers)


@pytest.fixture
def plain() -> Sandbox:
    """The control: whatever is held must not be held by this one."""
    return choose_sandbox("none")


@pytest.fixture
def ours() -> tuple[tuple[str, ...], dict[str, str]]:
    """What the Python of these tests needs to find toolroll: paths to read, and a variable."""
    folders = [os.path.abspath(path) for path in sys.path if os.path.isdir(path)]
    return (*python_paths(), *folders), {"PYTHONPATH": os.pathsep.join(folders)}


@pytest.fixture
def run(ws: Path) -> Run:
    """Run a script, or words, in the workspace: its exit status and all that it printed."""

    def run(
        sandbox: Sandbox,
        script: str | list[str],
        *,
        access: AccessRules | None = None,
        cwd: Path = ws,
        env: dict[str, str] | None = None,
        **more: object,
    ) -> tuple[int, str]:
        fd = os.open(cwd, os.O_RDONLY)
        try:
            process = sandbox.spawn(
                access or AccessRules((str(ws),)),
                ["bash", "-c", script] if isinstance(script, str) else script,
                cwd=fd,
                env={"PATH": PATH, "HOME": "/nowhere", "LANG": "C.UTF-8", **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                **more,
            )
        finally:
            os.close(fd)
        with process:
            try:
                said, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, said.decode("utf-8", "replace")

    return run
