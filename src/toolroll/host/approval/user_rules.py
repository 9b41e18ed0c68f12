"""The user's own rules, read from `rules.toml` in the user's configuration folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolroll.policy.commands import Rule

FILE = "rules.toml"


def path() -> str:
    """Where the user's rules are, whether or not there are any."""
    import platformdirs

    return os.path.join(platformdirs.user_config_dir("toolroll"), FILE)


def rules() -> tuple[Rule, ...]:
    """The user's rules; ValueError when they cannot be read, for rules must not be lost by a typing error."""
    where = path()
    try:
        with open(where, "rb") as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    import tomllib

    from toolroll.policy.commands import parse_rules

    try:
        return parse_rules(tomllib.loads(text.decode()))
    except ValueError as error:  # also what tomllib and the decoder raise
        raise ValueError(f"{where}: {error}") from error
