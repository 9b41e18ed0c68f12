"""Which addresses belong to the public internet. The table is ours: Python's `is_global` lets private ones through."""

from __future__ import annotations

from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# Not on the public internet, or a service of the machine's own cloud.
_IPV4 = (
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
_IPV6_PUBLIC = "2000::/3"
_IPV6 = (
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
        return not _lies_in(address, *_IPV4)
    return _lies_in(address, _IPV6_PUBLIC) and not _lies_in(address, *_IPV6)


def _read(address: str) -> IPv4Address | IPv6Address | None:
    """The address, or None for what is none, or has a zone: that is a link of this machine."""
    try:
        return None if "%" in address else ip_address(address)
    except ValueError:
        return None


def _lies_in(address: IPv4Address | IPv6Address, *networks: str) -> bool:
    return any(address in _network(one) for one in networks)


_network = cache(ip_network)
