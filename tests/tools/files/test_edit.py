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
    (call,) = kit.call("edit", {"path": "a", "old": "", "new": "y"}).error.suggest
    assert (call.name, call.arguments) == ("write", {"path": "a", "content": "y"})
    assert list(ws.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "new", "line"),
    [
        ("a = 1\n", "b = 2\n", 2),
        ("a = 1", "b = 2\n", 2),
        ('"""A."""\nfrom __future__ import annotations\n\nimport os\n', "import re\n", 4),
        ("a = 1\n", "import re\n", 2),
    ],
)
def test_an_empty_quote_offers_to_insert_and_never_to_write(kit, put, ws, text, new, line):
    put({"a.py": text})
    refused = kit.call("edit", {"path": "a.py", "old": "", "new": new})
    (call,) = refused.error.suggest
    relayed = {"name": "insert", "arguments": {"path": "a.py", "line": line, "content": new}}
    assert (call.name, call.arguments) == ("call_tool", relayed)
    assert "`write`" not in refused.text
    assert (ws / "a.py").read_text() == text
    assert kit.call(call.name, call.arguments).ok
    assert set((ws / "a.py").read_text().split("\n")) == {*text.split("\n"), *new.split("\n")}


@pytest.mark.parametrize(
    "arguments",
    [
        {"old": "zzz", "new": "y"},
        {"old": "x = 1", "new": "x = 1"},
        {"old": "zzz\nqqq", "new": "x = 1\ny = 2"},
        {"edits": [{"old": "x = 1", "new": "x = 2"}, {"old": "zzz", "new": "y"}]},
    ],
)
def test_where_no_edit_can_be_offered_a_look_at_the_file_is(kit, put, arguments):
    put({"sub/a.py": "x = 1\ny = 2\n"})
    (call,) = kit.call("edit", {"path": "sub/a.py", **arguments}).error.suggest
    assert (call.name, call.arguments["path"]) == ("read", "sub/a.py")
    assert "x = 1" in kit.call(call.name, call.arguments).text


def test_a_file_that_parses_no_more_is_told(kit, put):
    put({"a.py": "x = f(1)\n", "b.py": "x = (\n"})
    assert kit.call("edit", {"path": "a.py", "old": "(1)", "new": "(1"}).text.endswith(
        "a.py does not parse any more, line 1: '(' was never closed."
    )
    assert "parse" not in kit.call("edit", {"path": "b.py", "old": "x", "new": "y"}).text


def test_a_call_that_would_break_the_file_is_not_offered(kit, put):
    text = "def f(a):\n    b = 1\n    return a\n"
    put({"a.py": text, "a.txt": text})
    quote = {"old": "def f(a):\n    b = 2\n    return a", "new": "def f(a:\n    b = 2\n    return a"}
    assert kit.call("edit", {"path": "a.txt", **quote}).error.suggest[0].arguments["new"].startswith("def f(a:")
    assert [call.name for call in kit.call("edit", {"path": "a.py", **quote}).error.suggest] == ["read"]
    assert (
        kit.call("edit", {"path": "a.py", **quote, "new": quote["old"].replace("return a", "return b")}).error.suggest
        != ()
    )


@pytest.mark.parametrize(
    "line", ["# ... rest of code unchanged ...", "// ... existing code ...", "(rest of methods ...)"]
)
def test_a_line_that_stands_for_code_is_refused(kit, put, ws, line):
    put({"a.py": "def a():\n    return 1\n", "b.py": f"{line}\nx = 1\n", "c.md": "x\n"})
    for name, arguments in (
        ("edit", {"old": "return 1", "new": f"return 2\n{line}"}),
        ("write", {"content": f"x\n{line}\n"}),
    ):
        result = kit.call(name, {"path": "a.py", **arguments})
        assert (result.ok, "stands for code that is left out" in result.text) == (False, True), result.text
    assert kit.call("edit", {"path": "b.py", "old": f"{line}\nx = 1", "new": f"{line}\nx = 2"}).ok
    assert kit.call("write", {"path": "c.md", "content": line}).ok
    assert kit.call("edit", {"path": "a.py", "old": "return 1", "new": "return [...]  # ... existing"}).ok


def test_messages_use_the_words_of_the_dialect(open_kit, put):
    put({"a.txt": "x x\n"})
    arguments = {"path": "a.txt", "old_string": "x", "new_string": "y"}
    assert "set `all`" in open_kit("pigo").call("edit", arguments).text


@pytest.mark.parametrize("old", ["b = 2", "2", "= 2"])
def test_an_edit_that_is_sent_twice_changes_no_number_twice(kit, put, ws, old):
    put({"a.py": "a = 1\nb = 2\n"})
    call = {"path": "a.py", "old": old, "new": f"{old}2"}
    assert kit.call("edit", call).ok
    refused = kit.call("edit", call)
    assert (refused.error.code, (ws / "a.py").read_text()) == ("Conflict", "a = 1\nb = 22\n")
    meant = refused.error.suggest[0]
    assert kit.call(meant.name, meant.arguments).ok
    assert (ws / "a.py").read_text() == "a = 1\nb = 222\n", "the call that makes it once more"
