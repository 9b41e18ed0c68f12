from __future__ import annotations

import pytest

from toolroll.policy.network import (
    Network,
    check_credentials,
    format_network,
    name_host,
    opened,
    parse_network,
    parse_scope,
    ports_of,
)
from toolroll.policy.rules import Policy


@pytest.mark.parametrize(
    ("given", "network"),
    [
        (True, True),
        (False, False),
        ("off", False),
        ("on", True),
        ("true", True),
        ("0", False),
        ("", False),
        ("packages", ("packages",)),
        (" Example.org, *.example.org ,example.org", ("example.org", "*.example.org")),
        (["packages", "127.0.0.1:8080", "[::1]:80"], ("packages", "127.0.0.1:8080", "[::1]:80")),
        ("registry:5000", ("registry:5000",)),
        ("example.org:1,example.org:65535", ("example.org:1", "example.org:65535")),
    ],
)
def test_a_setting_is_read_as_users_write_it(given: bool | str | list[str], network: Network) -> None:
    assert parse_network(given) == network
    assert Policy(network=given if isinstance(given, bool | str) else tuple(given)).network == network
    assert parse_network(format_network(network)) == network


@pytest.mark.parametrize(
    ("rule", "method", "path", "covered"),
    [
        ("git.example.org", "GET", "/any?x", True),
        ("git.example.org", "POST", "/a.git/git-upload-pack", True),
        ("git.example.org", "POST", "/a.git/git-receive-pack?x", True),
        ("git.example.org", "POST", "/api", False),
        ("git.example.org", "POST", "/api?/git-upload-pack", False),
        ("git.example.org", "PUT", "/a.git/git-upload-pack", False),
        ("GET,PUT git.example.org", "PUT", "/api", True),
        ("get, put git.example.org:8443", "PUT", "/api", True),
        ("PUT git.example.org", "GET", "/", False),
        ("git.example.org/team", "GET", "/team", True),
        ("git.example.org/team/", "GET", "/team/x", True),
        ("git.example.org/team/", "GET", "/teams/x", False),
        ("git.example.org/team/", "GET", "/", False),
        ("git.example.org/team/", "GET", "/team/../x", False),
        ("git.example.org/team/", "GET", "/team/%2E%2e/x", False),
        ("git.example.org/team/", "GET", "/team/%252e%252e/x", False),
        ("git.example.org/team/", "GET", "/team/..;a/x", False),
        ("git.example.org/team/", "GET", "/team/x%2f..%2f..", False),
        ("git.example.org/team/", "GET", "/team/..%5cx", False),
        ("git.example.org/team/", "GET", "/team/@me%20x", True),
    ],
)
def test_which_requests_get_a_credential(rule: str, method: str, path: str, covered: bool) -> None:
    scope = parse_scope(rule)
    assert (scope.host.startswith("git.example.org"), scope.covers(method, path)) == (True, covered)


@pytest.mark.parametrize(
    "rule", ["TRACE git.example.org", "GET,X git.example.org", "git.example.org/a/../b", "a b.org"]
)
def test_a_rule_for_credentials_that_cannot_hold_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match=r"credentials|no host"):
        check_credentials({rule: "env:A"})


@pytest.mark.parametrize(
    "given",
    [
        "yes",
        "packges",
        "*",
        "*.",
        "on,example.org",
        "http://example.org",
        "example.org/x",
        "a b.org",
        "*.127.0.0.1",
        "example.org:0",
        "example.org:65536",
        "0x7f.1",
        "2130706433",
        "a..b",
        "*.*.org",
        "exa*.org",
        "[::1",
        "\uff11.1.1.1",
    ],
)
def test_what_is_no_host_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="network: "):
        parse_network(given)


@pytest.mark.parametrize(
    ("names", "host", "port", "allowed"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 8080, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "badexample.org", 443, False),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("example.org:8080", "example.org", 8080, True),
        ("example.org:8080", "example.org", 443, False),
        ("[::1]:80", "[::1]", 80, True),
        ("a.org,b.org", "b.org", 443, True),
    ],
)
def test_names_allow_their_hosts_and_ports(names: str, host: str, port: int, allowed: bool) -> None:
    found = parse_network(names)
    assert isinstance(found, tuple)
    assert (port in ports_of(found, host)) is allowed


def test_a_host_is_named_so_that_the_name_allows_it() -> None:
    assert (name_host("a.org", 443), name_host("a.org", 8443)) == ("a.org", "a.org:8443")


def test_only_names_that_can_be_nothing_else_open_private_addresses() -> None:
    """A public name may be answered with any address, so that naming it opens no private one."""
    assert opened(("a.org", "*.b.org", "10.0.0.1", "registry:5000", "packages.corp:80", "[::1]:81")) == [
        "10.0.0.1:80",
        "10.0.0.1:443",
        "registry:5000",
        "packages.corp:80",
        "[::1]:81",
    ]
