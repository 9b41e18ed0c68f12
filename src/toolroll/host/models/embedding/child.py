"""The child of `child_embedder`: embeds the texts that it is sent, at the lowest priority."""

from __future__ import annotations

import json
import os
import resource
import sys
from contextlib import suppress

_MAX_MEMORY_BYTES = 4 << 30
_LOWEST_PRIORITY = 19


def main(folder: str) -> None:
    """Answer each list of texts with the bytes of its vectors, until the parent closes the pipe."""
    from toolroll.host.models.embedding.minilm import load_model

    os.nice(_LOWEST_PRIORITY)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    model = load_model(folder)
    source, out = sys.stdin.buffer, sys.stdout.buffer
    while len(head := source.read(4)) == 4:
        texts: list[str] = json.loads(source.read(int.from_bytes(head, "big")))
        out.write(model.embed(texts).tobytes())
        out.flush()
