"""`toolroll map`: text, or a picture."""

from collections.abc import Callable
from pathlib import Path

Run = Callable[..., tuple[int, str, str]]


def test_a_map_as_text_and_as_a_picture(quick: Run, ws: Path) -> None:
    (ws / "a.py").write_text("def helper(): ...\n")
    (ws / "b.py").write_text("from a import helper\nhelper()\n")
    (ws / "notes.md").write_text("# Helper\n")
    status, out, _ = quick("map")
    assert (status, out.split("\n")[:2]) == (0, ["a.py", "  1 def helper()"])
    status, out, _ = quick("map", "--svg", "-")
    assert (status, out[:5], "<title>b.py uses a.py</title>" in out, "notes.md" in out) == (0, "<svg ", True, False)
    assert quick("map", "--svg", str(ws / "m.svg"))[:2] == (0, f"Wrote {ws / 'm.svg'}.\n")
    assert quick("map", "a.py", "--svg", "-")[::2] == (2, "toolroll: 'a.py' is a file. Name a folder.\n")
