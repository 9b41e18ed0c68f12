"""A small agent: a chat model, a kit and a loop. The front is `Agent(kit, model).run("task")`.

May import everything below `mcp`: kit, chains, formats, host; no tool but `finish`, which ends a run.
"""

from toolroll.agent.loop import Agent, RunOutcome
from toolroll.agent.presets import PRESETS, Preset

__all__ = ["PRESETS", "Agent", "Preset", "RunOutcome"]
