"""Servers of models for a test; no thread or connection is left in the end."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.host.models.chat.served import Served, Step
from tests.waiting import closed_again, descriptors, until


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Start servers; all are gone when the test is over."""
    threads = set(threading.enumerate())
    before = descriptors()
    with ExitStack() as stack:

        def start(provider: str, *steps: Step, **options: Any) -> Served:
            return stack.enter_context(Served(provider, *steps, **options))

        yield start
    assert until(lambda: set(threading.enumerate()) <= threads)
    assert closed_again(before)
