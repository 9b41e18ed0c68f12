"""Clients on real servers of the loopback; no thread, descriptor or connection is left in the end."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.host.http.web import Answer, Server


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers; all are gone when the test is over."""
    threads = set(threading.enumerate())
    before = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else []
    with ExitStack() as stack:

        def start(answer: Answer | bytes, **options: Any) -> Server:
            return stack.enter_context(Server(answer, **options))

        yield start
    assert set(threading.enumerate()) <= threads
    if before:
        assert sorted(os.listdir("/proc/self/fd")) == before
