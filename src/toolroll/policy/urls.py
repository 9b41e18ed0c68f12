"""Which URLs may be fetched: parsed strictly, looked up once, and only at public addresses; every redirect again."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from toolroll.policy import decision

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_IPV6 = re.compile(r"[0-9a-f:]+")
_MAX_NAME_CHARS = 253
# Names that only mean something inside a machine or a network.
_INSIDE = frozenset(
    {"localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "arpa"}
)
_METADATA = frozenset({"metadata.goog", "metadata.tencentyun.com"})


def parse_host(text: str) -> str:
    """A host in ASCII and lower case, an IPv6 address in brackets; ValueError, with the reason, if it is none."""
    if text.startswith("["):
        return f"[{_address6(text)}]"
    name = ".".join(_label(label) for label in text.removesuffix(".").split("."))
    if len(name) > _MAX_NAME_CHARS:
        raise ValueError(f"its host is longer than {_MAX_NAME_CHARS} characters")
    if _NUMBER.fullmatch(name.rpartition(".")[2]) and (not _IPV4.fullmatch(name) or text.endswith(".")):
        raise ValueError(f"its host {text!r} is a number, but not an address in four decimal parts")
    return name


def is_address(name: str) -> bool:
    """Whether a host, as `host` gives it, is an address and not a name."""
    return name.startswith("[") or _IPV4.fullmatch(name) is not None


def is_inside(name: str) -> bool:
    """Whether a name can only mean something inside a machine, a cloud or a network."""
    return "." not in name or name.rpartition(".")[2] in _INSIDE or name in _METADATA


def _address6(text: str) -> IPv6Address:
    inner = text[1:-1].lower()
    if not text.endswith("]") or not _IPV6.fullmatch(inner):
        raise ValueError(f"its host {text!r} is not a plain IPv6 address in brackets")
    try:
        return IPv6Address(inner)
    except ValueError:
        raise ValueError(f"its host {text!r} is not an IPv6 address") from None


def _label(label: str) -> str:
    plain = label.lower() if label.isascii() else _encode(label)
    if not _LABEL.fullmatch(plain):
        what = f"the part {label!r}, which no name has" if label else "an empty part"
        raise ValueError(f"its host has {what}")
    return plain


def _encode(label: str) -> str:
    """A label with letters beyond ASCII as it is looked up.

    Letters that programs fold into others (full-width digits, circled letters, the long s, invisible marks) are
    refused: one program would look up another name than the next.
    """
    import stringprep
    import unicodedata

    for char in label:
        lowered = "" if char.isascii() else char.lower()
        folds = unicodedata.normalize("NFKC", char) != char or any(one.isascii() for one in lowered)
        odd = unicodedata.category(char)[0] not in "LMN" and char not in "-_"
        if folds or odd or stringprep.in_table_b1(char):
            raise ValueError(f"its host has the character {char!r}, which programs read differently")
    composed = unicodedata.normalize("NFC", label).lower()
    return f"xn--{composed.encode('punycode').decode('ascii')}"


# Not on the public internet, or a service of the machine's own cloud.
_NOT_PUBLIC_4 = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",
    "100.64.0.0/10",  # shared by carriers; some clouds keep their metadata in it
    "127.0.0.0/8",
    "168.63.129.16/32",  # Azure's wire server
    "169.254.0.0/16",  # link-local, metadata of most clouds
    "172.16.0.0/12",
    "192.0.0.0/24",  # protocol assignments
    "192.0.2.0/24",  # documentation
    "192.88.99.0/24",  # relays from 6to4
    "192.168.0.0/16",
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and broadcast
)
# IPv6 is public only in here, and there without the table below.
_PUBLIC_6 = "2000::/3"
_NOT_PUBLIC_6 = (
    "2001::/23",  # protocol assignments, Teredo among them
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4: any IPv4 address, private ones too
    "3ffe::/16",  # given back
    "3fff::/20",  # documentation
)
_NAT64 = "64:ff9b::/96"
# Where nothing is served to be fetched; not even a name that the operator trusts may lead there.
_NEVER = (
    "0.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "224.0.0.0/4",
    "240.0.0.0/4", "::/128", "fe80::/10", "ff00::/8", "fd00:ec2::254/128", "fd20:ce::254/128",
)  # fmt: skip


def is_public(address: str) -> bool:
    """Whether a look-up may have given this address. The wrapped IPv4 address of a NAT64 gateway is unwrapped."""
    found = _read(address)
    if found is not None and _lies_in(found, _NAT64):
        found = IPv4Address(int(found) & 0xFFFFFFFF)
    return found is not None and _is_public(found)


def is_plain_public(address: str) -> bool:
    """Whether a URL may name this address: public, and nothing wrapped in it."""
    found = _read(address)
    return found is not None and _is_public(found)


def may_be_trusted(address: str) -> bool:
    """Whether a name that the operator trusts may lead there: private addresses too, never a cloud's metadata."""
    found = _read(address)
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return found is not None and not _lies_in(found, *_NEVER)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not _lies_in(address, *_NOT_PUBLIC_4)
    return _lies_in(address, _PUBLIC_6) and not _lies_in(address, *_NOT_PUBLIC_6)


def _read(address: str) -> IPv4Address | IPv6Address | None:
    """The address, or None for what is none, or has a zone: that is a link of this machine."""
    try:
        return None if "%" in address else ip_address(address)
    except ValueError:
        return None


def _lies_in(address: IPv4Address | IPv6Address, *networks: str) -> bool:
    return any(address in _network(one) for one in networks)


_network = cache(ip_network)


_WEB = frozenset({80, 443})
_FIRST_FREE = 1024  # below, every port has its own service
_SERVICES: dict[str, str] = {
    "a proxy": "1080 3128",
    "remote calls": "1099 2049 4045 5985 5986",
    "a tunnel": "1194 1723 4789",
    "a database": "1352 1433 1434 1521 2484 3050 3306 5432 5433 5984 6379 6380 7199 7474 7687 8086 9042 9160 9200 9300 "
    "11211 16379 26379 27017 27018 27019 28015 28017 33060 50000 50070",
    "a queue": "1883 4222 5671 5672 8883 9092 11300 15672 61613 61616",
    "the control of containers": "2375 2376 2377 4243 6443 10248 10249 10250 10255 10256 16509",
    "a registry of services": "2181 2379 2380 8200 8300 8301 8302 8500 8600",
    "a file service": "2121 3260 3690 8020 9418 10080 10809",
    "a directory": "3268 3269",
    "a remote screen": "3389 5631 5800 5900 5901 5902 5903 6000 6001 6002 6566",
    "telephony or chat": "1719 1720 3478 5060 5061 5222 5269 6665 6666 6667 6668 6669 6679 6697",
    "a debugger or a build": "4369 5005 5037 5555 7000 7001 7077 8009 9229",
    "a name or time service": "3659 5353 8125",
    "mail or a printer": "4190 9100",
    "a local model": "11434",
}
_DENIED = {int(port): what for what, ports in _SERVICES.items() for port in ports.split()}


def object_to_port(port: int) -> str:
    """Why a port is not for the web; empty when it may be."""
    if port in _WEB:
        return ""
    if port < _FIRST_FREE:
        return f"port {port} is not a web port"
    return f"port {port} is that of {_DENIED[port]}, not a web port" if port in _DENIED else ""


_MAX_URL_CHARS = 8192
_FORM = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[1-9][0-9]{0,4}))?")
_ENDS = re.compile(r"[/?#]")
_DEFAULT = {"http": 80, "https": 443}
# Characters that may stand in a path or a query as they are; all others are percent-encoded.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?[]@!$&'()*+,;=%")


@dataclass(frozen=True, slots=True)
class Target:
    """What a request needs to know of a URL."""

    scheme: str
    host: str
    """In ASCII and lower case; an IPv6 address in brackets."""
    port: int
    path: str
    """With the query, percent-encoded."""

    @property
    def authority(self) -> str:
        """For the Host header: with the port, unless it is the scheme's own."""
        return self.host if self.port == _DEFAULT[self.scheme] else f"{self.host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The URL as it is asked for, without a fragment."""
        return f"{self.origin}{self.path}"


def parse(url: str) -> Target:
    """The parts of a URL; ValueError with the reason, which reads on from "because"."""
    check_characters(url)
    form = _FORM.fullmatch(url)
    scheme = form["scheme"].lower() if form else ""
    if form is None or scheme not in _DEFAULT:
        raise ValueError("only http:// and https:// are fetched")
    rest = form["rest"]
    if not rest.startswith("//") or rest.startswith("///"):
        raise ValueError(f"a host must follow {scheme}://")
    end = _ENDS.search(rest, 2)
    authority, tail = (rest[2:], "") if end is None else (rest[2 : end.start()], rest[end.start() :])
    if "@" in authority:
        raise ValueError("it holds a user name or password before the host; leave them out")
    if not tail.startswith("/") and "@" in tail:
        raise ValueError("programs disagree where its host ends; put a slash behind the host")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None or not parts["host"]:
        raise ValueError("its host or port is not written as one")
    port = int(parts["port"] or _DEFAULT[scheme])
    if port > 65535:
        raise ValueError(f"there is no port {port}")
    return Target(scheme, parse_host(parts["host"]), port, _path(tail))


def check_characters(text: str) -> None:
    """ValueError for what must not stand in any part of a URL."""
    if len(text) > _MAX_URL_CHARS:
        raise ValueError(f"it is longer than {_MAX_URL_CHARS} characters")
    for char in text:
        if char in " \\\x7f" or char < " ":
            raise ValueError(f"it holds {char!r}; percent-encode what belongs to it")
        if not char.isascii() and unicodedata.category(char) in ("Cc", "Cs", "Cn", "Zl", "Zp"):
            raise ValueError(f"it holds {char!r}")


def _path(tail: str) -> str:
    path = tail.partition("#")[0]
    if not path.startswith("/"):
        path = f"/{path}"
    return "".join(char if char in _PLAIN else "".join(f"%{byte:02X}" for byte in char.encode()) for char in path)


MAX_REDIRECTS = 5

Resolve = Callable[[str], Sequence[str]]
"""From a name to its addresses, as text."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class UrlVerdict(decision.Verdict):
    """A decision about a URL. An allowed one is fetched from one of `addresses` and nowhere else."""

    addresses: tuple[str, ...] = ()
    target: Target | None = None
    named: bool = False
    """The operator has allowed this very host."""


def judge(url: str, resolve: Resolve, allow: Sequence[str] = ()) -> UrlVerdict:
    """Whether a URL may be fetched. `resolve` is called at most once.

    `allow` holds hosts that the operator has opened although they are not public, each as `host` (at the scheme's own
    port) or `host:port`.
    """
    try:
        target = parse(url)
    except ValueError as error:
        return UrlVerdict("deny", str(error))
    named = _is_named(target, allow)
    reason = "" if named else object_to_port(target.port)
    if not reason and not named and is_inside(target.host) and not is_address(target.host):
        reason = f"{target.host!r} is a name inside a machine or a network, not a public one"
    if reason:
        return UrlVerdict("deny", reason, target=target)
    return _judge_addresses(target, resolve, named)


def redirect(url: str, location: str) -> str:
    """The URL that a redirect leads to; ValueError if it is not one that could be fetched at all."""
    if not location:
        raise ValueError("the redirect names no place")
    check_characters(location)
    if _SCHEME.match(location):
        found = location
    elif location.startswith("//"):
        found = f"{parse(url).scheme}:{location}"
    else:
        from urllib.parse import urljoin

        found = urljoin(url, location)
    parse(found)
    return found


def _judge_addresses(target: Target, resolve: Resolve, named: bool) -> UrlVerdict:
    if is_address(target.host):
        found: tuple[str, ...] = (target.host.strip("[]"),)
        good = named or is_plain_public(found[0])
    else:
        found = tuple(resolve(target.host))
        if not found:
            return UrlVerdict("deny", f"{target.host!r} has no address", target=target)
        fits = may_be_trusted if named else is_public
        good = all(map(fits, found))
    if not good:
        return UrlVerdict("deny", f"{target.host!r} is not at a public address", target=target)
    return UrlVerdict("allow", "", found, target, named)


def _is_named(target: Target, allow: Sequence[str]) -> bool:
    wanted = {target.authority, f"{target.host}:{target.port}"}
    return any(one.strip().lower() in wanted for one in allow)
