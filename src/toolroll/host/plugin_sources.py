"""Find plugins: entry points of installed packages, and files in the user's `tools` folder. Nothing is imported yet."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from toolroll.host.files.trust import drop_imports
from toolroll.host.settings import PluginSettings, config_path

GROUPS = ("toolroll.tools", "toolroll.dialects")
FOLDER = "tools"


@dataclass(frozen=True, slots=True)
class PluginSource:
    """One entry point, or one file."""

    name: str
    origin: str
    """How a person finds it: the package and the entry point, or the path."""
    package: str = ""
    target: str = ""
    """What an entry point names: `module:attribute`."""
    path: str = ""
    stamp: int = 0
    """When the file was changed."""

    def load(self) -> Any:
        """Import it; whatever that raises is raised."""
        if not self.path:
            from importlib.metadata import EntryPoint

            if not self.target:
                raise ValueError("its entry_points.txt is damaged")
            return EntryPoint(self.name, self.target, "").load()
        from importlib.util import module_from_spec, spec_from_file_location

        spec = spec_from_file_location(f"toolroll_user_{self.name}", self.path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[spec.name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def find_plugins(workspace: str | os.PathLike[str], chosen: PluginSettings) -> list[PluginSource]:
    """Every plugin that is not disabled; none is taken from the workspace, and none will import from there."""
    if not chosen.enabled or not any(_all()):
        return []
    drop_imports(os.fspath(workspace))
    left_out = set(chosen.disabled)
    return [one for one in dict.fromkeys(_all()) if one.name not in left_out and one.package not in left_out]


def _all() -> Iterator[PluginSource]:
    for folder in tuple(sys.path):
        yield from _entry_points(folder, _changed(folder)) if isinstance(folder, str) else ()
    yield from _files(config_path(FOLDER))


@lru_cache(maxsize=64)
def _entry_points(folder: str, _changed: int) -> tuple[PluginSource, ...]:
    """The entry points of the packages in a folder of `sys.path`. Most packages are passed over unparsed."""
    found: list[PluginSource] = []
    for name in _names(folder or "."):
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                text = file.read()
        except OSError:
            continue
        if b"[toolroll." in text:
            found += _parse(text.decode("utf-8", "replace"), name.partition("-")[0])
    return tuple(found)


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info")))
    except OSError:  # a zip file, or nothing
        return []


def _parse(text: str, package: str) -> Iterator[PluginSource]:
    from configparser import ConfigParser, Error

    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    try:
        parser.read_string(text)
    except Error:
        yield PluginSource(package, f"package {package}", package)
    for group in GROUPS:
        for name, target in parser.items(group) if parser.has_section(group) else ():
            origin = f"package {package} (entry point {name!r} of {group})"
            yield PluginSource(name, origin, package, target)


def _files(folder: str) -> Iterator[PluginSource]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if name.endswith(".py") and not name.startswith(("_", ".")):
            path = os.path.join(folder, name)
            yield PluginSource(name.removesuffix(".py"), path, path=path, stamp=_changed(path))


def _changed(path: str) -> int:
    try:
        return os.stat(path or ".").st_mtime_ns
    except OSError:
        return 0
