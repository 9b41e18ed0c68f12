"""The host of a URL: a name or an address in its one proper spelling. What others read in two ways is refused."""

from __future__ import annotations

import re
from ipaddress import IPv6Address

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


def host(text: str) -> str:
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
