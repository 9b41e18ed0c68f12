"""Check in a child with limits whether a Python text parses: hostile sources exhaust memory."""

from __future__ import annotations

import os
import time

from toolroll.host.runtime.launcher import PIPE, Launcher
from toolroll.host.runtime.state import create_nameless_file

_MOST_BYTES = 1 << 20
_SECONDS = 5.0
_CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
import ast
try:
    ast.parse(sys.stdin.buffer.read())
except SyntaxError as error:
    print(f"line {error.lineno}: {error.msg}")
except (ValueError, RecursionError, MemoryError) as error:
    print(f"{type(error).__name__}: {error}")
"""


def find_syntax_error(path: str, data: bytes, launcher: Launcher) -> str | None:
    """Where a Python file does not parse, in words; None when it does, or is not Python, or too large to ask."""
    if not path.endswith((".py", ".pyi")) or len(data) > _MOST_BYTES:
        return None
    from toolroll.host.runtime import processes

    fd = create_nameless_file(data)
    try:
        process = launcher.start_python(_CHILD, stdin=fd, stdout=PIPE)
        with processes.stream(process, deadline=time.monotonic() + _SECONDS) as chunks:
            said = b"".join(chunks).decode(errors="replace").strip()
            return said or (None if chunks.status == 0 else "the parser gave up on it")
    except TimeoutError:
        return "the parser did not come to an end"
    finally:
        os.close(fd)
