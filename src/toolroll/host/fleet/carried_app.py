"""toolroll and the packages that it needs as one zip file, for machines that have none. Made once, and kept."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata

from toolroll.host.fleet import node_start
from toolroll.host.fleet.node_start import digest_package, python_tag
from toolroll.host.runtime.launcher import DEVNULL, PACKAGE, PIPE, STDOUT, read_output, start_process
from toolroll.host.runtime.user_folders import make_cache_dir
from toolroll.result import ErrorCode, ToolError

_EXTRAS = {"re2", "code", "terminal", "agent"}  # those that file calls, commands and tasks use, as far as they are here
_NOT_EVERYWHERE = {"google-re2"}  # not for musl
_KEPT_SECONDS = 86400.0
_FETCH_SECONDS = 600.0
_MAX_SAID = 300
_LOCK = "lock"
_PROGRAM = "rg"  # of a package that has it outside of its folder
_NAME, _EXTRA = re.compile(r"[\w.-]+"), re.compile(r"extra == ['\"]([\w-]+)")


@cache
def digest_toolroll() -> str:
    """A digest of this toolroll."""
    return digest_package(PACKAGE)


def load_app(tag: str, known: Container[str]) -> tuple[str, bytes]:
    """The name of the zip file for machines with this `python_tag`, and its content, empty if the name is known.

    ToolError if there are no packages for such machines.
    """
    found = sorted(_find_packages(), key=lambda one: one.name)
    content = [digest_toolroll(), tag, *(f"{one.name} {one.version}" for one in found)]
    name = hashlib.sha256("\n".join(content).encode()).hexdigest()[:32]
    if name in known:
        return name, b""
    folder = make_cache_dir("packed")
    path = os.path.join(folder, name)
    with open(os.path.join(folder, _LOCK), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # so that it is made once
        if not os.path.exists(path):
            for other in os.scandir(folder):
                if other.name != _LOCK and other.stat().st_mtime < time.time() - _KEPT_SECONDS:
                    os.unlink(other.path)
            with tempfile.TemporaryDirectory(prefix="toolroll-packages-") as fetched:
                if tag != python_tag():
                    _fetch(tag, found, fetched)
                    _write(path, _list_folder(fetched))
                else:
                    _write(path, (row for one in found for row in _list_files(one)))
        with open(path, "rb") as file:
            return name, file.read()


def _fetch(tag: str, packages: list[metadata.Distribution], folder: str) -> None:
    """Have uv put the same versions of the packages for another Python or system into a folder."""
    python, system, machine, libc = (*tag.split("-")[1:], "", "", "", "")[:4]
    uv = shutil.which("uv", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))
    said = "uv is not installed here" if system == "linux" else "only for Linux"
    if uv is not None and system == "linux":
        fits = f"{machine}-manylinux_2_28" if libc == "glibc" else f"{machine}-unknown-linux-musl"
        words = [uv, "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--python", sys.executable]
        words += ["--target", folder, "--python-version", f"{python[:1]}.{python[1:]}", "--python-platform", fits]
        names = [f"{one.name}=={one.version}" for one in packages if one.name not in _NOT_EVERYWHERE]
        process = start_process([*words, *names], folder, os.environ, (DEVNULL, PIPE, STDOUT))
        output, _ = read_output(process, _FETCH_SECONDS)
        if process.returncode == 0:
            return
        said = output.decode(errors="replace").strip()[-_MAX_SAID:]
    raise ToolError(
        ErrorCode.UNSUPPORTED,
        f"It has no toolroll, and packages for its {tag} cannot be fetched ({said}). Install toolroll there.",
    )


@cache
def _find_packages() -> list[metadata.Distribution]:
    """The packages that toolroll needs, and those that they need, as far as they are installed."""
    found, waiting = dict[str, metadata.Distribution](), ["toolroll"]
    while waiting:
        for needed in metadata.requires(waiting.pop()) or ():
            extras, name = set(_EXTRA.findall(needed)), _NAME.findall(needed)[0]
            if extras and not extras & _EXTRAS:
                continue
            with suppress(metadata.PackageNotFoundError):
                one = metadata.distribution(name)
                if one.name not in found:
                    found[one.name] = one
                    waiting.append(name)
    return list(found.values())


def _write(path: str, packages: Iterable[tuple[str, str]]) -> None:
    new = f"{path}.new"
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for source, name in (*_list_folder(PACKAGE, f"{os.path.basename(PACKAGE)}/"), *packages):
            archive.write(source, name)
    os.rename(new, path)


def _list_folder(folder: str, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The files of a folder: where they are, and their names in the zip file."""
    for above, _, names in os.walk(folder):
        if os.path.basename(above) != "__pycache__":
            paths = [os.path.join(above, one) for one in names]
            yield from ((path, prefix + os.path.relpath(path, folder)) for path in paths)


def _list_files(package: metadata.Distribution) -> Iterator[tuple[str, str]]:
    for file in package.files or ():
        source = os.path.normpath(str(package.locate_file(file)))
        outside = file.parts[0] == ".."
        if file.suffix != ".pyc" and os.path.isfile(source) and (not outside or file.name == _PROGRAM):
            yield source, f"bin/{_PROGRAM}" if outside else str(file)


@cache
def read_node_start() -> bytes:
    """The source of `node_start`."""
    with open(node_start.__file__, "rb") as file:
        return file.read()
