"""Secrets are replaced in texts; everything else stays."""

import pytest

from toolroll.policy.redaction import Redaction

TOKEN = "ghp_0123456789abcdefABCDEF0123456789abcd"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----"
redact = Redaction({"MY_PASSWORD": "korrekt horse", "HOME": "/home/someone", "API_KEY": "short"}, also=["k" * 20])

ROWS = [
    (f"a {TOKEN} b", "a [redacted] b"),
    (f'{{"x": "{TOKEN}"}}', '{"x": "[redacted]"}'),
    (f'{{\\"x\\": \\"{TOKEN}\\"}}', '{\\"x\\": \\"[redacted]\\"}'),
    ("before\n" + KEY + "\nafter", "before\n[redacted]\nafter"),
    (f"Authorization: Bearer {JWT}", "Authorization: Bearer [redacted]"),
    ("the korrekt horse is hidden", "the [redacted] is hidden"),
    ("k" * 20, "[redacted]"),
    ("DB_PASSWORD=hunter2hunter2 next", "DB_PASSWORD=[redacted] next"),
    ('"client_secret": "abcdef123456"', '"client_secret": "[redacted]"'),
    ("postgres://me:pa55word@db/x y", "[redacted] y"),
]
PLAIN = [
    "def total(prices):\n    return sum(prices)\n",
    "password = os.environ.get('DB_PASSWORD')",
    "token = Token()\nself.token.check()",
    "max_tokens: 4096, output_tokens=123456",
    "src/toolroll/agent/transcript.py:120: in function `redact`",
    "/home/someone and short",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "https://example.com/a/b?page=2#top",
]


@pytest.mark.parametrize(("text", "expected"), ROWS)
def test_secrets_are_hidden(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_in_a_long_text() -> None:
    long = "plain words\n" * 3000
    text, expected = ("\n".join(row[at] for row in ROWS) for at in (0, 1))
    assert redact(f"{long}{text}\n{long}") == f"{long}{expected}\n{long}"


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text


def test_a_secret_at_any_place_of_a_long_text() -> None:
    for place in range(29_900, 30_010, 25):
        assert redact("x " * (place // 2) + TOKEN) == "x " * (place // 2) + "[redacted]"


def test_a_value_that_holds_another_is_hidden_as_a_whole() -> None:
    hide = Redaction({}, also=["abcdefgh", "abcdefgh-ijklmnop", "1234567"])
    assert hide("abcdefgh-ijklmnop abcdefgh") == "[redacted] [redacted]"
    assert hide("1234567") == "1234567"  # shorter than eight characters


def test_a_secret_at_the_very_beginning() -> None:
    assert redact(TOKEN) == "[redacted]"
    assert redact(f"{TOKEN} {'x ' * 40_000}").startswith("[redacted] x ")
