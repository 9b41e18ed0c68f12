"""Usage by tool as the console shows it."""

from __future__ import annotations

from toolroll import Kit
from toolroll.control.views import show


def test_usage_counts_calls_errors_and_tokens(kit: Kit) -> None:
    kit.call("write", {"path": "a.txt", "content": "x" * 4_000})
    texts = [kit.call("read", given).text for given in ({"path": "a.txt"}, {"path": "a.txt"}, {})]
    rows = {one["tool"]: one for one in show(kit, "usage", {})["tools"]}
    assert (rows["read"]["calls"], rows["read"]["errors"]) == (3, 1)
    assert rows["read"]["tokens"] == -(-sum(map(len, texts)) // 4)
    assert rows["read"]["seconds"] > 0
