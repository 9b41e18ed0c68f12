"""Tell about a file or folder."""

import os


def test_a_text_file(kit, put, ws):
    put({"a.txt": "1\r\n2\r\n"})
    (ws / "a.txt").chmod(0o640)
    os.utime(ws / "a.txt", (0, 86400))
    data = kit.call("stat", {"path": "a.txt"}).data
    assert data.pop("accessed") == "1970-01-01T00:00:00+00:00"
    assert data.pop("changed") > "2026"
    assert data == {
        "path": "a.txt", "kind": "file", "size": 6, "modified": "1970-01-02T00:00:00+00:00", "mode": "0640",
        "lines": 2, "encoding": "utf-8", "line_ending": "CRLF", "target": None,
    }  # fmt: skip


def test_other_things(kit, put, ws):
    put({"b": b"\0\1", "d/x": ""})
    (ws / "l").symlink_to("../outside")
    found = {name: kit.call("stat", {"path": name}).data for name in ("b", "d", "l", ".")}
    assert [(one["kind"], one["lines"]) for one in found.values()] == [
        ("file", None), ("directory", None), ("link", None), ("directory", None),
    ]  # fmt: skip
    assert found["l"]["target"] == "../outside"
    assert kit.call("stat", {"path": "none"}).error.code == "NotFound"


def test_looking_does_not_count_as_reading(open_kit, put):
    put({"a.txt": "alpha\n"})
    kit = open_kit("cdd")
    kit.call("glob", {"pattern": "*"})
    assert kit.call("edit", {"file_path": "a.txt", "old_string": "a", "new_string": "b"}).error.code == "Conflict"
