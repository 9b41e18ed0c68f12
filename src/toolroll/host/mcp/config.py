"""Configuration of MCP servers, in the format that MCP clients share (`mcpServers`).

Only the operator configures servers: by `Kit(mcp=...)`, TOOLROLL_MCP_CONFIG, or `mcp.json` in the user's configuration
folder. A file in a workspace is never read: the author of a repository would choose programs that run here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from toolroll.host.shell.command_launcher import Writes

FILE = "mcp.json"
VARIABLE = "TOOLROLL_MCP_CONFIG"
Config = str | os.PathLike[str] | Mapping[str, Any]
ProtocolChoice = Literal["auto", "stateless"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_KINDS = ("stdio", "http", "streamable-http", "streamableHttp", "streamable_http")
_WRITES = ("nothing", "workspace", "repository")
_MAX_FILE_BYTES = 1_000_000


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
    writes: Writes = "nothing"
    """What its processes may change: see `Writes`."""
    read: tuple[str, ...] = ()
    """Absolute folders that its processes may read in addition to those of every command."""
    trust: bool = False
    """Whether it may declare its tools read-only."""
    expand: bool = False
    """Whether the kit registers its tools at the start."""
    tools: tuple[str, ...] | None = None
    """When set, only these of its tools are available."""
    prefix: str = ""
    """Prefix of its tools' names in the kit, before two underscores."""
    timeout: float = 60.0
    """Seconds for an answer."""
    start_timeout: float = 30.0
    protocol: ProtocolChoice = "auto"

    @property
    def source(self) -> str:
        """Digest of the program or URL: another program is another server, even under the same name."""
        import hashlib

        import msgspec

        identity = msgspec.json.encode([self.command, self.cwd, self.url])
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
    import msgspec

    try:
        found = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    return _parse_servers(found, path)


def default_path() -> str:
    """The path of the user's configuration file, which may not exist."""
    import platformdirs

    return os.path.join(platformdirs.user_config_dir("toolroll"), FILE)


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
        if not _read(raw, "disabled", bool, False, where, name):
            configs[name] = _parse_server(name, raw, where)
    return configs


def _parse_server(name: str, raw: Mapping[str, Any], where: str) -> ServerConfig:
    def get(key: str, kind: type, default: Any) -> Any:
        return _read(raw, key, kind, default, where, name)

    kind = get("type", str, "stdio")
    program = get("command", str, "")
    url = get("url", str, "") or get("httpUrl", str, "") or get("serverUrl", str, "")
    writes, protocol, tools = get("writes", str, "nothing"), get("protocol", str, "auto"), get("tools", list, None)
    prefix = get("prefix", str, "") or re.sub(r"[^A-Za-z0-9_-]", "_", name)
    wrong = (
        (kind not in _KINDS, f"type {kind!r} is not supported; there are 'stdio' and 'http' (streamable HTTP)"),
        (bool(program) == bool(url), "needs either a 'command' or a 'url'"),
        (writes not in _WRITES, f"'writes' must be one of {', '.join(_WRITES)}"),
        (protocol not in ("auto", "stateless"), "'protocol' must be 'auto' or 'stateless'"),
        (not _PREFIX.fullmatch(prefix), "'prefix' must be letters, digits, '_' and '-', at most 32"),
    )
    for is_wrong, why in wrong:
        if is_wrong:
            raise ValueError(f"{where}: server {name!r}: {why}.")
    return ServerConfig(
        name=name,
        command=(program, *_texts(get("args", list, []), "args", where, name)) if program else (),
        env=_named(get("env", dict, {}), "env", where, name),
        cwd=get("cwd", str, "."),
        url=url,
        headers=_named(get("headers", dict, {}), "headers", where, name),
        network=get("network", bool, False),
        writes=cast("Writes", writes),
        read=_texts(get("read", list, []), "read", where, name),
        trust=get("trust", bool, False),
        expand=get("expand", bool, False),
        tools=None if tools is None else _texts(tools, "tools", where, name),
        prefix=prefix,
        timeout=_seconds(get("timeout", float, 60.0), "timeout", where, name),
        start_timeout=_seconds(get("startTimeout", float, 30.0), "startTimeout", where, name),
        protocol=cast("ProtocolChoice", protocol),
    )


def _read(raw: Mapping[str, Any], key: str, kind: type, default: Any, where: str, name: str) -> Any:
    value = raw.get(key, default)
    number = kind is float and isinstance(value, int) and not isinstance(value, bool)
    if value is default or number or isinstance(value, kind):
        return value
    raise ValueError(f"{where}: server {name!r}: {key!r} must be of type {kind.__name__}.")


def _texts(values: list[Any], key: str, where: str, name: str) -> tuple[str, ...]:
    if not all(isinstance(one, str) for one in values):
        raise ValueError(f"{where}: server {name!r}: {key!r} must hold texts only.")
    return tuple(values)


def _named(values: Mapping[str, Any], key: str, where: str, name: str) -> dict[str, str]:
    _texts([*values, *values.values()], key, where, name)
    return dict(values)


def _seconds(value: float, key: str, where: str, name: str) -> float:
    if not 0.1 <= value <= 3600:
        raise ValueError(f"{where}: server {name!r}: {key!r} is in seconds, from 0.1 to 3600.")
    return float(value)
