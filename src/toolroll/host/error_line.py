"""Write a line to stderr from any thread."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from toolroll.text.escape import escape_text


def write_error_line(label: str, text: str) -> None:
    """Write a line, with characters that control, hide or reorder text as escapes; nothing where stderr is closed."""
    # Not sys.stderr.write: a thread that holds its lock at exit would abort the interpreter.
    with suppress(OSError, ValueError, AttributeError):
        os.write(sys.stderr.fileno(), f"{label}: {escape_text(text)}\n".encode("utf-8", "backslashreplace"))
