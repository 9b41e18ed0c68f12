"""Servers that are started once for all tests that only ask them something, and that a signal ends at last."""

import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.mcp.fixtures.served import Served, end_in_order, served


@pytest.fixture(scope="session")
def suite() -> Iterator[Served]:
    with served("tests.mcp.fixtures.suite_server") as running:
        yield running
        end_in_order(running, signal.SIGINT)


@pytest.fixture(scope="session")
def small() -> Iterator[Served]:
    """A server whose limits are small, with a token of our own."""
    token = "a-token-that-is-long-enough"
    with served("tests.mcp.fixtures.small_server", token) as running:
        yield (small := replace(running, token=token))
        # A run under nohup ignores SIGHUP, and so does a server that it starts.
        end_in_order(small, signal.SIGTERM if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else signal.SIGHUP)
