"""What the tools that ask language servers are given."""

import pytest

from toolroll import Context, Kit


@pytest.fixture(autouse=True)
def soon_parsed(shared_parsers: None) -> None:
    """No tool here starts parsers of its own."""


@pytest.fixture
def served(kit: Kit) -> Context:
    """The hands of a call; the servers it has started are closed with the kit."""
    return kit.context()
