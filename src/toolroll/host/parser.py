"""The child that parses, see `parsing`: it answers requests, and imports only what these need."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from toolroll.result import ToolError

Work = Callable[[str, bytes, str], Any]
"""From a language, a source and what else there is to say to an answer."""

_CPU_SECONDS = 3.0  # for one source; two megabytes of ordinary code take less than one
_IDLE_SECONDS = 120
_MEMORY = 3 << 30


def serve() -> None:
    """The child: answer requests until there are no more. Time and memory are its own to watch."""
    import gc
    import resource

    import msgspec

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
        what, more, sources = msgspec.msgpack.decode(source.read(int.from_bytes(head, "big")))
        work = _work(what)
        made = [_answered(work, language, one, more) for language, one in sources]
        answer = msgspec.msgpack.encode(made)
        out.write(len(answer).to_bytes(4, "big") + answer)
        out.flush()


@cache
def _work(what: str) -> Work:
    """What is asked for; only that is imported."""
    if what == "matches":
        from toolroll.text.structure.patterns import matches

        return matches
    from toolroll.text.structure import tags

    if what == "sheet":
        from toolroll.text.rank import sheet

        return lambda language, source, _: sheet.made(
            source.decode(), tags.names(language, source) if language else None
        )
    read = tags.tags if what == "tags" else tags.definitions
    return lambda language, source, _: read(language, source)


def _answered(work: Work, language: str, source: bytes, more: str) -> tuple[str, str, Any]:
    signal.setitimer(signal.ITIMER_PROF, _CPU_SECONDS)  # kills: nobody handles the signal
    try:
        return "", "", work(language, source, more)
    except ToolError as error:
        return str(error.code), error.message, None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
