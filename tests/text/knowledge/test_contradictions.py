"""Which sentences take the place of others."""

import pytest

from toolroll.text.knowledge.contradictions import contradicts


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("The port of the server is 8080.", "The port of the server is 9090", True),
        ("The key rotates every 30 days", "The key rotates every 90 days.", True),
        ("The user prefers tabs", "The user prefers four blanks", True),
        ("Deploys are made on Friday", "Deploys are not made on Friday", True),
        ("The tests do work", "The tests don't work", True),
        ("The port of the server is 8080.", "the port of the server is 8080", False),
        ("Alice likes tea", "Bob likes tea", False),
        ("The tests of module A are slow", "The tests of module B are slow", False),
        ("Server 1 is down", "Server 2 is down", False),
        ("The port of the server is 8080", "The port of the client is 9090", False),
        ("The user prefers tabs", "The user prefers tabs in Makefiles", False),
        ("Something else", "The user prefers tabs", False),
        ("", "x", False),
    ],
)
def test_contradictions(old, new, wanted):
    assert contradicts(old, new) is wanted
    assert contradicts(new, old) is wanted
