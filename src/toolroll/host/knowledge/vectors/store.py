"""What keeps vectors: the one face of the embedded store and of a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toolroll.host.runtime.cancellation import CancelToken

    Floats = NDArray[np.float32]


class VectorStore(Protocol):
    """Vectors of the length 1 by number, those of each model for themselves. Any thread may use it.

    Each method raises a ToolError that says what to do when the store cannot be used.
    """

    name: str
    """Of the store: what one holds says nothing about another."""

    def check(self, token: CancelToken) -> None:
        """ToolError if it cannot be used now."""

    def put(self, model: str, vectors: Mapping[int, Floats], token: CancelToken) -> None:
        """Keep vectors by their numbers, in the place of older ones; of all, where those are of another length."""

    def drop(self, numbers: Sequence[int], token: CancelToken) -> None:
        """Forget the vectors with these numbers, of all models."""

    def search(self, model: str, vector: Floats, limit: int, token: CancelToken) -> list[tuple[int, float]]:
        """The numbers of the nearest vectors with their cosines, the nearest first.

        None is passed over for another that is further away by 0.0001; those of another length are as none.
        """

    def count(self, model: str, token: CancelToken) -> int:
        """How many vectors of a model there are."""

    def clear(self, token: CancelToken) -> None:
        """Forget all vectors of all models."""

    def close(self) -> None:
        """Give back what is held open; it is opened again when it is needed."""
