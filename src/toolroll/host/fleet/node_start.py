"""The first code of a worker on another machine. It is sent as text, so it imports nothing but the standard library.

It says what this machine has, takes toolroll as one zip file if it is not here, unpacks that into the cache of the user
and runs it. Input and output are then those of toolroll.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from importlib.util import find_spec

_UNUSED_SECONDS = 14 * 86400.0  # after which an unpacked toolroll is removed


def python_tag() -> str:
    """What native modules must fit: the Python, the system and its C library."""
    libc = platform.libc_ver()[0] or "other"
    return f"{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}-{libc}"


def digest_package(folder: str) -> str:
    """A digest of the sources of a package."""
    whole = hashlib.sha256()
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one != "__pycache__")
        for name in sorted(names):
            with open(os.path.join(above, name), "rb") as file:
                data = file.read()
            whole.update(f"{os.path.relpath(above, folder)}/{name} {len(data)}\n".encode() + data)
    return whole.hexdigest()


def _digest_installed() -> str:
    spec = find_spec("toolroll") if find_spec("msgspec") else None  # it is no use without its packages
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return digest_package(folders[0]) if folders else ""


def _find_cache() -> str:
    above = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(above if os.path.isabs(above) else os.path.expanduser("~/.cache"), "toolroll", "app")


def _unpack(data: bytes, cache: str, name: str) -> None:
    new = tempfile.mkdtemp(prefix="new-", dir=cache)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            path = archive.extract(info, new)
            if (mode := info.external_attr >> 16) & 0o111:
                os.chmod(path, mode & 0o777)
    try:
        os.rename(new, os.path.join(cache, name))
    except OSError:  # another worker was first
        shutil.rmtree(new)
    _remove_unused(cache)


def _remove_unused(cache: str) -> None:
    for other in os.scandir(cache):
        with suppress(OSError):  # another worker has renamed or removed it
            if other.stat().st_mtime < time.time() - _UNUSED_SECONDS:
                shutil.rmtree(other.path, ignore_errors=True)


def _say(row: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Say what is here, take what is missing, and run toolroll with the words that the other side sends."""
    cache = _find_cache()
    os.makedirs(cache, mode=0o700, exist_ok=True)
    _say({"tag": python_tag(), "installed": _digest_installed(), "unpacked": os.listdir(cache)})
    if not (line := sys.stdin.buffer.readline()):
        return
    order = json.loads(line)
    if order["app"]:
        if order["size"]:
            _unpack(sys.stdin.buffer.read(order["size"]), cache, order["app"])
        folder = os.path.join(cache, order["app"])
        os.utime(folder)
        sys.path.insert(0, folder)
        os.environ["PATH"] = os.path.join(folder, "bin") + os.pathsep + os.environ.get("PATH", os.defpath)
    _say({"started": True})  # nothing is sent before, so nothing is left in the buffer of stdin
    sys.argv = ["toolroll", *order["words"]]
    import runpy

    runpy.run_module("toolroll", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
