"""The Python that code of a workspace runs with: one rule for `bash`, `python`, `tests` and `profile`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping

_FOLDERS = (".venv", "venv")
_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
_QUOTES = re.compile(r"[\"']|\\\n?")
_PROGRAM = re.compile(r"[\w.+-]+")


def walk_up(folder: str) -> Iterator[str]:
    """A folder of the workspace and those above it, up to the workspace itself, which is "."."""
    while folder not in ("", "."):
        yield folder
        folder = folder.rpartition("/")[0]
    yield "."


def find_environment(root: str, folder: str = ".") -> str | None:
    """The virtual environment of a folder of the workspace: its own, or the nearest one above it."""
    if "\0" in folder:  # no path; the start of the command refuses it
        return None
    places = (os.path.normpath(f"{root}/{where}/{name}") for where in walk_up(folder) for name in _FOLDERS)
    return next((one for one in places if os.access(f"{one}/bin/python", os.X_OK)), None)


def find_python(root: str, folder: str, variables: Mapping[str, str]) -> str:
    """The Python of a folder: that of its environment, else of the active one, else the first on PATH, else ours."""
    import shutil

    if found := find_environment(root, folder) or _find_active(variables):
        return f"{found}/bin/python"
    path = variables.get("PATH", os.defpath)
    return shutil.which("python3", path=path) or shutil.which("python", path=path) or sys.executable


def find_python_with(package: str, root: str, folder: str, variables: Mapping[str, str]) -> str | None:
    """Our own Python where `find_python` takes one of PATH, if ours has this package; else None."""
    from importlib.util import find_spec

    if find_environment(root, folder) or _find_active(variables) or find_spec(package) is None:
        return None
    return sys.executable


def environment_variables(root: str, folder: str, variables: Mapping[str, str]) -> dict[str, str]:
    """What makes a shell run the Python that `find_python` finds; nothing where it does so already."""
    path = variables.get("PATH", "")
    if found := find_environment(root, folder):
        return {"PATH": f"{found}/bin:{path}", "VIRTUAL_ENV": found}
    active = _find_active(variables)
    return {"PATH": f"{active}/bin:{path}"} if active and f"{active}/bin" not in path.split(":") else {}


def _find_active(variables: Mapping[str, str]) -> str | None:
    """The environment that was active where toolroll was started."""
    active = (variables.get(name) for name in _ACTIVE)
    return next((one for one in active if one and os.access(f"{one}/bin/python", os.X_OK)), None)


def names_program(text: str, root: str, folder: str) -> bool:
    """Whether a text has, or may have, a word that is the name of a program of the folder's environment."""
    found, plain = find_environment(root, folder), _QUOTES.sub("", text)
    if found is None:
        return False
    try:
        return "$'" in text or not set(os.listdir(f"{found}/bin")).isdisjoint(_PROGRAM.findall(plain))
    except OSError:
        return True


def name_python(output: str, python: str, variables: Mapping[str, str] | None = None) -> str:
    """A sentence that names the Python: where a module is missing, or it is ours and neither active nor on PATH."""
    folder = os.path.dirname(python)
    known = variables is None or python != sys.executable or folder in variables.get("PATH", "").split(":")
    if known or f"{_find_active(variables or {})}/bin" == folder:
        return f"Ran with {python}." if "ModuleNotFoundError: " in output else ""
    return f"Ran with {python}, which runs toolroll."
