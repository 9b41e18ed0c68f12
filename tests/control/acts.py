"""Acts as the page makes them: each names what was shown."""

from __future__ import annotations

from typing import Any

from toolroll import Kit
from toolroll.control.views import show


def act(kit: Kit, method: str, **params: Any) -> dict[str, Any]:
    """Look at the object of an act, and do it."""
    if "digest" in params:
        return show(kit, method, params)
    if method.startswith("job"):
        digest = next(one["digest"] for one in show(kit, "jobs", {})["jobs"] if one["id"] == params["id"])
    elif method == "undo":
        digest = show(kit, "journal_entry", {"number": params["number"]})["digest"]
    else:
        digest = show(kit, "journal", {})["digest"]
    return show(kit, method, {**params, "digest": digest})
