"""Check that the package of an extra is installed in a version that works."""

from __future__ import annotations

import re
from importlib import metadata

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
    raise ImportError(f'toolroll[{extra}] needs {requirement}, but {found}. Run: pip install "toolroll[{extra}]"')


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))
