"""What a tool does to the world. Safety class, modes and MCP annotations all follow from these."""

from __future__ import annotations

from enum import Flag, auto


class Effect(Flag):
    """Declared by every tool with `@tool(Effect.READ | Effect.WRITE)`."""

    NONE = 0
    """Nothing but computing; what declares no effects has them all."""
    READ = auto()
    """Looks at files of the workspace."""
    WRITE = auto()
    """Creates or changes files."""
    DELETE = auto()
    """Removes or replaces something as a whole; an undo is needed to get it back."""
    RUN = auto()
    """Starts programs by itself."""
    NETWORK = auto()
    """Talks to other machines."""
    STATE = auto()
    """Changes the session's own notes, todos or memory, never the workspace's files."""
    SHELL = auto()
    """Runs commands through the host, which confines them and judges each one by its text."""


EVERYTHING = ~Effect.NONE
"""All of them: what counts where none are declared."""
CHANGES = Effect.WRITE | Effect.DELETE
"""The effects on files of the workspace that can be undone."""
