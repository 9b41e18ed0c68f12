"""The parser child of `parser_pool`: answers requests, and imports only what these need."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import BinaryIO

Work = Callable[[str, bytes, str], bytes]  # from language, source and a further argument to a packed answer

_SOURCE_CPU_S = 3.0  # for one source; two megabytes of ordinary code take less than one second
_IDLE_TIMEOUT_S = 120
_MAX_MEMORY_BYTES = 3 << 30
_MAX_FAULT_CHARS = 300
FAULT = "fault"
"""In place of an error code: the parser itself does not work, such as one of another version than its grammars."""


def main(priority: str = "") -> None:
    """Answer requests until the parent closes the pipe. Limits its own time and memory; `idle`: the lowest priority."""
    import gc
    import os
    import resource

    if priority == "idle":
        os.nice(19)

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    gc.disable()  # nothing here is in a cycle
    source, out = sys.stdin.buffer, sys.stdout.buffer
    while True:
        signal.alarm(_IDLE_TIMEOUT_S)
        head = source.read(4)
        signal.alarm(0)
        if len(head) < 4:
            return
        out.writelines(_answers(json.loads(source.read(int.from_bytes(head, "big"))), source))
        out.flush()


def _answers(request: tuple[str, str, list[tuple[str, int]]], source: BinaryIO) -> list[bytes]:
    """The answers to a request: a header with their lengths, and their bytes."""
    what, more, sizes = request
    sources = [(language, source.read(size)) for language, size in sizes]  # all: the parent waits until they are read
    work = _work(what)
    made = [_answer(work, language, one, more) for language, one in sources]
    head = json.dumps([(code, message, len(answer)) for code, message, answer in made]).encode()
    return [len(head).to_bytes(4, "big"), head, *(answer for _, _, answer in made)]


@cache
def _work(what: str) -> Work:
    """The function for a kind of request; imports only what it needs."""
    if what == "matches":
        from toolroll.text.code.syntax.patterns import matches

        return lambda language, source, pattern: json.dumps(matches(language, source, pattern)).encode()
    from toolroll.text.code.syntax import tags

    if what == "facts":
        from toolroll.text.code.map.file_facts import make_facts, pack

        def facts(language: str, source: bytes, _: str) -> bytes:
            return pack(make_facts(source.decode(), tags.names(language, source) if language else None))

        return facts
    from toolroll.text.code.syntax import model

    read = tags.tags if what == "tags" else tags.definitions
    return lambda language, source, _: model.pack(read(language, source))


def _answer(work: Work, language: str, source: bytes, more: str) -> tuple[str, str, bytes]:
    signal.setitimer(signal.ITIMER_PROF, _SOURCE_CPU_S)  # the signal is not handled, so it kills
    try:
        return "", "", work(language, source, more)
    except Exception as error:
        from toolroll.result import ToolError  # which takes longer to import than a small source to parse

        if isinstance(error, ToolError):
            return str(error.code), error.message, b""
        return FAULT, f"{type(error).__name__}: {error}"[:_MAX_FAULT_CHARS], b""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
