"""Put lines into a file."""


def test_lines_go_before_a_line(kit, put, ws):
    put({"a.txt": "1\n2\n"})
    result = kit.call("insert", {"path": "a.txt", "line": 2, "content": "new"})
    assert result.text == "Inserted 1 line into a.txt before line 2.\n@@ -1,2 +1,3 @@\n 1\n+new\n 2"
    assert (ws / "a.txt").read_text() == "1\nnew\n2\n"


def test_a_line_that_is_not_there(kit, put, ws):
    put({"a.txt": "1\n2\n"})
    result = kit.call("insert", {"path": "a.txt", "line": 9, "content": "new"})
    assert (result.error.code, "Use 1 to 3" in result.text) == ("ValidationError", True)
    assert (ws / "a.txt").read_text() == "1\n2\n"
