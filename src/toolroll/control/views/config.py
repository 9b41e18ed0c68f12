"""The effective settings of a kit, and where each value comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import msgspec

from toolroll import dialects
from toolroll.host.mcp.config import default_path
from toolroll.host.settings import Configuration, Settings, configure
from toolroll.kit import Kit
from toolroll.plugins import load_plugins
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy
from toolroll.policy.secrets import Redaction, is_secret
from toolroll.text.escape import escape_line

Row = tuple[str, Any, str]
"""A key, its value, and where it comes from."""


def show_settings(kit: Kit) -> dict[str, Any]:
    """One line a key. What the process was started with, and no file says, is from "this process"."""
    found, hide = configure(kit.workspace), Redaction(os.environ)
    configured = {key: value for key, value, _ in make_rows(found, kit.workspace)}
    rows = _make_rows(kit.settings, found.origins, kit.policy, kit.limits)
    lines = (
        f"{key} = {hide(show_value(value))}  # {origin if value == configured.get(key) else 'this process'}"
        for key, value, origin in rows
    )
    return {"text": "\n".join([*lines, *(f"# {one}" for one in found.hints)])}


def show_value(value: Any) -> str:
    """A value of the settings on one line."""
    return escape_line(msgspec.json.encode(value).decode())


def make_rows(found: Configuration, workspace: str) -> Iterator[Row]:
    """Every key with its effective value and its origin; what looks like a secret is hidden."""
    settings = found.settings
    profile = dialects.load(settings.dialect, load_plugins(workspace, settings.plugins)).profile
    limits = replace(profile.limits, **settings.limits)
    return _make_rows(settings, found.origins, settings.build_policy(), limits)


def _make_rows(settings: Settings, origins: Mapping[str, str], policy: Policy, limits: Limits) -> Iterator[Row]:
    values = msgspec.to_builtins(settings)
    given = values["environment"]["set"]
    values["environment"]["set"] = {name: "(hidden)" if is_secret(name, text) else text for name, text in given.items()}
    values["mcp"] = list(settings.mcp) if isinstance(settings.mcp, dict) else settings.mcp or default_path()
    for key, value in values.items():
        if key == "limits":
            plain = Limits()
            for one in fields(limits):
                by_dialect = getattr(limits, one.name) != getattr(plain, one.name)
                default = f"dialect {settings.dialect}" if by_dialect else "default"
                yield f"limits.{one.name}", getattr(limits, one.name), origins.get(f"limits.{one.name}", default)
        elif isinstance(value, dict):
            yield from ((f"{key}.{name}", one, origins.get(f"{key}.{name}", "default")) for name, one in value.items())
        else:
            by_policy = value is None and hasattr(policy, key)
            yield key, getattr(policy, key) if by_policy else value, origins.get(key, "default")
