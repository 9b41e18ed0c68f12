"""The package registries that this machine's pip, uv, npm, cargo, go and apt are configured for."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from toolroll.host.network.cargo import read_tokens
from toolroll.host.network.credentials import Credential, basic
from toolroll.host.runtime.launcher import is_beneath
from toolroll.policy import urls
from toolroll.policy.network import READING, name_host, parse_scope

_MAX_BYTES = 1_000_000
_URL = re.compile(r"https?://[^\s\"',|\]]+")
_CREDENTIALS = re.compile(r"(?<=//)([^/@]*)@")
_NPM_SECRET = r"//(?P<place>[^/\s=]+?)(?P<path>/[^\s=]*)?:(?P<kind>_auth|_authToken)\s*=\s*\"?(?P<secret>[^\s\"]+)"
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class _Client:
    """Where a package manager has its registries set. ~ is the home folder; $NAME a variable that must be set."""

    files: str
    variables: str
    keys: str
    """What begins a line that names registries, as a regular expression; `own` is the one that it asks first."""
    defaults: str
    """Its registry if the settings name none."""
    tells: str = ""
    """The variable that tells a command its own registry: it may not be able to read the files."""
    serves: str = ""
    """Hosts that always serve for it."""
    secrets: str = ""
    """Lines that hold the credential of a host, as a regular expression."""


_CLIENTS = (
    _Client(
        "/etc/pip.conf /etc/xdg/pip/pip.conf ~/.pip/pip.conf ~/.config/pip/pip.conf $PIP_CONFIG_FILE",
        "PIP_INDEX_URL PIP_EXTRA_INDEX_URL",
        r"(?P<own>index-url)|extra-index-url|https?:",
        "https://pypi.org/simple",
        "PIP_INDEX_URL",
        "https://files.pythonhosted.org",
    ),
    _Client(
        "/etc/uv/uv.toml ~/.config/uv/uv.toml $UV_CONFIG_FILE",
        "UV_DEFAULT_INDEX UV_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL",
        r"(?P<own>index-url|url)|extra-index-url",
        "https://pypi.org/simple",
        "UV_DEFAULT_INDEX",
    ),
    _Client(
        "/etc/npmrc /usr/etc/npmrc /usr/local/etc/npmrc ~/.npmrc $NPM_CONFIG_USERCONFIG",
        "NPM_CONFIG_REGISTRY npm_config_registry",
        r"(?P<own>registry)|@[\w.-]+:registry",
        "https://registry.npmjs.org",
        "NPM_CONFIG_REGISTRY",
        secrets=_NPM_SECRET,
    ),
    _Client(
        "~/.cargo/config.toml ~/.cargo/config $CARGO_HOME/config.toml",
        "CARGO_REGISTRIES_CRATES_IO_INDEX",
        r"registry|index",
        "https://index.crates.io",
        serves="https://static.crates.io https://crates.io",
    ),
    _Client(
        "~/.config/go/env $GOENV",
        "GOPROXY GOSUMDB",
        r"(?P<own>GOPROXY)|GOSUMDB",
        "https://proxy.golang.org",
        "GOPROXY",
        "https://sum.golang.org",
    ),
    _Client("/etc/apt/sources.list /etc/apt/sources.list.d/*", "", r"deb|URIs", ""),
)


@dataclass(frozen=True, slots=True)
class Registries:
    """The hosts of all registries as the setting `network` names them, and what tells commands of their own."""

    names: tuple[str, ...]
    variables: Mapping[str, str]
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    """What package managers send to hosts, by scope; only for requests that read."""


def find_registries(environ: Mapping[str, str], workspace: Iterable[str] = ()) -> Registries:
    """What the user's and the machine's files and variables say; a file in these folders says nothing."""
    names: dict[str, None] = {}
    variables: dict[str, str] = {}
    folders = tuple(workspace)
    credentials = {_scope(place): one for url, one in read_tokens(environ, folders) if (place := _place(url))}
    for client in _CLIENTS:
        given = [url for name in client.variables.split() for url in _URL.findall(environ.get(name, ""))]
        lines = [] if given else list(_read_lines(client.keys, client.files, environ, folders))
        written = [url for line in lines for url in _URL.findall(line[0])]
        own = [_URL.findall(line[0]) for line in lines if line.groupdict().get("own")]
        if own and own[-1]:
            variables[client.tells] = _CREDENTIALS.sub("", own[-1][0])
        elif given and _CREDENTIALS.search(given[0]):  # commands do not get the variable then
            variables[client.tells] = _CREDENTIALS.sub("", given[0])
        for url in (*(given or written or client.defaults.split()), *client.serves.split()):
            if place := _place(url):
                names[place] = None
                if login := _CREDENTIALS.search(url):
                    # Its files are beside the index, and named by it.
                    above = (
                        _CREDENTIALS.sub("", url).rstrip("/").partition("://")[2].partition("/")[2].rpartition("/")[0]
                    )
                    credentials[_scope(place, above)] = basic(unquote(login[1]))
        credentials |= _find_secrets(client, environ, folders)
    used = {scope: one for scope, one in credentials.items() if parse_scope(scope).host in names}
    return Registries(tuple(names), variables, used)


def _scope(place: str, path: str = "") -> str:
    """The key of a credential for what package managers do there."""
    try:
        parse_scope(f"{place}/{path}")
    except ValueError:  # an odd path: the host alone, as the programs themselves do
        path = ""
    return f"{','.join(READING)} {place}" + (f"/{path.strip('/')}/" if path.strip("/") else "")


def _place(url: str) -> str:
    """How the setting `network` names the host of a URL; empty for what is none."""
    try:
        target = urls.parse(_CREDENTIALS.sub("", url))
    except ValueError:
        return ""
    return name_host(target.host, target.port)


def _find_secrets(client: _Client, environ: Mapping[str, str], folders: Sequence[str]) -> dict[str, Credential]:
    found = {}
    for line in _read_lines(client.secrets, client.files, environ, folders) if client.secrets else ():
        secret = _VARIABLE.sub(lambda name: environ.get(name[1], ""), line["secret"])
        scheme = "Basic" if line["kind"] == "_auth" else "Bearer"
        if place := _place(f"https://{line['place']}/"):
            found[_scope(place, line["path"] or "")] = Credential(f"{scheme} {secret}")
    return found


def _read_lines(keys: str, files: str, environ: Mapping[str, str], folders: Sequence[str]) -> Iterator[re.Match[str]]:
    """The lines that begin with these keys, in the order in which the files count."""
    line = re.compile(rf"^\s*(?:{keys}).*$", re.MULTILINE)
    for pattern in files.split():
        for path in sorted(glob.glob(_expand(pattern, environ))):
            try:
                with open(path, "rb") as file:
                    there = os.readlink(f"/proc/self/fd/{file.fileno()}")
                    if any(is_beneath(there, one) for one in folders):
                        continue
                    yield from line.finditer(file.read(_MAX_BYTES).decode("utf-8", "replace"))
            except OSError:
                continue


def _expand(pattern: str, environ: Mapping[str, str]) -> str:
    """The path of a file; empty if it needs a variable that is not set."""
    if pattern.startswith("$"):
        name, slash, rest = pattern[1:].partition("/")
        return f"{glob.escape(environ[name])}{slash}{rest}" if environ.get(name) else ""
    home = glob.escape(environ.get("HOME", ""))
    if pattern.startswith("~"):
        return f"{home}{pattern[1:]}" if home else ""
    return pattern
