"""Replace lines of a file."""

import pytest


def test_a_range_is_replaced(kit, put, ws):
    put({"a.txt": "1\n2\n3\n"})
    result = kit.call("replace_lines", {"path": "a.txt", "start": 2, "end": 3, "content": "both\n"})
    assert result.text == "Replaced lines 2-3 of a.txt by 1 line.\n@@ -1,3 +1,2 @@\n 1\n-2\n-3\n+both"
    assert (ws / "a.txt").read_text() == "1\nboth\n"


def test_empty_content_deletes(kit, put, ws):
    put({"a.txt": "1\n2\n3\n"})
    assert kit.call("replace_lines", {"path": "a.txt", "start": 1, "end": 2, "content": ""}).ok
    assert (ws / "a.txt").read_text() == "3\n"


@pytest.mark.parametrize(
    ("text", "start", "made"),
    [("1\n2\n", 2, "1\nnew\n"), ("1\n2\n", 3, "1\n2\nnew\n"), ("1\r\n2", 3, "1\r\n2\r\nnew")],
)
def test_a_range_that_ends_beyond_the_file_offers_the_call_up_to_its_end(kit, put, ws, text, start, made):
    put({"a.txt": text.encode()})
    refused = kit.call("replace_lines", {"path": "a.txt", "start": start, "end": 9, "content": "new\n"})
    (call,) = refused.error.suggest
    assert (ws / "a.txt").read_bytes() == text.encode()
    assert kit.call(call.name, call.arguments).ok
    assert (ws / "a.txt").read_bytes().rstrip() == made.encode().rstrip()


def test_a_range_that_is_not_there(kit, put, ws):
    put({"a.txt": "1\n"})
    assert (
        kit.call("replace_lines", {"path": "a.txt", "start": 1, "end": 2, "content": ""}).error.code
        == "ValidationError"
    )
    assert (ws / "a.txt").read_text() == "1\n"
