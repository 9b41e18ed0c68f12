"""What judges passages once more: a server that the operator names, which speaks as Jina, Cohere and vLLM do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolroll.host.http.deadline import Patience
from toolroll.host.http.request import prepare
from toolroll.host.models.embedding.settings import RERANK_KEY, RERANK_MODEL, RERANK_URL
from toolroll.policy import urls
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.client import Client, Response
    from toolroll.host.runtime.cancellation import Token

_CHARACTERS = 8_000  # of a text in a request
_MOST_BYTES = 5_000_000  # some send the texts back
_SECONDS = 20.0  # less than vectors may take: there is an order without it
_AGAIN = frozenset({429, 500, 502, 503, 504})
_DELAY = 0.5
_MOST = 1e300  # of a score: an integer in JSON may be too large for a float


class Reranker:
    """A server with the model and the key for it. Any thread may use it."""

    def __init__(self, http: Client, url: str, model: str = "", key: str = "") -> None:
        """ToolError if the URL cannot be asked. Without a model it is the server's own."""
        try:
            target = urls.parse(url)
        except ValueError as error:  # its value is not told: it may hold a password
            raise ToolError(
                ErrorCode.UNSUPPORTED, f"{RERANK_URL} is not a URL that can be asked, because {error}. Set another."
            ) from None
        self._url = f"{url.rstrip('/')}/rerank"
        self._model = {"model": model} if model else {}
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        # The operator names it, so it may be inside their network; but for this alone.
        self._client = http.towards(f"{target.host}:{target.port}", most_bytes=_MOST_BYTES)

    def scores(self, query: str, texts: Sequence[str], token: Token) -> list[float]:
        """How well each text answers a question; ToolError that says what to do if the server does not tell."""
        if not texts:
            return []
        documents = [text[:_CHARACTERS] for text in texts]
        asked = {**self._model, "query": query[:_CHARACTERS], "documents": documents, "top_n": len(documents)}
        return _scores(self._answer(asked, token), len(documents))

    def _answer(self, asked: dict[str, Any], token: Token) -> Response:
        request = prepare("POST", self._url, self._headers, asked)
        patience = Patience(token, _SECONDS)
        try:  # not redirected: what is sent holds a key
            response = self._client.send(request, token, seconds=patience.left(), follow=False, robots=False)
            if response.status in _AGAIN:
                patience.sleep(_DELAY)
                response = self._client.send(request, token, seconds=patience.left(), follow=False, robots=False)
        except ToolError as error:
            token.check()  # it may be the call itself that ends
            if error.code == ErrorCode.TIMEOUT:
                raise _failed(f"it did not answer within {_SECONDS:g} s", ErrorCode.TIMEOUT) from error
            if error.code == ErrorCode.TOO_LARGE:
                raise _failed(f"its answer has more than {_MOST_BYTES} bytes", ErrorCode.TOO_LARGE) from error
            raise _failed(f"it was not reached. Start it, or unset {RERANK_URL}") from error
        return response


def _scores(response: Response, wanted: int) -> list[float]:
    """The scores in an answer, in the order of the texts. The server's own words are not told."""
    if response.status in (401, 403):
        raise ToolError(
            ErrorCode.PERMISSION, f"The server of {RERANK_URL} refuses ({response.status}). Check {RERANK_KEY}."
        )
    if response.status != 200:
        raise _failed(f"it answers with the status {response.status}. Check {RERANK_URL} and {RERANK_MODEL}")
    try:
        rows = [(one["index"], one["relevance_score"]) for one in json.loads(response.body)["results"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _failed("its answer cannot be read") from None
    if any(type(at) is not int for at, _ in rows) or sorted(at for at, _ in rows) != list(range(wanted)):
        raise _failed("its answer does not have every passage once")
    if not all(type(score) in (int, float) and -_MOST < score < _MOST for _, score in rows):
        raise _failed("its scores are not numbers")
    return [float(score) for _, score in sorted(rows)]


def _failed(why: str, code: ErrorCode = ErrorCode.NETWORK) -> ToolError:
    return ToolError(code, f"The server of {RERANK_URL} judged no passages: {why}.")
