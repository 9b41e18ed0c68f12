"""What the approver has granted for always, kept with the workspace's state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.state import State

if TYPE_CHECKING:
    from toolroll.policy.commands import Rule

_FILE = "grants.json"


class Grants:
    """The tools and commands that need no further question in this workspace. Removing the file takes them back."""

    def __init__(self, state: State) -> None:
        self._state = state
        kept = self._load()
        self.tools: tuple[str, ...] = tuple(kept.get("tools", ()))
        self.rules: tuple[Rule, ...] = _rules(kept.get("commands", ()))

    def add(self, *, tools: tuple[str, ...] = (), rules: tuple[Rule, ...] = ()) -> None:
        """Keep these too."""
        self.tools = tuple(dict.fromkeys((*self.tools, *tools)))
        self.rules = tuple(dict.fromkeys((*self.rules, *rules)))
        data = msgspec.json.encode({"tools": self.tools, "commands": [_kept(rule) for rule in self.rules]})
        folder = self._state.folder("grants")
        draft = f".{os.getpid()}.{os.urandom(4).hex()}"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.format(data, indent=1))
        os.replace(draft, _FILE, src_dir_fd=folder, dst_dir_fd=folder)

    def _load(self) -> dict[str, Any]:
        try:
            with open(os.path.join(self._state.path, "grants", _FILE), "rb") as file:
                found = msgspec.json.decode(file.read())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except msgspec.DecodeError as error:
            raise ValueError(f"{_FILE} of {self._state.path!r} is broken: {error}. Mend or remove it.") from error
        return found if isinstance(found, dict) else {}


def _kept(rule: Rule) -> dict[str, Any]:
    return {"words": rule.command, "exact": rule.exact}


def _rules(commands: Any) -> tuple[Rule, ...]:
    if not commands:
        return ()
    from toolroll.policy.commands import Rule

    return tuple(Rule("allow", command=tuple(one["words"]), exact=one["exact"]) for one in commands)
