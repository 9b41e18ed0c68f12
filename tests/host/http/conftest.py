"""Clients on real servers of the loopback; no thread, descriptor or connection is left in the end."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.host.http.web import Answer, Server
from tests.waiting import closed_again, descriptors, until


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers; all are gone when the test is over."""
    threads = set(threading.enumerate())
    before = descriptors()
    with ExitStack() as stack:

        def start(answer: Answer | bytes, **options: Any) -> Server:
            return stack.enter_context(Server(answer, **options))

        yield start
    assert until(lambda: set(threading.enumerate()) <= threads)
    assert closed_again(before)
