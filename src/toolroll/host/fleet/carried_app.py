"""toolroll and the packages that it needs as one zip file, for machines that have none. Made once, and kept."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import zipfile
from collections.abc import Container, Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata

from toolroll.host.fleet import node_start
from toolroll.host.fleet.node_start import digest_package, python_tag
from toolroll.host.runtime.launcher import PACKAGE
from toolroll.host.runtime.user_folders import make_cache_dir
from toolroll.result import ErrorCode, ToolError

_EXTRAS = {"re2", "code", "terminal"}  # those that file calls and commands use, where they are installed
_PROGRAM = "rg"  # of a package that has it outside of its folder
_NAME, _EXTRA = re.compile(r"[\w.-]+"), re.compile(r"extra == ['\"]([\w-]+)")


@cache
def digest_toolroll() -> str:
    """A digest of this toolroll."""
    return digest_package(PACKAGE)


def load_app(tag: str, known: Container[str]) -> tuple[str, bytes]:
    """The name of the zip file for machines with this `python_tag`, and its content, empty if the name is known.

    ToolError if the packages here are for others.
    """
    if tag != python_tag():
        said = f"It has {tag} and no toolroll, and the packages here are for {python_tag()}. Install toolroll there."
        raise ToolError(ErrorCode.UNSUPPORTED, said)
    found = sorted(_find_packages(), key=lambda one: one.name)
    content = [digest_toolroll(), tag, *(f"{one.name} {one.version}" for one in found)]
    name = hashlib.sha256("\n".join(content).encode()).hexdigest()[:32]
    folder = make_cache_dir("packed")
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        for other in os.scandir(folder):
            os.unlink(other.path)
        _write(path, found)
    if name in known:
        return name, b""
    with open(path, "rb") as file:
        return name, file.read()


def _find_packages() -> list[metadata.Distribution]:
    """The packages that toolroll needs, and those that they need, as far as they are installed."""
    found, waiting = dict[str, metadata.Distribution](), ["toolroll"]
    while waiting:
        for needed in metadata.requires(waiting.pop()) or ():
            extras, name = set(_EXTRA.findall(needed)), _NAME.findall(needed)[0]
            with suppress(metadata.PackageNotFoundError):
                one = metadata.distribution(name)
                if one.name not in found and (not extras or extras & _EXTRAS):
                    found[one.name] = one
                    waiting.append(name)
    return list(found.values())


def _write(path: str, packages: list[metadata.Distribution]) -> None:
    fd, new = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(fd, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for source, name in (*_list_toolroll(), *(row for one in packages for row in _list_files(one))):
                archive.write(source, name)
        os.rename(new, path)
    except BaseException:
        os.unlink(new)
        raise


def _list_toolroll() -> Iterator[tuple[str, str]]:
    """The files of toolroll itself: where they are, and their names in the zip file."""
    above = os.path.dirname(PACKAGE)
    for folder, _, names in os.walk(PACKAGE):
        if os.path.basename(folder) != "__pycache__":
            yield from ((path, os.path.relpath(path, above)) for path in (os.path.join(folder, one) for one in names))


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
