"""Koopa: what its document says, beyond names."""

import os

import pytest


@pytest.fixture
def kit(open_kit):
    return open_kit("koopa")


@pytest.mark.parametrize("content", ["x" * 5000 + "\n", "line\n" * 20_000, "\n\n", ""])
def test_a_file_is_read_completely(kit, put, content):
    put({"a.txt": content})
    assert kit.call("readFile", {"path": "a.txt"}).wire["data"] == {"path": "a.txt", "content": content}


def test_only_the_eight_codes_of_the_document_are_told(kit, put):
    put({"d/x": "1", "bin": b"\0", "big.txt": "x" * (10 * 1024 * 1024 + 1)})
    calls = [("deleteFile", "d"), ("readFile", "bin"), ("readFile", "big.txt")]
    codes = [kit.call(name, {"path": path}).wire["error"]["code"] for name, path in calls]
    assert codes == ["IOError", "ValidationError", "ValidationError"]


def test_new_files_and_folders_are_not_for_all(kit, ws):
    kit.call("writeFile", {"path": "a/b/c.txt", "content": "x"})
    modes = [(ws / path).stat().st_mode & 0o777 for path in ("a", "a/b", "a/b/c.txt")]
    assert modes == [0o750, 0o750, 0o600]


def test_files_are_listed_with_metadata(kit, put, ws):
    put({".h": "22"})
    (ws / "l").symlink_to(".h")
    os.utime(ws / ".h", (0, 0))
    (ws / ".h").chmod(0o600)
    data = kit.call("listFiles", {"path": "."}).wire["data"]
    assert (data["path"], data["count"], data["files"][0], data["files"][1]["target"]) == (
        ".",
        2,
        {
            "name": ".h",
            "path": ".h",
            "type": "file",
            "size": 2,
            "permissions": "0600",
            "modified": "1970-01-01T00:00:00+00:00",
        },
        ".h",
    )
