"""Replace text in a file."""

import pytest

from toolroll import ToolError
from toolroll.tools.files.edit import edit


def test_a_unique_text_is_replaced(ctx, put, ws):
    put({"a.py": "x = 1\ny = 2\n"})
    edited = edit(ctx, path="a.py", old="x = 1", new="x = 3")
    assert str(edited) == "Edited a.py (1 replaced in line 1).\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 3\n y = 2"
    assert (ws / "a.py").read_text() == "x = 3\ny = 2\n"


def test_ambiguous_text_is_refused(ctx, put, ws):
    put({"a.py": "x = 1\ny = 1\n"})
    with pytest.raises(ToolError, match="occurs 2 times"):
        edit(ctx, path="a.py", old="= 1", new="= 2")
    assert (ws / "a.py").read_text() == "x = 1\ny = 1\n"


def test_every_occurrence(ctx, put, ws):
    put({"a.py": "x = 1\ny = 1\n"})
    assert edit(ctx, path="a.py", old="= 1", new="= 2", replace_all=True).replacements == 2
    assert (ws / "a.py").read_text() == "x = 2\ny = 2\n"


def test_the_occurrence_nearest_to_a_line(ctx, put, ws):
    put({"a.py": "x = 1\n\n\ny = 1\n"})
    edit(ctx, path="a.py", old="= 1", new="= 2", near_line=4)
    assert (ws / "a.py").read_text() == "x = 1\n\n\ny = 2\n"


def test_a_missing_file_is_not_made(kit, ws):
    assert kit.call("edit", {"path": "a", "old": "x", "new": "y"}).error.code == "NotFound"
    assert kit.call("edit", {"path": "a", "old": "", "new": "y"}).error.code == "NotFound"
    assert list(ws.iterdir()) == []


def test_messages_use_the_words_of_the_dialect(open_kit, put):
    put({"a.txt": "x x\n"})
    arguments = {"path": "a.txt", "old_string": "x", "new_string": "y"}
    assert "set `all`" in open_kit("pigo").call("edit", arguments).text
