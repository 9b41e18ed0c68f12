"""Embed in child processes at low priority: as many as the machine has idle cores, so that no call waits for it."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from toolroll.host.models.embedding.model_files import MINILM, ModelStore
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.host.runtime.launcher import PACKAGE, PIPE, AccessRules, ChildProcess, Launcher, module_paths
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_IDLE_SHARE = 0.6  # of the cores that others leave, from which on a further child is started
# A bare package module: a child needs little of what toolroll/__init__ imports.
_CHILD = """
import sys, types
package = sys.modules["toolroll"] = types.ModuleType("toolroll")
package.__path__ = [sys.argv[1]]
sys.path[:] = sys.argv[3:]
from toolroll.host.models.embedding.child import serve
serve(sys.argv[2])
"""


class ChildEmbedder:
    """The model on this machine, in children of this process. Safe for threads; one call at a time computes."""

    name = MINILM.name
    batch = 32

    def __init__(self, launcher: Launcher, models: ModelStore) -> None:
        """ToolError if the model's files are damaged."""
        models.check(MINILM)
        self._launcher = launcher
        self._folder = models.path(MINILM)
        self._turn = threading.Lock()
        self._children: list[_Child] = []
        self._running = 0

    def embed(self, texts: Sequence[str], token: CancelToken) -> Floats:
        import numpy as np

        from toolroll.host.models.embedding.minilm import SIZE

        made = np.empty((len(texts), SIZE), np.float32)
        with self._turn:
            order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # texts of one length go together
            self._running = count = min(self._count(), len(texts))
            while len(self._children) < count:
                self._children.append(_Child(self._launcher, self._folder))
            parts = [order[at::count] for at in range(count)]
            asked = list(zip(self._children, parts, strict=False))
            try:
                for child, part in asked:
                    child.send([texts[at] for at in part])
                for child, part in asked:
                    made[part] = np.frombuffer(child.receive(4 * SIZE * len(part), token), np.float32).reshape(-1, SIZE)
            except BaseException:
                self._close()  # a child may be in the middle of a text
                raise
        return made

    def close(self) -> None:
        with self._turn:
            self._close()

    def _close(self) -> None:
        children, self._children = self._children, []
        for child in children:
            child.close()

    def _count(self) -> int:
        """How many children may compute: one, and one for each further core that is idle."""
        cores = os.cpu_count() or 1
        others = max(0.0, os.getloadavg()[0] - self._running)
        return max(1, int(cores - others + 1 - _IDLE_SHARE))


class _Child:
    """One child, which computes what it is sent."""

    def __init__(self, launcher: Launcher, folder: str) -> None:
        words = [PACKAGE, folder, *module_paths()]
        self._process: ChildProcess = launcher.start_python(
            _CHILD, words, AccessRules((), read=(folder,)), stdin=PIPE, stdout=PIPE
        )

    def send(self, texts: Sequence[str]) -> None:
        import msgspec

        assert self._process.stdin is not None
        data = msgspec.json.encode(texts)
        rest = memoryview(len(data).to_bytes(4, "big") + data)
        try:
            while rest:
                rest = rest[os.write(self._process.stdin.fileno(), rest) :]
        except BrokenPipeError:
            raise _ended_error() from None

    def receive(self, count: int, token: CancelToken) -> bytes:
        assert self._process.stdout is not None
        out, parts = self._process.stdout.fileno(), []
        while count:
            token.check()
            if select.select([out], [], [], POLL_SECONDS)[0]:
                part = os.read(out, count)
                if not part:
                    raise _ended_error()
                parts.append(part)
                count -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.wait()


def _ended_error() -> ToolError:
    return ToolError(ErrorCode.EXECUTION, "The process that embeds ended: there may be too little memory for it.")
