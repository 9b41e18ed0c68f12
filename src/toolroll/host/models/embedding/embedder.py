"""What makes vectors of texts: the model on this machine, or a server that speaks as OpenAI's does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from toolroll.host.http.deadline import Patience
from toolroll.host.http.request import prepare
from toolroll.host.models.embedding.model_files import MINILM, Models, broken
from toolroll.host.models.embedding.settings import KEY, MODEL, URL
from toolroll.host.runtime import numeric
from toolroll.policy import urls
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toolroll.host.http.client import Client, Response
    from toolroll.host.models.embedding.minilm import MiniLM
    from toolroll.host.models.embedding.wordpiece import WordPiece
    from toolroll.host.runtime.cancellation import Token

    Floats = NDArray[np.float32]

_TOKENS_AT_ONCE = 1024  # through the model together
_TEXTS_AT_ONCE = 64  # in one request
_CHARACTERS = 8_000  # of a text in a request
_MOST_BYTES = 20_000_000
_SECONDS = 60.0
_AGAIN = frozenset({429, 500, 502, 503, 504})
_DELAYS = (0.5, 2.0)


class Embedder(Protocol):
    """Makes vectors. Any thread may use it."""

    @property
    def name(self) -> str:
        """Of the model: vectors of different models cannot be compared."""

    def embed(self, texts: Sequence[str], token: Token) -> Floats:
        """A row of the length 1 for each text; ToolError if that fails."""


class Local:
    """The model whose weights `toolroll models fetch` has put here."""

    def __init__(self, model: MiniLM, words: WordPiece) -> None:
        self._model = model
        self._words = words

    @property
    def name(self) -> str:
        return MINILM.name

    @classmethod
    def load(cls, models: Models) -> Local:
        """The model, ready; ToolError if its files are not what they should be."""
        from toolroll.host.models.embedding.minilm import MiniLM
        from toolroll.host.models.embedding.safetensors import tensors
        from toolroll.host.models.embedding.wordpiece import WordPiece

        models.check(MINILM)
        with open(models.path(MINILM, "vocab.txt"), encoding="utf-8") as file:
            vocabulary = file.read().splitlines()
        path = models.path(MINILM, "model.safetensors")
        try:
            return cls(MiniLM(tensors(path)), WordPiece(vocabulary))
        except (KeyError, ValueError) as error:
            raise broken(MINILM, f"{path!r} cannot be used, because {error}") from error

    def embed(self, texts: Sequence[str], token: Token) -> Floats:
        """A row of the length 1 for each text."""
        import numpy as np

        from toolroll.host.models.embedding.minilm import SIZE, TOKENS

        numbers = [self._words.numbers(text, TOKENS) for text in texts]
        made = np.empty((len(texts), SIZE), np.float32)
        batch: list[int] = []
        for at in range(len(numbers)):
            batch.append(at)
            full = sum(len(numbers[one]) for one in batch) >= _TOKENS_AT_ONCE
            if full or at + 1 == len(numbers):
                token.check()
                with numeric.one_thread():
                    made[batch] = self._model.vectors([numbers[one] for one in batch])
                batch = []
        return made


class Remote:
    """A server that the operator names, with the model and the key for it."""

    def __init__(self, http: Client, url: str, model: str, key: str = "") -> None:
        """ToolError if the URL cannot be asked."""
        try:
            target = urls.parse(url)
        except ValueError as error:  # its value is not told: it may hold a password
            raise ToolError(
                ErrorCode.UNSUPPORTED, f"{URL} is not a URL that can be asked, because {error}. Set another."
            ) from None
        self._url = f"{url.rstrip('/')}/embeddings"
        self._model = model
        self._key = key
        # The operator names it, so it may be inside their network; but for this alone.
        self._client = http.towards(f"{target.host}:{target.port}", most_bytes=_MOST_BYTES)

    @property
    def name(self) -> str:
        return self._model

    def embed(self, texts: Sequence[str], token: Token) -> Floats:
        """A row of the length 1 for each text; ToolError that says what to do if the server gives none."""
        import numpy as np

        rows: list[Any] = []
        for at in range(0, len(texts), _TEXTS_AT_ONCE):
            rows += self._asked([text[:_CHARACTERS] for text in texts[at : at + _TEXTS_AT_ONCE]], token)
        try:
            made = np.array(rows, np.float32)
            if made.ndim != 2 or not made.shape[1] or not np.isfinite(made).all():
                raise ValueError
        except (ValueError, TypeError):
            raise _failed("its vectors are not numbers, or not all of one length") from None
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        made /= np.maximum(lengths, np.finfo(np.float32).tiny)
        return made

    def _asked(self, texts: list[str], token: Token) -> list[Any]:
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        request = prepare("POST", self._url, headers, {"model": self._model, "input": texts})
        patience = Patience(token, _SECONDS)
        for delay in (*_DELAYS, None):
            try:  # not redirected: what is sent holds a key
                response = self._client.send(request, token, seconds=patience.left(), follow=False, robots=False)
            except ToolError as error:
                if error.code in (ErrorCode.CANCELLED, ErrorCode.TIMEOUT):
                    raise
                raise _failed(
                    f"it was not reached. Start it, or set another; without {URL} the model on this machine is used"
                ) from error
            if response.status not in _AGAIN or delay is None:
                break
            patience.sleep(delay)
        return _rows(response, len(texts))


def _rows(response: Response, wanted: int) -> list[Any]:
    """The vectors in an answer, in the order of the texts. The server's own words are not told."""
    if response.status in (401, 403):
        raise ToolError(ErrorCode.PERMISSION, f"The server of {URL} refuses ({response.status}). Check {KEY}.")
    if response.status != 200:
        raise _failed(f"it answers with the status {response.status}. Check {URL} and {MODEL}")
    try:
        found = json.loads(response.body)["data"]
        rows = {one["index"]: one["embedding"] for one in found}
        return [rows[at] for at in range(wanted)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _failed("its answer cannot be read") from None


def _failed(why: str) -> ToolError:
    return ToolError(ErrorCode.NETWORK, f"The server of {URL} made no vectors: {why}.")
