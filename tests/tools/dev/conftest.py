"""Programs that the tests bring along."""

import os

import pytest

from tests.npm import node


@pytest.fixture
def with_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the Node of the development requirements on PATH, before a kit is opened."""
    monkeypatch.setenv("PATH", os.path.dirname(node.program()), prepend=os.pathsep)
