"""Replace variables in a server's configuration, and collect the secrets that must never be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from toolroll.host.mcp.config import ServerConfig
from toolroll.policy.secrets import is_secret
from toolroll.result import ErrorCode, ToolError

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_MIN_SECRET_CHARS = 6  # a shorter value is no secret, and would match everywhere


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """A configuration without variables, and its secrets."""

    config: ServerConfig
    secrets: tuple[str, ...] = ()

    def hide(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "[hidden]")
        return text


def resolve(config: ServerConfig, environment: Mapping[str, str]) -> ResolvedConfig:
    """Replace `${NAME}` and `${NAME:-default}`; ToolError for a variable that is not set."""
    used: dict[str, str] = {}

    def expand(text: str) -> str:
        return _VARIABLE.sub(lambda found: _lookup(found, config, environment, used), text)

    full = replace(
        config,
        command=tuple(map(expand, config.command)),
        env={name: expand(value) for name, value in config.env.items()},
        cwd=expand(config.cwd),
        url=expand(config.url),
        headers={name: expand(value) for name, value in config.headers.items()},
        read=tuple(map(expand, config.read)),
    )
    named = [*used.items(), *full.env.items()]
    found = {value for name, value in named if is_secret(name, value)}
    found |= {part for value in full.headers.values() for part in (value, value.rpartition(" ")[2])}
    long = (one for one in found if len(one) >= _MIN_SECRET_CHARS)
    return ResolvedConfig(full, tuple(sorted(long, key=len, reverse=True)))


def _lookup(found: re.Match[str], config: ServerConfig, environment: Mapping[str, str], used: dict[str, str]) -> str:
    name, default = found[1], found[2]
    value = environment.get(name) or default
    if value is None:
        message = f"The MCP server {config.name!r} needs {name} in the environment. Ask the user to set it."
        raise ToolError(ErrorCode.UNSUPPORTED, message)
    used[name] = value
    return value
