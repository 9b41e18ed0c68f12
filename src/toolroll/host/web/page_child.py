"""The child of `page`: limits itself, and writes the page on its stdin as Markdown."""

from __future__ import annotations

import gc
import resource
import sys
from contextlib import suppress


def main(url: str, show: str, cpu: str, memory: str) -> None:
    """Write a line with 1 or 0 for "whole" and the title, then the Markdown."""
    for which, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, int(cpu)), (resource.RLIMIT_AS, int(memory))):
        with suppress(ValueError, OSError):
            resource.setrlimit(which, (most, most))
    gc.disable()
    from toolroll.text.web.html.markdown import convert

    page = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        shown = convert(page, url, main=show == "main")
    except (MemoryError, RecursionError):
        sys.exit(1)
    sys.stdout.buffer.write(f"{int(shown.whole)}{shown.title[:500]}\n{shown.markdown}".encode("utf-8", "replace"))
