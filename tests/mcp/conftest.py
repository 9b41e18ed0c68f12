"""The server that the official suites are run against, started once for all tests that only ask it something."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.mcp.fixtures.served import Served, served


@pytest.fixture(scope="session")
def suite() -> Iterator[Served]:
    with served("tests.mcp.fixtures.suite_server") as running:
        yield running


@pytest.fixture(scope="session")
def small() -> Iterator[Served]:
    """A server whose limits are small, with a token of our own."""
    token = "a-token-that-is-long-enough"
    with served("tests.mcp.fixtures.small_server", token) as running:
        yield replace(running, token=token)
