"""The extras of this installation: whether their packages work, and the command that adds one."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec

_PACKAGE = "toolroll"

_REQUIREMENT = re.compile(r"(?P<package>[\w.-]+)>=(?P<least>[\d.]+),<(?P<below>[\d.]+)")


def require(extra: str, requirement: str) -> None:
    """Raise ImportError with the command to run unless such a version is installed.

    `requirement` is one of those that pyproject.toml lists for the extra: "langchain>=1.4,<2".
    """
    parts = _REQUIREMENT.fullmatch(requirement)
    if parts is None:
        raise ValueError(f"{requirement!r} is not of the form 'package>=1.4,<2'.")
    package, least, below = parts.groups()
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        found = "it is not installed"
    else:
        if _numbers(least) <= _numbers(version) < _numbers(below):
            return
        found = f"{version} is installed"
    raise ImportError(f"toolroll[{extra}] needs {requirement}, but {found}. Run: {add_extra(extra)}")


def add_extra(extra: str) -> str:
    """The command that adds an extra to this copy of toolroll, however that was installed."""
    present = [name for name, lacking in (list_extras() or {}).items() if name not in ("", extra) and not lacking]
    return install_command(extra, present, sys.prefix, sys.executable, _origin(), pip=find_spec("pip") is not None)


def install_command(extra: str, present: list[str], prefix: str, python: str, origin: str, *, pip: bool) -> str:
    """The command for an installation. `origin` is "" for the package index, else a URL, a folder, or "-e FOLDER"."""
    tool = "/uv/tools/" in prefix
    extras = ",".join([*present, extra] if tool else [extra])  # `uv tool install` drops what it is not given
    editable, folder = "-e " * origin.startswith("-e "), origin.removeprefix("-e ")
    named = f"{folder}[{extras}]" if folder.startswith("/") else f"{_PACKAGE}[{extras}]{f' @ {folder}' * bool(folder)}"
    words = f"{editable}'{named}'"
    if tool:
        return f"uv tool install {words}"
    if "/pipx/venvs/" in prefix:
        return f"pipx runpip {_PACKAGE} install {words}"
    if "/uv/archive-v" in prefix or "/uv/environments-v" in prefix or "/builds-v" in prefix:
        return f"uvx --from '{named}' {_PACKAGE}"
    return f"{python} -m pip install {words}" if pip else f"uv pip install --python {python} {words}"


def list_extras() -> dict[str, list[str]] | None:
    """The packages that each extra lacks or has too old, those of the base by ""; None if toolroll is not installed."""
    try:
        package = metadata.metadata(_PACKAGE)
    except metadata.PackageNotFoundError:
        return None
    lacking: dict[str, list[str]] = {name: [] for name in ("", *(package.get_all("Provides-Extra") or []))}
    for one in metadata.requires(_PACKAGE) or []:
        extra = re.search(r"""extra\s*==\s*["']([\w.-]+)""", one)
        if not _is_installed(one):
            lacking.setdefault(extra[1] if extra else "", []).append(re.split(r"[^\w.-]", one)[0])
    return lacking


def _origin() -> str:
    """Where this copy came from, as `install_command` takes it."""
    with suppress(metadata.PackageNotFoundError, ValueError, KeyError, TypeError):
        known = json.loads(metadata.distribution(_PACKAGE).read_text("direct_url.json") or "{}")
        url = known.get("url", "")
        folder = url.removeprefix("file://") if "dir_info" in known else ""
        if folder:
            return f"-e {folder}" if known["dir_info"].get("editable") else folder
        return f"{known['vcs_info']['vcs']}+{url}" if "vcs_info" in known else url
    return ""


def _is_installed(requirement: str) -> bool:
    """Whether the package of a requirement is there, and not older than it says."""
    least = re.search(r">=([\d.]+)", requirement)
    with suppress(metadata.PackageNotFoundError):
        version = metadata.version(re.split(r"[^\w.-]", requirement)[0])
        return least is None or _numbers(version) >= _numbers(least[1])
    return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))
