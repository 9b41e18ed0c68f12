"""The small agent: a model, a kit and a loop. `Agent(kit, model).run("task")` is the way in."""

from toolroll.agent.loop import Agent, Outcome
from toolroll.agent.presets import PRESETS, Preset

__all__ = ["PRESETS", "Agent", "Outcome", "Preset"]
