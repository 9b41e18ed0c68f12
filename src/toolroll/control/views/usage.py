"""Calls, time and tokens of a kit by tool."""

from __future__ import annotations

from typing import Any

from toolroll.kit import Kit


def list_tools(kit: Kit) -> dict[str, Any]:
    """The tools that were called, those that took longest first."""
    found = sorted(kit.metrics().items(), key=lambda item: -item[1].seconds)
    return {
        "tools": [
            {"tool": name, "calls": one.calls, "errors": one.errors, "seconds": one.seconds, "tokens": one.tokens}
            for name, one in found
        ]
    }
