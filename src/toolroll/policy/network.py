"""Which hosts commands may reach: the setting `network`, and what it allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Network = bool | tuple[str, ...]
"""All hosts, none, or those that are named: `host`, `*.host`, either with `:port`; `packages` for the registries."""

PACKAGES = "packages"
_WORDS = {"off": False, "false": False, "0": False, "on": True, "true": True, "1": True}
_WEB_PORTS = (80, 443)  # of a name without a port

READING = ("GET", "HEAD")
_GIT_POSTS = ("/git-upload-pack", "/git-receive-pack", "/info/lfs/objects/batch")
_METHODS = frozenset({*READING, "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})  # TRACE repeats what it is sent


@dataclass(frozen=True, slots=True)
class CredentialScope:
    """Which requests get the credential of a host."""

    host: str
    """As the setting `network` names it."""
    path: str = "/"
    """It ends with a slash, and all that is beneath it counts."""
    methods: tuple[str, ...] = ()
    """Without any: GET, HEAD, and what git posts to fetch and push."""

    def covers(self, method: str, path: str) -> bool:
        """Whether a request for a path of the host, as a URL has it, gets the credential."""
        plain = path.partition("?")[0]
        if method not in (self.methods or READING) and not (
            not self.methods and method == "POST" and plain.endswith(_GIT_POSTS)
        ):
            return False
        return self.path == "/" or (f"{plain}/".startswith(self.path) and not _leaves(plain))


def parse_scope(rule: str) -> CredentialScope:
    """A key of `credentials`: `host`, `host/path/`, either behind methods; ValueError if it names no host."""
    *words, place = rule.split() or [""]
    host, _, path = place.partition("/")
    methods = tuple(filter(None, ",".join(words).upper().split(",")))
    if not host or _METHODS.issuperset(host.upper().split(",")):
        raise ValueError(
            f'credentials: {rule!r} names no host. Write it before the path and behind the methods: "git.example.org", '
            '"git.example.org/team/", "GET,PUT crates.example.org".'
        )
    _check_name(host)
    if host.startswith("*"):
        raise ValueError(f"credentials: {rule!r}: name one host, not all of a domain.")
    if wrong := [one for one in methods if one not in _METHODS]:
        raise ValueError(f"credentials: {rule!r}: no request by {wrong[0]!r} gets a credential. Name others.")
    path = f"/{path}" if path.endswith("/") or not path else f"/{path}/"
    if _leaves(path) or "?" in path or "#" in path:
        raise ValueError(f"credentials: {rule!r}: write the path as it is, without '..', '%2f', '?' and '#'.")
    return CredentialScope(host, path, methods)


def _leaves(path: str) -> bool:
    """Whether programs could take a path for another one."""
    from urllib.parse import unquote  # takes long to import, and few policies have credentials

    plain = unquote(path)
    parts = [one.partition(";")[0] for one in plain.split("/")]
    return plain.count("/") != path.count("/") or "\\" in plain or "%" in plain or bool({".", ".."} & {*parts})


def parse_network(value: bool | str | Iterable[str]) -> Network:
    """The setting as users write it: off, on, packages, names in a list or separated by commas; ValueError if wrong."""
    if isinstance(value, bool):
        return value
    words = value.split(",") if isinstance(value, str) else value
    names = tuple(dict.fromkeys(filter(None, (word.strip().lower() for word in words))))
    if len(names) == 1 and names[0] in _WORDS:
        return _WORDS[names[0]]
    for name in names:
        if name != PACKAGES:
            _check_name(name)
    return names or False


def check_credentials(sources: Mapping[str, str]) -> None:
    """ValueError for a rule without a host, or a source of its secret that is none."""
    for rule, source in sources.items():
        parse_scope(rule)
        kind, _, where = source.partition(":")
        if kind not in ("env", "file") or not where:
            raise ValueError(f"credentials: {rule!r}: say where its secret is: env:NAME, or file:/its/path.")


def credential_variables(sources: Mapping[str, str]) -> list[str]:
    """The variables that hold secrets of hosts: no command gets them."""
    return [source.removeprefix("env:") for source in sources.values() if source.startswith("env:")]


def format_network(network: Network) -> str:
    """The setting in one word, as `--network` takes it."""
    return ("on" if network else "off") if isinstance(network, bool) else ",".join(network)


def ports_of(names: Iterable[str], host: str) -> tuple[int, ...]:
    """The ports at which the names stand for this host, as `parse_host` gives it."""
    found = [ports for wanted, ports in map(_split, names) if _matches(wanted, host)]
    return tuple(dict.fromkeys(port for ports in found for port in ports))


def opened(names: Iterable[str]) -> list[str]:
    """Those of the names that can only be private, each with its ports: whoever names them wants them reached.

    A public name is none of them: where it leads is up to whoever answers for it.
    """
    from toolroll.policy.urls import is_address, is_inside

    found = []
    for name in names:
        host, ports = _split(name)
        if not host.startswith("*") and (is_address(host) or is_inside(host)):
            found += [f"{host}:{port}" for port in ports]
    return found


def name_host(host: str, port: int) -> str:
    """How the setting names this host and port."""
    return host if port in _WEB_PORTS else f"{host}:{port}"


def _split(name: str) -> tuple[str, tuple[int, ...]]:
    """The host and the ports that a name stands for."""
    host, colon, port = name.rpartition(":")
    return (host, (int(port),)) if colon and port.isdecimal() else (name, _WEB_PORTS)


def _matches(wanted: str, host: str) -> bool:
    return host.endswith(wanted[1:]) if wanted.startswith("*.") else host == wanted


def _check_name(name: str) -> None:
    from toolroll.policy.urls import is_address, parse_host  # most policies name no host

    if name in _WORDS:
        raise ValueError(f"network: {name!r} stands alone; give it, or names.")
    host, ports = _split(name)
    plain = host.removeprefix("*.")
    try:
        good = parse_host(plain) == plain and not (is_address(plain) and plain != host) and 0 < ports[0] < 65536
        good = good and ("." in plain or plain != name)  # a word alone is more likely a wrong setting than a host
    except ValueError:
        good = False
    if not good:
        raise ValueError(
            f"network: {name!r} is no host. Write off, on, packages, or names such as example.org, *.example.org, "
            "example.org:8080."
        )
