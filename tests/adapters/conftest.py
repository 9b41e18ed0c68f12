"""One task for every framework, in a workspace that is the current folder, as in the examples of docs/adapters.md."""

from __future__ import annotations

import pytest

from tests.adapters.task import FILES


@pytest.fixture(autouse=True)
def here(ws, put, tmp_path, monkeypatch):
    put(FILES)
    monkeypatch.chdir(ws)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("AGNO_TELEMETRY", "false")
