"""Vectors of texts: from the model on this machine, or from a server with the embeddings protocol of OpenAI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from toolroll.host.models.embedding.model_files import MINILM, ModelStore, broken_error
from toolroll.host.models.embedding.server import UNREADABLE, ModelServer, ServerSettings
from toolroll.host.models.embedding.settings import EMBEDDINGS_KEY, EMBEDDINGS_MODEL, EMBEDDINGS_URL
from toolroll.host.runtime import numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toolroll.host.http.client import Client
    from toolroll.host.models.embedding.minilm import MiniLM, WordPiece
    from toolroll.host.runtime.cancellation import CancelToken

    Floats = NDArray[np.float32]

_BATCH_TOKENS = 1024  # through the model together
_TEXTS_AT_ONCE = 64  # in one request
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

    def embed(self, texts: Sequence[str], token: CancelToken) -> Floats:
        """A row of length 1 for each text; ToolError if that fails."""


class LocalEmbedder:
    """The model on this machine, from `toolroll models fetch`."""

    def __init__(self, model: MiniLM, words: WordPiece) -> None:
        self._model = model
        self._words = words

    @property
    def name(self) -> str:
        return MINILM.name

    @classmethod
    def load(cls, models: ModelStore) -> LocalEmbedder:
        """Load the model; ToolError if its files are damaged."""
        from toolroll.host.models.embedding.minilm import MiniLM, WordPiece, load_tensors

        models.check(MINILM)
        with open(models.path(MINILM, "vocab.txt"), encoding="utf-8") as file:
            vocabulary = file.read().splitlines()
        path = models.path(MINILM, "model.safetensors")
        try:
            return cls(MiniLM(load_tensors(path)), WordPiece(vocabulary))
        except (KeyError, ValueError) as error:
            raise broken_error(MINILM, f"{path!r} cannot be used, because {error}") from error

    def embed(self, texts: Sequence[str], token: CancelToken) -> Floats:
        import numpy as np

        from toolroll.host.models.embedding.minilm import SIZE, TOKENS

        numbers = [self._words.numbers(text, TOKENS) for text in texts]
        vectors = np.empty((len(texts), SIZE), np.float32)
        batch: list[int] = []
        for at in range(len(numbers)):
            batch.append(at)
            full = sum(len(numbers[one]) for one in batch) >= _BATCH_TOKENS
            if full or at + 1 == len(numbers):
                token.check()
                with numeric.one_thread():
                    vectors[batch] = self._model.vectors([numbers[one] for one in batch])
                batch = []
        return vectors


class RemoteEmbedder:
    """An embedding server that the operator names, its model and its key."""

    def __init__(self, http: Client, url: str, model: str, key: str = "") -> None:
        """ToolError if the URL is not allowed."""
        self.name = model
        names = (EMBEDDINGS_URL, EMBEDDINGS_MODEL, EMBEDDINGS_KEY, "made no vectors", _HINT)
        self._server = ModelServer(http, url, "embeddings", key, ServerSettings(*names, _MAX_BYTES, _SECONDS, _DELAYS))

    def embed(self, texts: Sequence[str], token: CancelToken) -> Floats:
        import numpy as np

        rows: list[Any] = []
        for at in range(0, len(texts), _TEXTS_AT_ONCE):
            rows += self._request([text[:_MAX_TEXT_CHARS] for text in texts[at : at + _TEXTS_AT_ONCE]], token)
        try:
            vectors = np.array(rows, np.float32)
            if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
                raise ValueError
        except (ValueError, TypeError):
            raise self._server.error("its vectors are not numbers, or not all of one length") from None
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.maximum(lengths, np.finfo(np.float32).tiny)
        return vectors

    def _request(self, texts: list[str], token: CancelToken) -> list[Any]:
        answer = self._server.post({"model": self.name, "input": texts}, token)
        try:
            rows = {one["index"]: one["embedding"] for one in answer["data"]}
            return [rows[at] for at in range(len(texts))]
        except (KeyError, TypeError):
            raise self._server.error(UNREADABLE) from None
