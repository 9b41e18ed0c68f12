"""A URL taken apart by a strict parser of our own: there is one way to read it, or it is refused."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from toolroll.policy.urls import names

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
    return Target(scheme, names.host(parts["host"]), port, _path(tail))


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
