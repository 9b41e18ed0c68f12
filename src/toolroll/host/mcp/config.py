"""Which MCP servers there are: the operator's own file, in the shape that MCP clients share (`mcpServers`).

Only the operator names servers: by `Kit(mcp=...)`, by TOOLROLL_MCP_CONFIG, or in `mcp.json` of the user's configuration
folder. A file in a workspace is never read: whoever wrote the repository would choose programs that run here.
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
Protocol = Literal["auto", "stateless"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_KINDS = ("stdio", "http", "streamable-http", "streamableHttp", "streamable_http")
_WRITES = ("nothing", "workspace", "repository")
_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One server as the file has it, its variables not yet put in."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments; empty for one that is reached by `url`."""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "."
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    """Whether its processes may use the network."""
    writes: Writes = "nothing"
    """What its processes may change: see `launch.Writes`."""
    read: tuple[str, ...] = ()
    """Absolute folders that its processes may read besides those that every command may."""
    trust: bool = False
    """Whether its own word counts that a tool only reads."""
    expand: bool = False
    """Whether each of its tools is a tool of the kit from the start."""
    tools: tuple[str, ...] | None = None
    """When set, only these of its tools are there."""
    prefix: str = ""
    """What the names of its tools begin with in the kit, followed by two underscores."""
    timeout: float = 60.0
    """Seconds that it may take to answer."""
    start_timeout: float = 30.0
    protocol: Protocol = "auto"

    @property
    def source(self) -> str:
        """Stands for what runs or is asked: another program is another server, whatever its name."""
        import hashlib

        import msgspec

        said = msgspec.json.encode([self.command, self.cwd, self.url])
        return hashlib.blake2b(said, digest_size=16).hexdigest()


def load(given: Config | None, environment: Mapping[str, str]) -> dict[str, Entry]:
    """The servers that are switched on, by name; ValueError for a file that cannot be read or understood."""
    if isinstance(given, Mapping):
        return _entries(given, "mcp")
    named = given if given is not None else environment.get(VARIABLE, "").strip() or None
    path = os.fspath(named) if named is not None else default_path()
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        if named is None:
            return {}
        raise ValueError(f"There is no file {path!r} with MCP servers, or it may not be read.") from None
    import msgspec

    try:
        found = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    return _entries(found, path)


def default_path() -> str:
    """Where the user's servers are, whether or not there are any."""
    import platformdirs

    return os.path.join(platformdirs.user_config_dir("toolroll"), FILE)


def _entries(found: Any, where: str) -> dict[str, Entry]:
    servers = found.get("mcpServers", found) if isinstance(found, Mapping) else None
    if not isinstance(servers, Mapping):
        raise ValueError(f'{where}: there must be an object "mcpServers", with a server under each name.')
    entries = {}
    for name, raw in servers.items():
        if not _NAME.fullmatch(str(name)):
            raise ValueError(f"{where}: {name!r} is no name for a server. Use letters, digits, '_', '-' and '.'.")
        if not isinstance(raw, Mapping):
            raise ValueError(f"{where}: server {name!r} must be an object.")
        if not _read(raw, "disabled", bool, False, where, name):
            entries[name] = _entry(name, raw, where)
    return entries


def _entry(name: str, raw: Mapping[str, Any], where: str) -> Entry:
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
    return Entry(
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
        protocol=cast("Protocol", protocol),
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
