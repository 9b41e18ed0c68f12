from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from toolroll import Kit
from toolroll.text.patch.write import FileVersions, build_patch, list_omitted

ROWS = [
    (b"a\nb\nc\n", b"a\nB\nc\n"),
    (b"a\nb", b"a\nc"),
    (b"a\nb", b"a\nb\n"),
    (b"a\nb\n", b"a\nb"),
    (b"a\r\nb\r\n", b"a\r\nB\r\n"),
    (b"a\x0cb\rc\nd\n", b"a\x0cb\rc\nD\n"),
    ("ä\u2028b\nc\n".encode(), "ö\u2028b\nc\n".encode()),
    (b"caf\xe9\nx\n", b"caf\xe9\ny\n"),
    (None, b"new\n"),
    (None, b"new"),
    (None, b""),
    (b"old\n", None),
    (b"", b"x\n"),
    (b"".join(b"%d\n" % n for n in range(100)), b"".join(b"%d\n" % n for n in range(100) if n not in (3, 50, 99))),
]


@pytest.mark.parametrize("name", ["a.txt", "sub/ä file.txt"])
@pytest.mark.parametrize(("before", "after"), ROWS)
def test_git_applies_it(ws: Path, name: str, before: bytes | None, after: bytes | None) -> None:
    path = ws / name
    if before is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(before)
    made = build_patch([FileVersions(name, before, after)]).encode("utf-8", "surrogateescape")
    subprocess.run(["git", "apply", "-"], input=made, cwd=ws, check=True)
    assert (path.read_bytes() if path.exists() else None) == after


def test_permissions(ws: Path) -> None:
    (ws / "a.sh").write_text("x\n")
    made = build_patch(
        [FileVersions("a.sh", b"x\n", b"y\n", 0o644, 0o755), FileVersions("b.sh", None, b"z\n", 0o644, 0o755)]
    )
    subprocess.run(["git", "apply", "-"], input=made.encode(), cwd=ws, check=True)
    assert [(ws / name).stat().st_mode & 0o111 != 0 for name in ("a.sh", "b.sh")] == [True, True]


def test_our_own_tool_applies_it(kit: Kit, ws: Path) -> None:
    (ws / "a.txt").write_text("a\nb\n")
    made = build_patch([FileVersions("a.txt", b"a\nb\n", b"a\nB"), FileVersions("n.txt", None, b"n\n")])
    assert kit.call("patch", {"patch": made}).ok
    assert [(ws / name).read_text() for name in ("a.txt", "n.txt")] == ["a\nB", "n\n"]


def test_what_no_patch_can_tell() -> None:
    changes = [
        FileVersions("a.bin", b"\0", b"\1\0"),
        FileVersions('q"uote', None, b"x\n"),
        FileVersions("fine", None, b"x\n"),
    ]
    assert list_omitted(changes) == ["a.bin", 'q"uote']
    assert (
        build_patch(changes)
        == "diff --git a/fine b/fine\nnew file mode 100644\n--- /dev/null\n+++ b/fine\n@@ -0,0 +1 @@\n+x\n"
    )
