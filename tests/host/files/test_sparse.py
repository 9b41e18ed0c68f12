"""Files of a nominal size that no memory has: read in parts or refused, soon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SIZE = 1 << 40
_CALL = """
import json, os, resource, sys
from toolroll import Kit
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
with Kit(sys.argv[1], state_dir=sys.argv[2]) as kit:
    for name, arguments in json.loads(sys.argv[3]):
        found = kit.call(name, arguments)
        print(json.dumps([name, found.status, found.error.code if found.error else "", found.text[:300]]))
status = open("/proc/self/status").read()  # the peak in rusage is also that of the process which started us
print(json.dumps([sum(os.times()[:4]), int(status.partition("VmHWM:")[2].split()[0]) // 1024]))
"""
CALLS = [
    [
        ("read", {"path": "big.py"}),
        ("read", {"path": "big.py", "offset": 9_000_000, "limit": 2}),
        ("read", {"path": "big.py", "offset": 8_002, "limit": 3}),
        ("read", {"path": "none.bin"}),
        ("stat", {"path": "big.py"}),
        ("ls", {}),
        ("find", {"pattern": "*"}),
    ],
    [
        ("grep", {"pattern": "needle"}),
        ("grep", {"pattern": "absent"}),
        ("grep", {"pattern": "needle", "path": "big.py"}),
        ("references", {"symbol": "needle"}),
        ("repo_map", {}),
    ],
    [
        ("write", {"path": "big.py", "content": "x"}),
        ("edit", {"path": "big.py", "old": "needle", "new": "x"}),
        ("insert", {"path": "big.py", "line": 1, "text": "x"}),
        ("copy", {"source": "big.py", "target": "c"}),
        ("move", {"source": "big.py", "target": "c"}),
        ("delete", {"path": "big.py"}),
        ("multiedit", {"pattern": "*.py", "find": "needle", "replace": "x"}),
        ("patch", {"patch": "--- a/big.py\n+++ b/big.py\n@@ -1 +1 @@\n-needle\n+x\n"}),
    ],
    [
        ("outline", {}),
        ("outline", {"path": "big.py"}),
        ("symbols", {}),
        ("rag", {"action": "add_document", "path": "big.md"}),
        ("note", {"action": "list"}),
    ],
]


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    ws = tmp_path / "ws"
    (ws / ".toolroll/notes").mkdir(parents=True)
    for name in ("big.py", "big.md", "package.json", ".gitignore", ".toolroll/notes/n.md"):
        (ws / name).write_bytes(b"x = 1  # needle\n" * 8_000)
    (ws / "none.bin").touch()
    for path in ws.rglob("*"):
        if path.is_file():
            try:
                os.truncate(path, SIZE)
            except OSError:
                pytest.skip("this file system holds no sparse file of 1 TiB")
    (ws / "small.py").write_text("needle()\n")
    return ws


@pytest.mark.skipif(sys.platform != "linux", reason="it bounds the memory of a process")
@pytest.mark.parametrize("calls", CALLS, ids=["looking", "searching", "writing", "understanding"])
def test_a_sparse_file_takes_neither_its_size_nor_long(sparse: Path, tmp_path: Path, calls: list[object]) -> None:
    words = [sys.executable, "-c", _CALL, str(sparse), str(tmp_path / "state"), json.dumps(calls)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    *answers, (seconds, megabytes) = map(json.loads, ran.stdout.splitlines())
    assert len(answers) == len(calls)
    assert megabytes < 256
    assert seconds < 40
