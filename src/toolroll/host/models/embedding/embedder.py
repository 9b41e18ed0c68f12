"""Vectors of texts: from the model on this machine, or from a server with the embeddings protocol of OpenAI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from toolroll.host.models.embedding.model_files import MINILM, ModelStore, broken_error
from toolroll.host.models.embedding.server import UNREADABLE, ModelServer, ServerSettings
from toolroll.host.models.embedding.settings import EMBEDDINGS_KEY, EMBEDDINGS_MODEL, EMBEDDINGS_URL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toolroll.host.http.client import Client
    from toolroll.host.runtime.cancellation import CancelToken

    Floats = NDArray[np.float32]

_TEXTS_AT_ONCE = 64  # in one request
_REQUESTS_AT_ONCE = 4
_MAX_TEXT_CHARS = 8_000
_MAX_BYTES = 20_000_000
_SECONDS = 60.0
_DELAYS = (0.5, 2.0)
_HINT = f"set another; without {EMBEDDINGS_URL} the model on this machine is used"


class Embedder(Protocol):
    """Makes vectors. Any thread may use it."""

    @property
    def name(self) -> str:
        """The name of the model: vectors of different models cannot be compared."""

    @property
    def batch(self) -> int:
        """How many texts to give at once."""

    def embed(self, texts: Sequence[str], token: CancelToken) -> Floats:
        """A row of length 1 for each text, or of NaN where none can be had; ToolError if that fails."""


class LocalEmbedder:
    """The model on this machine, from `toolroll models fetch`, in this process."""

    name = MINILM.name
    batch = 8

    def __init__(self, models: ModelStore) -> None:
        """Load the model; ToolError if its files are damaged."""
        from toolroll.host.models.embedding.minilm import load_model

        models.check(MINILM)
        try:
            self._model = load_model(models.path(MINILM))
        except (KeyError, ValueError) as error:
            raise broken_error(MINILM, f"{models.path(MINILM)!r} cannot be used, because {error}") from error

    def embed(self, texts: Sequence[str], token: CancelToken) -> Floats:
        return self._model.embed(texts, token.check)


class RemoteEmbedder:
    """An embedding server that the operator names, its model and its key. Several requests go side by side."""

    batch = _TEXTS_AT_ONCE * _REQUESTS_AT_ONCE

    def __init__(self, http: Client, url: str, model: str, key: str = "") -> None:
        """ToolError if the URL is not allowed."""
        self.name = model
        names = (EMBEDDINGS_URL, EMBEDDINGS_MODEL, EMBEDDINGS_KEY, "made no vectors", _HINT)
        self._server = ModelServer(http, url, "embeddings", key, ServerSettings(*names, _MAX_BYTES, _SECONDS, _DELAYS))

    def embed(self, texts: Sequence[str], token: CancelToken) -> Floats:
        import numpy as np

        cut = [text[:_MAX_TEXT_CHARS] for text in texts]
        parts = [cut[at : at + _TEXTS_AT_ONCE] for at in range(0, len(cut), _TEXTS_AT_ONCE)]
        rows = [_read_vector(row) for answer in self._answers(parts, token) for row in answer]
        sizes = Counter(len(row) for row in rows if row is not None)
        vectors = np.full((len(rows), max(sizes, key=sizes.__getitem__, default=1)), np.nan, np.float32)
        for at, row in enumerate(rows):  # one of another length than most is broken
            if row is not None and len(row) == vectors.shape[1]:
                vectors[at] = row / np.linalg.norm(row)
        return vectors

    def _answers(self, parts: Sequence[list[str]], token: CancelToken) -> list[list[Any]]:
        if len(parts) < 2:
            return [self._request(part, token) for part in parts]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
            return list(pool.map(lambda part: self._request(part, token), parts))

    def _request(self, texts: list[str], token: CancelToken) -> list[Any]:
        answer = self._server.post({"model": self.name, "input": texts}, token)
        try:
            rows = {one["index"]: one["embedding"] for one in answer["data"]}
            return [rows[at] for at in range(len(texts))]
        except (KeyError, TypeError):
            raise self._server.error(UNREADABLE) from None


def _read_vector(given: Any) -> Floats | None:
    """The numbers of a vector as they were sent; None if they are not numbers, or all 0."""
    import numpy as np

    try:
        made = np.array(given, np.float32)
    except (ValueError, TypeError, OverflowError):
        return None
    return made if made.ndim == 1 and np.isfinite(made).all() and made.any() else None
