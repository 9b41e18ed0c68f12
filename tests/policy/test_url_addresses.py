from __future__ import annotations

from ipaddress import ip_address

import pytest

from toolroll.policy.urls import is_plain_public, is_public, may_be_trusted

PRIVATE = [
    "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",
    "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255",
    "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0",
    "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:1ff:ffff::", "2001:db8::1",
    "2002:7f00:1::", "2002:808:808::", "3ffe::1", "3fff::1", "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254",
    "fd20:ce::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
]  # fmt: skip
PUBLIC = [
    "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
    "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15",
    "168.63.129.17", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "2a00:1450::1",
    "3ffd:ffff::1",
]  # fmt: skip


@pytest.mark.parametrize("address", [*PRIVATE, "", "1", "127.1", "0x7f.0.0.1", "1.1.1.1 ", "example.com", "[::1]"])
def test_not_public(address: str) -> None:
    assert not is_public(address)
    assert not is_plain_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert is_public(address)
    assert is_plain_public(address)


def test_a_gateways_address_is_as_public_as_what_is_behind_it() -> None:
    assert is_public("64:ff9b::808:808")
    assert not is_plain_public("64:ff9b::808:808")
    assert not is_public("64:ff9b::a00:1")


NEVER = [
    "0.0.0.0", "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "224.0.0.1", "255.255.255.255",
    "::", "::ffff:169.254.169.254", "fe80::1", "ff02::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1%eth0", "", "x",
]  # fmt: skip
TRUSTED = ["127.0.0.1", "10.0.0.1", "8.8.8.8", "::1", "::ffff:10.0.0.1", "fd00::1", "2606:4700::1111", "168.63.129.17"]


def test_a_name_that_the_operator_trusts_leads_to_private_addresses_but_not_to_metadata() -> None:
    assert [one for one in NEVER if may_be_trusted(one)] == []
    assert [one for one in TRUSTED if not may_be_trusted(one)] == []


def test_the_table_of_the_language_would_not_do() -> None:
    """The control: what `is_global` takes for public."""
    missed = [one for one in PRIVATE if "%" not in one and ip_address(one).is_global]
    assert {"224.0.0.1", "168.63.129.16", "64:ff9b::7f00:1"} <= set(missed)
