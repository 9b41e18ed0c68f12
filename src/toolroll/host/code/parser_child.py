"""The child that parses, see `parsing`: it answers requests, and imports only what these need."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import BinaryIO

Work = Callable[[str, bytes, str], bytes]
"""From a language, a source and what else there is to say to a packed answer."""

_CPU_SECONDS = 3.0  # for one source; two megabytes of ordinary code take less than one
_IDLE_SECONDS = 120
_MEMORY = 3 << 30


def serve() -> None:
    """The child: answer requests until there are no more. Time and memory are its own to watch."""
    import gc
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # not to be had on macOS
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    gc.disable()  # nothing here is in a cycle
    source, out = sys.stdin.buffer, sys.stdout.buffer
    while True:
        signal.alarm(_IDLE_SECONDS)
        head = source.read(4)
        signal.alarm(0)
        if len(head) < 4:
            return
        out.writelines(_answers(json.loads(source.read(int.from_bytes(head, "big"))), source))
        out.flush()


def _answers(request: tuple[str, str, list[tuple[str, int]]], source: BinaryIO) -> list[bytes]:
    """What came of each source of a request: a line that tells how long the answers are, and these."""
    what, more, sizes = request
    told = [(language, source.read(size)) for language, size in sizes]  # all first: who writes them waits for that
    work = _work(what)
    made = [_answered(work, language, one, more) for language, one in told]
    head = json.dumps([(code, message, len(answer)) for code, message, answer in made]).encode()
    return [len(head).to_bytes(4, "big"), head, *(answer for _, _, answer in made)]


@cache
def _work(what: str) -> Work:
    """What is asked for; only that is imported."""
    if what == "matches":
        from toolroll.text.code.syntax.patterns import matches

        return lambda language, source, pattern: json.dumps(matches(language, source, pattern)).encode()
    from toolroll.text.code.syntax import tags

    if what == "sheet":
        from toolroll.text.code.map import file_facts as sheet

        return lambda language, source, _: sheet.pack(
            sheet.made(source.decode(), tags.names(language, source) if language else None)
        )
    from toolroll.text.code.syntax.model import pack

    read = tags.tags if what == "tags" else tags.definitions
    return lambda language, source, _: pack(read(language, source))


def _answered(work: Work, language: str, source: bytes, more: str) -> tuple[str, str, bytes]:
    signal.setitimer(signal.ITIMER_PROF, _CPU_SECONDS)  # kills: nobody handles the signal
    try:
        return "", "", work(language, source, more)
    except Exception as error:
        from toolroll.result import ToolError  # which takes longer to import than a small source to parse

        if not isinstance(error, ToolError):
            raise
        return str(error.code), error.message, b""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
