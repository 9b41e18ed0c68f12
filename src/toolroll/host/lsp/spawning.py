"""How a server is started when nobody gives another way: as a plain process of its own group."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from toolroll.host.runtime.launcher import folder_path
from toolroll.result import ErrorCode, ToolError


def spawn(argv: Sequence[str], cwd: int, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The running program, in the folder `cwd`, a descriptor."""
    try:
        return subprocess.Popen(
            argv,
            cwd=folder_path(cwd),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(ErrorCode.EXECUTION, f"Cannot run {argv[0]!r}: {error.strerror}.") from error


def environment() -> dict[str, str]:
    """What a server gets of our environment: where programs are, and where it may keep what is its own."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
    }
