"""Configuration of MCP servers, in the format that MCP clients share (`mcpServers`).

Only the operator configures servers: by `Kit(mcp=...)`, TOOLROLL_MCP_CONFIG, or `mcp.json` in the user's configuration
folder. A file in a workspace is never read: the author of a repository would choose programs that run here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from toolroll.host.runtime import user_folders
from toolroll.result import ErrorCode, ToolError

FILE = "mcp.json"
VARIABLE = "TOOLROLL_MCP_CONFIG"
Config = str | os.PathLike[str] | Mapping[str, Any]
ProtocolChoice = Literal["auto", "stateless"]
ServerWrites = Literal["nothing", "workspace", "repository"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")
_KINDS = ("stdio", "http", "streamable-http", "streamableHttp", "streamable_http")
_MAX_FILE_BYTES = 1_000_000
_Seconds = Annotated[float, Meta(ge=0.1, le=3600)]


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The configuration of one server; its variables are not replaced yet."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments; empty for a server with a `url`."""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "."
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    """Whether its processes may use the network."""
    writes: ServerWrites = "nothing"
    """What its processes may change, as `Writes` of commands."""
    read: tuple[str, ...] = ()
    """Absolute folders that its processes may read in addition to those of every command."""
    trust: bool = False
    """Whether it may declare its tools read-only."""
    expand: bool = False
    """Whether the kit registers its tools at the start."""
    tools: tuple[str, ...] | None = None
    """When set, only these of its tools are available."""
    prefix: Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")] = ""
    """Prefix of its tools' names in the kit, before two underscores."""
    timeout: _Seconds = 60.0
    """Seconds for an answer."""
    start_timeout: _Seconds = 30.0
    protocol: ProtocolChoice = "auto"
    disabled: bool = False

    @property
    def source(self) -> str:
        """Digest of the program or URL: another program is another server, even under the same name."""
        identity = msgspec.json.encode([self.command, self.cwd, self.url])
        import hashlib

        return hashlib.blake2b(identity, digest_size=16).hexdigest()


def load(given: Config | None, environment: Mapping[str, str]) -> dict[str, ServerConfig]:
    """The enabled servers by name; ValueError for a file that is unreadable or invalid."""
    if isinstance(given, Mapping):
        return _parse_servers(given, "mcp")
    named = given if given is not None else environment.get(VARIABLE, "").strip() or None
    path = os.fspath(named) if named is not None else default_path()
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        if named is None:
            return {}
        raise ValueError(f"There is no file {path!r} with MCP servers, or it may not be read.") from None
    try:
        found = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    return _parse_servers(found, path)


def default_path() -> str:
    """The path of the user's configuration file, which may not exist."""
    return os.path.join(user_folders.config_dir(), FILE)


def _parse_servers(found: Any, where: str) -> dict[str, ServerConfig]:
    servers = found.get("mcpServers", found) if isinstance(found, Mapping) else None
    if not isinstance(servers, Mapping):
        raise ValueError(f'{where}: there must be an object "mcpServers", with a server under each name.')
    configs = {}
    for name, raw in servers.items():
        if not _NAME.fullmatch(str(name)):
            raise ValueError(f"{where}: {name!r} is no name for a server. Use letters, digits, '_', '-' and '.'.")
        if not isinstance(raw, Mapping):
            raise ValueError(f"{where}: server {name!r} must be an object.")
        if raw.get("disabled") is True:
            continue
        try:
            configs[name] = _parse_server(name, raw)
        except ValueError as error:
            raise ValueError(f"{where}: server {name!r}: {error}.") from None
    return configs


def _parse_server(name: str, raw: Mapping[str, Any]) -> ServerConfig:
    kind, program, args = raw.get("type", "stdio"), raw.get("command"), raw.get("args", [])
    url = raw.get("url") or raw.get("httpUrl") or raw.get("serverUrl") or ""
    if kind not in _KINDS:
        raise ValueError(f"type {kind!r} is not supported; there are 'stdio' and 'http' (streamable HTTP)")
    if bool(program) == bool(url):
        raise ValueError("needs either a 'command' or a 'url'")
    if not isinstance(args, list):
        raise ValueError("'args' must be a list")
    given = {key: value for key, value in raw.items() if key not in ("start_timeout", "name")}
    given |= {"name": name, "command": [program, *args] if program else [], "url": url}
    given["prefix"] = raw.get("prefix") or re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if "startTimeout" in raw:
        given["start_timeout"] = raw["startTimeout"]
    try:
        return msgspec.convert(given, ServerConfig)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


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
    from toolroll.policy.secrets import is_secret  # not for the many who have no servers

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
