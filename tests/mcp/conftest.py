"""The server that the official suites are run against, started once for all tests that only ask it something."""

from collections.abc import Iterator

import pytest

from tests.mcp.fixtures.served import Served, served


@pytest.fixture(scope="session")
def suite() -> Iterator[Served]:
    with served("tests.mcp.fixtures.suite_server") as running:
        yield running
