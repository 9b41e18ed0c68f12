"""The user's own rules, read from `rules.toml` in the user's configuration folder."""

from __future__ import annotations

import os

from toolroll.policy.decision import Rule

FILE = "rules.toml"


def rules_path() -> str:
    """The path of the rules file, whether or not it exists."""
    import platformdirs

    return os.path.join(platformdirs.user_config_dir("toolroll"), FILE)


def read_rules() -> tuple[Rule, ...]:
    """The user's rules; ValueError when they cannot be read, so that a typing error cannot disable them."""
    where = rules_path()
    try:
        with open(where, "rb") as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    import tomllib

    from toolroll.policy.shell.examples import parse_rules

    try:
        return parse_rules(tomllib.loads(text.decode()))
    except ValueError as error:  # also what tomllib and the decoder raise
        raise ValueError(f"{where}: {error}") from error
