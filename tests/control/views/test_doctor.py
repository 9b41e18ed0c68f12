"""Facts about the machine as the console shows them."""

from __future__ import annotations

from toolroll import Kit
from toolroll.control.views import show


def test_facts(kit: Kit) -> None:
    rows = {one["name"]: one for one in show(kit, "doctor", {})["rows"]}
    assert (rows["Python"]["state"], rows["configuration"]["section"]) == ("ok", "base")
    assert {one["state"] for one in rows.values()} <= {"ok", "absent", "missing"}
