"""Model servers that the operator names; one reranks passages, in the protocol of Jina, Cohere and vLLM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolroll.host.http.deadline import Deadline
from toolroll.host.http.request import prepare
from toolroll.host.models.embedding.settings import RERANK_KEY, RERANK_MODEL, RERANK_URL
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.client import Client, Response
    from toolroll.host.runtime.cancellation import CancelToken


_RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
UNREADABLE = "its answer cannot be read"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The environment variables of a server, the parts of its error messages, and the bounds of a request."""

    url: str
    model: str
    key: str
    failure: str
    """What the server did not do."""
    hint: str
    """What to do if the server cannot be reached."""
    max_bytes: int
    seconds: float
    delays: tuple[float, ...]
    """Seconds before each further try."""


class ModelServer:
    """One endpoint of a server. Any thread may use it."""

    def __init__(self, http: Client, url: str, path: str, key: str, settings: ServerSettings) -> None:
        """ToolError if the URL is not allowed in a request."""
        self._settings = settings
        self._url = f"{url.rstrip('/')}/{path}"
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._client = http.for_url(url, settings.url, max_bytes=settings.max_bytes)

    def post(self, body: dict[str, Any], token: CancelToken) -> Any:
        """The decoded answer to a request; ToolError with what to do if there is none. It quotes no server text."""
        response = self._send(body, token)
        if response.status in (401, 403):
            raise ToolError(
                ErrorCode.PERMISSION,
                f"The server of {self._settings.url} refuses ({response.status}). Check {self._settings.key}.",
            )
        if response.status != 200:
            names = f"{self._settings.url} and {self._settings.model}"
            raise self.error(f"it answers with the status {response.status}. Check {names}")
        try:
            return json.loads(response.body)
        except (ValueError, RecursionError):
            raise self.error(UNREADABLE) from None

    def error(self, why: str, code: ErrorCode = ErrorCode.NETWORK) -> ToolError:
        return ToolError(code, f"The server of {self._settings.url} {self._settings.failure}: {why}.")

    def _send(self, body: dict[str, Any], token: CancelToken) -> Response:
        request = prepare("POST", self._url, self._headers, body)
        limits = self._settings
        deadline = Deadline(token, limits.seconds)
        try:
            for delay in (*limits.delays, None):
                # Redirects are not followed, because the request holds a key.
                response = self._client.send(request, token, seconds=deadline.left(), follow=False, robots=False)
                if response.status not in _RETRIED_STATUSES or delay is None:
                    break
                deadline.sleep(delay)
        except ToolError as error:
            token.check()  # the call itself may have ended
            if error.code == ErrorCode.TIMEOUT:
                raise self.error(f"it did not answer within {limits.seconds:g} s", ErrorCode.TIMEOUT) from error
            if error.code == ErrorCode.TOO_LARGE:
                why = f"its answer has more than {limits.max_bytes} bytes"
                raise self.error(why, ErrorCode.TOO_LARGE) from error
            raise self.error(f"it was not reached. Start it, or {self._settings.hint}") from error
        return response


_MAX_TEXT_CHARS = 8_000
_MAX_RERANK_BYTES = 5_000_000  # some servers send the texts back
_RERANK_SECONDS = 20.0  # less than for vectors, because there is an order without it
_RERANK_DELAYS = (0.5,)
_MAX_SCORE = 1e300  # an integer in JSON may be too large for a float


class Reranker:
    """A reranking server, its model and its key. Any thread may use it."""

    def __init__(self, http: Client, url: str, model: str = "", key: str = "") -> None:
        """ToolError if the URL is not allowed. Without a model the server uses its own."""
        names = (RERANK_URL, RERANK_MODEL, RERANK_KEY, "judged no passages", f"unset {RERANK_URL}")
        self._server = ModelServer(
            http, url, "rerank", key, ServerSettings(*names, _MAX_RERANK_BYTES, _RERANK_SECONDS, _RERANK_DELAYS)
        )
        self._model = {"model": model} if model else {}

    def scores(self, query: str, texts: Sequence[str], token: CancelToken) -> list[float]:
        """How well each text answers a question; ToolError with what to do if the server fails."""
        if not texts:
            return []
        documents = [text[:_MAX_TEXT_CHARS] for text in texts]
        body = {**self._model, "query": query[:_MAX_TEXT_CHARS], "documents": documents, "top_n": len(documents)}
        answer = self._server.post(body, token)
        try:
            rows = [(one["index"], one["relevance_score"]) for one in answer["results"]]
        except (KeyError, TypeError):
            raise self._server.error(UNREADABLE) from None
        if any(type(at) is not int for at, _ in rows) or sorted(at for at, _ in rows) != list(range(len(documents))):
            raise self._server.error("its answer does not have every passage once")
        if not all(type(score) in (int, float) and -_MAX_SCORE < score < _MAX_SCORE for _, score in rows):
            raise self._server.error("its scores are not numbers")
        return [float(score) for _, score in sorted(rows)]
