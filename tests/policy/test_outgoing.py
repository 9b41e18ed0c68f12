"""Which requests could carry a secret."""

from __future__ import annotations

import pytest

from toolroll.policy.outgoing import MAX_CARRIED_CHARACTERS, is_named, objection, objection_to_text


@pytest.mark.parametrize(
    ("method", "url", "headers", "body", "why"),
    [
        ("GET", "https://example.org/docs?page=2", {}, False, ""),
        ("HEAD", "https://example.org/", {"accept": "text/html"}, False, ""),
        ("GET", "https://example.org/", {}, True, "a GET request can carry it"),
        ("POST", "https://example.org/", {}, False, "a POST request can carry it"),
        ("DELETE", "https://example.org/", {}, False, "a DELETE request can carry it"),
        ("PUT", "https://example.org/", {}, True, "a PUT request can carry it"),
    ],
)
def test_requests(method: str, url: str, headers: dict[str, str], body: bool, why: str) -> None:
    assert objection(method, url, headers, body=body) == why


@pytest.mark.parametrize(("url", "headers"), [("?q=" + "ab" * 200, {}), ("", {"x-data": "ab" * 200})])
def test_a_long_address_or_header_can_carry_a_secret(url: str, headers: dict[str, str]) -> None:
    assert "characters of address and headers" in objection("GET", f"https://example.org/{url}", headers, body=False)


def test_the_length_that_a_request_may_have() -> None:
    assert objection_to_text("x" * MAX_CARRIED_CHARACTERS) == ""
    assert objection_to_text("x" * (MAX_CARRIED_CHARACTERS + 1)) == (
        "this one has 301 characters of address and headers, which could hold it"
    )


@pytest.mark.parametrize(
    ("host", "port", "named"),
    [
        ("example.org", 443, True),
        ("example.org", 8443, False),
        ("a.wild.example", 80, True),
        ("127.0.0.1", 8080, True),
        ("packages", 443, False),
        ("other.org", 443, False),
    ],
)
def test_hosts_that_the_user_has_named(host: str, port: int, named: bool) -> None:
    assert is_named(host, port, ("packages", "example.org", "*.wild.example", "127.0.0.1:8080")) is named
