"""Replace lines of a file."""


def test_a_range_is_replaced(kit, put, ws):
    put({"a.txt": "1\n2\n3\n"})
    result = kit.call("replace_lines", {"path": "a.txt", "start": 2, "end": 3, "content": "both\n"})
    assert result.text == "Replaced lines 2-3 of a.txt by 1 line.\n@@ -1,3 +1,2 @@\n 1\n-2\n-3\n+both"
    assert (ws / "a.txt").read_text() == "1\nboth\n"


def test_empty_content_deletes(kit, put, ws):
    put({"a.txt": "1\n2\n3\n"})
    assert kit.call("replace_lines", {"path": "a.txt", "start": 1, "end": 2, "content": ""}).ok
    assert (ws / "a.txt").read_text() == "3\n"


def test_a_range_that_is_not_there(kit, put, ws):
    put({"a.txt": "1\n"})
    assert (
        kit.call("replace_lines", {"path": "a.txt", "start": 1, "end": 2, "content": ""}).error.code
        == "ValidationError"
    )
    assert (ws / "a.txt").read_text() == "1\n"
