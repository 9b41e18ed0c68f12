"""Files are classified before a search: text, binary, too big, unreadable, gone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolroll.host.files.root import Root
from toolroll.host.search.file_kind import FileKind, classify_file, is_binary
from toolroll.host.search.query import SearchRoot


@pytest.mark.parametrize(
    ("data", "sort"),
    [
        (b"", "text"),
        (b"plain\n", "text"),
        (b"\xff odd", "text"),
        (b"with a \0 in it", "binary"),
        (b"x" * 3_000_000 + b"\0", "binary"),
        (b"x" * 3_000_001, "too big"),
        ("wide\n".encode("utf-16"), "text"),
        (b"\xfe\xff" + "wide\n".encode("utf-16-be"), "text"),
        ("wide\0".encode("utf-16"), "binary"),
        (b"\xff\xfe" + "\u0100\u0001".encode("utf-16-le") * 700_000, "text"),  # two bytes that only look like a NUL
        (b"\xff\xfex\0" * 700_000 + b"\0\0", "binary"),
    ],
)
def test_what_a_file_is(data: bytes, sort: FileKind, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    with Root(str(tmp_path)) as root:
        ground = SearchRoot(root.fd, root.fd, (), False, [], None, float("inf"), opener=root.opener)
        assert classify_file(ground, "f", 3_000_001 - (sort == "too big")) == sort
        assert ground.ages == {"f": -(tmp_path / "f").stat().st_mtime_ns}


@pytest.mark.parametrize("size", [0, 1, 2, 5, 100, 1 << 20, 1 << 21])
def test_a_file_that_has_grown_meanwhile(size: int, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("wide\n\0".encode("utf-16"))
    (tmp_path / "g").write_bytes("wide\n\n".encode("utf-16"))
    for name, binary in (("f", True), ("g", False)):
        fd = os.open(tmp_path / name, os.O_RDONLY)
        assert is_binary(fd, size) == binary
        os.close(fd)


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "out").write_text("x")
    (tmp_path / "ws" / "link").symlink_to("../out")
    with Root(str(tmp_path / "ws")) as root:
        ground = SearchRoot(root.fd, root.fd, (), False, [], None, float("inf"), opener=root.opener)
        assert [classify_file(ground, path, 100) for path in ("none", "link", "../out")] == ["gone"] * 3


@pytest.mark.parametrize("kernel", [True, False])
def test_a_folder_that_was_swapped_for_a_link_is_not_looked_into(ws: Path, tmp_path: Path, kernel: bool) -> None:
    """The file table may name a file below a folder that is a link by now."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("SECRET\n")
    (ws / "d").symlink_to(outside)
    with Root(str(ws), kernel=kernel) as root:
        base = SearchRoot(root.fd, root.fd, (), False, [], None, float("inf"), opener=root.opener)
        assert os.path.exists(f"{ws}/d/a.txt")
        assert classify_file(base, "d/a.txt", 1_000) == "gone"
