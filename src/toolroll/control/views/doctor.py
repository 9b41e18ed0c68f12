"""What this machine has of what toolroll can use, for work in one workspace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolroll.host.doctor import Fact, facts
from toolroll.host.settings import FILE, Settings, SettingsError, config_path, configure
from toolroll.kit import Kit


def list_facts(kit: Kit) -> dict[str, Any]:
    """A row for each fact; its state is "ok", "absent", or "missing" for a requirement."""
    return {
        "rows": [
            {
                "section": one.section,
                "name": one.name,
                "state": "ok" if one.present else "missing" if one.required else "absent",
                "text": f"{one.detail}; to add it: {one.hint}" if one.hint else one.detail,
            }
            for one in collect_facts(kit.workspace)
        ]
    }


def collect_facts(workspace: str) -> list[Fact]:
    """All facts: about the machine, the configuration and plugins."""
    from toolroll import __version__

    found = facts(workspace, __version__)
    found[3:3] = _check_configuration(workspace)
    return found


def _check_configuration(workspace: str) -> list[Fact]:
    """Whether the configuration is right, and which plugins it loads."""
    try:
        found = configure(workspace)
    except SettingsError as error:
        return [Fact("base", "configuration", False, str(error), required=True)]
    detail = f"{len(found.origins)} settings; see: toolroll config" if found.origins else f"none; {config_path(FILE)}"
    fact = Fact("base", "configuration", True, " ".join((detail, *found.hints)), required=True)
    return [fact, *_check_plugins(workspace, found.settings)]


def _check_plugins(workspace: str, settings: Settings) -> Iterator[Fact]:
    from toolroll import dialects
    from toolroll import tools as builtin
    from toolroll.plugins import combine, load_plugins
    from toolroll.registry import modules_in

    plugins = load_plugins(workspace, settings.plugins)
    own = dialects.load(settings.dialect, plugins).entries if plugins else ()
    taken = modules_in(builtin.__name__).keys() if own is None else {one.name for one in own}
    for one in plugins:
        added = ", ".join(each.name for each in (*one.entries, *one.dialects))
        yield Fact("base", "plugin", not one.problem, one.problem or f"{one.origin}: {added}")
    good = [one for one in plugins if not one.problem]
    for problem in combine(good, taken, dialects.names(), f"the dialect {settings.dialect}").problems:
        yield Fact("base", "plugin", False, problem)
