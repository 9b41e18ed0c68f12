"""A server's entry with the operator's variables put in, and what of it must never be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from toolroll.host.mcp.config import Entry
from toolroll.policy.secrets import is_secret
from toolroll.result import ErrorCode, ToolError

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_LEAST = 6  # characters; what is shorter is no secret, and would be found everywhere


@dataclass(frozen=True, slots=True)
class Ready:
    """An entry that can be used now."""

    entry: Entry
    secrets: tuple[str, ...] = ()

    def hide(self, text: str) -> str:
        """A text without what must not be seen."""
        for secret in self.secrets:
            text = text.replace(secret, "[hidden]")
        return text


def ready(entry: Entry, environment: Mapping[str, str]) -> Ready:
    """The entry with `${NAME}` and `${NAME:-default}` replaced; ToolError for a variable that is not set."""
    used: dict[str, str] = {}

    def put_in(text: str) -> str:
        return _VARIABLE.sub(lambda found: _value(found, entry, environment, used), text)

    full = replace(
        entry,
        command=tuple(map(put_in, entry.command)),
        env={name: put_in(value) for name, value in entry.env.items()},
        cwd=put_in(entry.cwd),
        url=put_in(entry.url),
        headers={name: put_in(value) for name, value in entry.headers.items()},
        read=tuple(map(put_in, entry.read)),
    )
    named = [*used.items(), *full.env.items()]
    found = {value for name, value in named if is_secret(name, value)}
    found |= {part for value in full.headers.values() for part in (value, value.rpartition(" ")[2])}
    return Ready(full, tuple(sorted((one for one in found if len(one) >= _LEAST), key=len, reverse=True)))


def _value(found: re.Match[str], entry: Entry, environment: Mapping[str, str], used: dict[str, str]) -> str:
    name, default = found[1], found[2]
    value = environment.get(name) or default
    if value is None:
        raise ToolError(
            ErrorCode.UNSUPPORTED,
            f"The MCP server {entry.name!r} needs {name} in the environment. Ask the user to set it.",
        )
    used[name] = value
    return value
