"""Show several files."""


def test_one_that_cannot_be_read_is_told(kit, put):
    put({"a": "1\n", "d/b": b"\0\1"})
    data = kit.call("read_several", {"paths": ["a", "none", "d/b", "../x"]}).data
    assert [(one["text"], bool(one["error"])) for one in data["files"]] == [
        ("1\n", False),
        ("", True),
        ("", True),
        ("", True),
    ]
