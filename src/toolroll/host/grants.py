"""What the approver has granted for always, kept with the workspace's state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.state import State
from toolroll.host.token import Token

if TYPE_CHECKING:
    from toolroll.policy.commands import Rule

_FOLDER, _FILE = "grants", "grants.json"


class Grants:
    """The tools and commands that need no further question in this workspace. Removing the file takes them back."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.tools, self.rules = self._load()

    def add(self, *, tools: tuple[str, ...] = (), rules: tuple[Rule, ...] = ()) -> None:
        """Keep these too, besides what others have added to the file or taken from it meanwhile."""
        from toolroll.host.locked import locked

        with locked(self._state.folder(_FOLDER), ".lock", Token()):
            known = self._load()
            self.tools = tuple(dict.fromkeys((*known[0], *tools)))
            self.rules = tuple(dict.fromkeys((*known[1], *rules)))
            data = msgspec.json.encode({"tools": self.tools, "commands": [_kept(rule) for rule in self.rules]})
            self._state.put(_FOLDER, _FILE, msgspec.json.format(data, indent=1))

    def _load(self) -> tuple[tuple[str, ...], tuple[Rule, ...]]:
        try:
            with open(os.path.join(self._state.path, _FOLDER, _FILE), "rb") as file:
                found = msgspec.json.decode(file.read())
        except (FileNotFoundError, NotADirectoryError):
            return (), ()
        except msgspec.DecodeError as error:
            raise ValueError(f"{_FILE} of {self._state.path!r} is broken: {error}. Mend or remove it.") from error
        kept = found if isinstance(found, dict) else {}
        return tuple(kept.get("tools", ())), _rules(kept.get("commands", ()))


def _kept(rule: Rule) -> dict[str, Any]:
    return {"words": rule.command, "exact": rule.exact}


def _rules(commands: Any) -> tuple[Rule, ...]:
    if not commands:
        return ()
    from toolroll.policy.commands import Rule

    return tuple(Rule("allow", command=tuple(one["words"]), exact=one["exact"]) for one in commands)
