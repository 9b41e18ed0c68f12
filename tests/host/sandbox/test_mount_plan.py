"""What a command sees of the private files in /etc under bubblewrap."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from toolroll.host.files.system import system
from toolroll.host.runtime.launcher import AccessRules, Sandbox

if sys.platform != "linux" or os.geteuid() != 0:
    pytest.skip("needs root on Linux, from whom alone files are hidden", allow_module_level=True)


def test_what_is_not_covered_cannot_be_read_either(run, bubblewrap: Sandbox, plain: Sandbox, ws: Path) -> None:
    found = system()
    bare = [path for path in found.hidden if path not in found.covered]
    assert set(found.covered) <= set(found.hidden)
    assert "/etc/shadow" in found.covered
    script = f"cat {' '.join(bare)} </dev/null 2>/dev/null | wc -c"
    assert run(bubblewrap, script, access=AccessRules((str(ws),))) == (0, "0\n")
    files = [path for path in bare if os.path.isfile(path)]
    assert run(plain, script) == (0, f"{sum(os.path.getsize(path) for path in files)}\n")  # the control
