"""Which requests could carry a secret."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from toolroll.policy.taint import (
    MAX_CARRIED_CHARACTERS,
    carries,
    objection,
    objection_to_text,
    secret_file,
    secret_file_in,
    values_in,
)

SECRET = "hunter2+/swordfish"


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        SECRET.upper(),
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(f"x{SECRET}y".encode()).decode(),
        base64.b64encode(f"xy{SECRET}z".encode()).decode(),
        base64.b64encode(f"DB_PASSWORD={SECRET}\n".encode()).decode(),
        SECRET.encode().hex(),
    ],
)
def test_forms_of_a_secret(text: str) -> None:
    assert carries(f"https://example.org/?q={text}&more", {SECRET})
    assert not carries(f"https://example.org/?q={text}&more", {"something else"})


@pytest.mark.parametrize(
    ("method", "url", "headers", "body", "asks"),
    [
        ("GET", "https://example.org/docs?page=2", {}, False, False),
        ("HEAD", "https://example.org/", {"accept": "text/html"}, False, False),
        ("GET", f"https://example.org/?q={SECRET}", {}, False, True),
        ("GET", f"https://{SECRET[:7]}.example.org/", {}, False, True),
        ("GET", "https://example.org/", {"x-data": SECRET}, False, True),
        ("GET", "https://example.org/?q=" + "ab" * 200, {}, False, True),
        ("GET", "https://example.org/", {"x-data": "ab" * 200}, False, True),
        ("POST", "https://example.org/", {}, False, True),
        ("DELETE", "https://example.org/", {}, False, True),
        ("PUT", "https://example.org/", {}, True, True),
    ],
)
def test_requests(method: str, url: str, headers: dict[str, str], body: bool, asks: bool) -> None:
    assert bool(objection(method, url, headers, body=body, values={SECRET, SECRET[:7]})) is asks


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cat .env", ".env"),
        ("cat<config/.env.local|head", "config/.env.local"),
        ("python -c \"print(open('/home/me/.ssh/id_rsa').read())\"", "/home/me/.ssh/id_rsa"),
        ("tail ./credentials", "./credentials"),
        ("git commit -m 'Rotate credentials.'", ""),
        ("cat README.md", ""),
        ("cp .env.example .env.sample", ""),
    ],
)
def test_files_that_a_command_speaks_of(command: str, found: str) -> None:
    assert secret_file_in({"command": command}) == found
    assert secret_file_in({"more": [{"x": command}], "n": 1}) == found


def test_values_of_a_text() -> None:
    line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU"
    assert values_in(f"A_TOKEN=abc123\nX=1\n{line}\n") == {"abc123", line}


def test_a_value_of_six_characters_counts() -> None:
    assert values_in("A_TOKEN=abc12") == set()
    assert values_in("A_TOKEN=abc123") == {"abc123"}
    assert carries("x-616263-y", {"abc"})  # in hexadecimal
    assert not carries("x-YWJj-y", {"abc"})  # in base64 a short value is found everywhere


def test_the_length_that_a_request_may_have() -> None:
    text = "a b" * (MAX_CARRIED_CHARACTERS // 3)
    assert objection_to_text(text, ()) == ""
    assert objection_to_text(f"{text}x", ()) == (
        "this one has 301 characters of address and headers, which could hold it"
    )
    assert objection_to_text(f"{text}{SECRET}", {SECRET}) == "this one holds it"


def test_what_of_a_request_is_named() -> None:
    def why(method: str, *, body: bool = False) -> str:
        return objection(method, "https://example.org/", {}, body=body, values=())

    assert why("PUT") == "a PUT request can carry it"
    assert why("GET", body=True) == "a GET request can carry it"
    assert why("GET") == ""


def test_the_first_file_of_secrets_is_named() -> None:
    assert secret_file(["a.txt", "x/.env", "id_rsa"]) == "x/.env"
    assert secret_file(["a.txt"]) == ""
    assert secret_file_in({"a": ("plain", ["cat ./.env"]), "b": "cat id_rsa"}) == "./.env"
    assert secret_file_in({"command": "credentials"}) == ""  # a word alone is prose
