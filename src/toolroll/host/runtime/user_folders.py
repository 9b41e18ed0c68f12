"""The user's folders for the settings, the state and the cache of this program."""

from __future__ import annotations

import os
import sys

_NAME = "toolroll"


def config_dir() -> str:
    """Where the settings are."""
    return _find("XDG_CONFIG_HOME", ".config", "Application Support")


def state_dir() -> str:
    """Where the state of workspaces is kept."""
    return _find("XDG_STATE_HOME", ".local/state", "Application Support")


def cache_dir() -> str:
    """Where files are that can be had again."""
    return _find("XDG_CACHE_HOME", ".cache", "Caches")


def make_cache_dir(*names: str) -> str:
    """A folder in the cache, which only the user may read where we make it."""
    path = os.path.join(cache_dir(), *names)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def _find(variable: str, usual: str, library: str) -> str:
    above = os.environ.get(variable, "")
    if not os.path.isabs(above):  # a relative one would be a folder of the workspace
        above = os.path.join(_home(), f"Library/{library}" if sys.platform == "darwin" else usual)
    return os.path.join(above, _NAME)


def _home() -> str:
    home = os.environ.get("HOME", "")
    if os.path.isabs(home):
        return home
    import pwd

    return pwd.getpwuid(os.getuid()).pw_dir
