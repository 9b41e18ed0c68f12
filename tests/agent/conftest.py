"""Models that are served on the loopback, and agents with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.host.models.chat.served import Served, Step
from toolroll import Kit
from toolroll.agent import PRESETS, Agent
from toolroll.agent.transcript import Record
from toolroll.host.http.client import Client
from toolroll.host.models.chat.config import load_model


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Start servers; all are gone when the test is over."""
    with ExitStack() as stack:

        def start(provider: str, *steps: Step, **options: Any) -> Served:
            return stack.enter_context(Served(provider, *steps, **options))

        yield start


@pytest.fixture
def agent_at(open_kit: Callable[..., Kit]) -> Callable[..., tuple[Agent, list[Record]]]:
    """An agent with the model of a server, and what it tells of its runs."""

    def make(
        server: Served, preset: str = "native", kit: Kit | None = None, **options: Any
    ) -> tuple[Agent, list[Record]]:
        chosen = PRESETS[preset]
        hands = kit or open_kit(chosen.dialect, tools=chosen.tools or "all")
        model = load_model(server.environment, Client())
        assert model is not None
        model._first_wait = 0.01
        told: list[Record] = []
        return Agent(hands, model, chosen, watch=[told.append], **options), told

    return make
