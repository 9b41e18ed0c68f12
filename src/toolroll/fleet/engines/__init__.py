"""Engines of the fleet: where its workers run, and how lines and frozen bases get there.

Front: `open_engine`. `engine.py` has the interface, and each other file one engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolroll.fleet.engines.engine import FleetEngine


def open_engine(spec: str) -> FleetEngine:
    """The engine of this name; ValueError for one that is not known, ImportError for one whose package is missing."""
    kind, _, nodes = spec.partition(":")
    if kind == "local":
        from toolroll.fleet.engines.local import LocalEngine

        return LocalEngine()
    if kind == "ray":
        from toolroll.fleet.engines.ray import RayEngine

        return RayEngine(nodes)
    from toolroll.fleet.engines.pipes import COMMANDS, PipeEngine

    if kind in COMMANDS:
        return PipeEngine(kind, nodes)
    known = ", ".join(f"{one}:NAME" for one in COMMANDS)
    raise ValueError(f"There is no engine {spec!r}. Give local, {known} or ray://HOST:PORT.")
