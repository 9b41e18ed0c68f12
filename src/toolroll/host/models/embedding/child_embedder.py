"""Embed in child processes at low priority: as many as the machine has idle cores, so that no call waits for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolroll.host.models.embedding.model_files import MINILM, ModelStore
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.launcher import AccessRules, Launcher
from toolroll.host.runtime.python_child import PythonChild
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_CHILD_MODULE = "toolroll.host.models.embedding.child"
_IDLE_SHARE = 0.6  # of the cores that others leave, from which on a further child is started


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
        self._children: list[PythonChild] = []
        self._running = 0

    def embed(self, texts: Sequence[str], token: CancelToken) -> Floats:
        import msgspec
        import numpy as np

        from toolroll.host.models.embedding.minilm import SIZE

        made = np.empty((len(texts), SIZE), np.float32)
        with self._turn:
            order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # texts of one length go together
            self._running = count = min(self._count(), len(texts))
            while len(self._children) < count:
                access = AccessRules((), read=(self._folder,))
                self._children.append(PythonChild(self._launcher, _CHILD_MODULE, [self._folder], access))
            parts = [order[at::count] for at in range(count)]
            asked = list(zip(self._children, parts, strict=False))
            try:
                for child, part in asked:
                    child.send(msgspec.json.encode([texts[at] for at in part]))
                for child, part in asked:
                    made[part] = np.frombuffer(child.receive(4 * SIZE * len(part), token), np.float32).reshape(-1, SIZE)
            except EOFError:
                self._close()
                raise _ended_error() from None
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


def _ended_error() -> ToolError:
    return ToolError(ErrorCode.EXECUTION, "The process that embeds ended: there may be too little memory for it.")
