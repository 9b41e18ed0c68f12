"""A Qdrant server that the operator names with QDRANT_URL, and the key for it in QDRANT_API_KEY."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from toolroll.host.http.request import prepare
from toolroll.policy import urls
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.client import Client, Response
    from toolroll.host.knowledge.vectors.store import Floats
    from toolroll.host.runtime.cancellation import CancelToken

_T = TypeVar("_T")
URL, KEY = "QDRANT_URL", "QDRANT_API_KEY"

_MAX_REPLY_BYTES = 50_000_000
_BATCH_VECTORS = 500  # vectors in one request
_REQUEST_SECONDS = 30.0
_INSTEAD = f"Start it or set another; without {URL} vectors are kept in the state folder"


class QdrantServer:
    """The collections of one workspace, one for each model."""

    def __init__(self, http: Client, url: str, key: str, workspace: str, seconds: float = _REQUEST_SECONDS) -> None:
        """`workspace` tells its collections from those of others; ToolError if the URL cannot be asked."""
        self._client = http.for_url(url, URL, max_bytes=_MAX_REPLY_BYTES)
        self._url = url.rstrip("/")
        self._key = key
        self._seconds = seconds
        self._prefix = f"toolroll-{_short(workspace)}-"
        target = urls.parse(url)
        self.name = f"{target.host}:{target.port}"

    def check(self, token: CancelToken) -> None:
        """ToolError if it is not there, or refuses."""
        self._collections(token)

    def put(self, model: str, vectors: Mapping[int, Floats], token: CancelToken) -> None:
        points = [{"id": number, "vector": vector.tolist()} for number, vector in vectors.items()]
        if not points:
            return
        path, size = self._path(model), len(points[0]["vector"])
        if (there := self._size(path, token)) != size:
            if there is not None:  # the model of this name has become another one
                self._asked("DELETE", path, None, token, but=(404,))
            # 409: another process has created it meanwhile
            self._asked("PUT", path, {"vectors": {"size": size, "distance": "Dot"}}, token, but=(409,))
        for at in range(0, len(points), _BATCH_VECTORS):
            self._asked("PUT", f"{path}/points?wait=true", {"points": points[at : at + _BATCH_VECTORS]}, token)

    def drop(self, numbers: Sequence[int], token: CancelToken) -> None:
        if numbers:
            for path in self._collections(token):
                self._asked("POST", f"{path}/points/delete?wait=true", {"points": list(numbers)}, token, but=(404,))

    def search(self, model: str, vector: Floats, limit: int, token: CancelToken) -> list[tuple[int, float]]:
        asked = {"query": vector.tolist(), "limit": limit, "params": {"exact": True}}
        path = self._path(model)
        found = self._asked("POST", f"{path}/points/query", asked, token, but=(400, 404))
        if found is None:
            if self._size(path, token) == len(vector):
                raise _failed("answers with the status 400")
            return []
        return _read(lambda: [(int(one["id"]), float(one["score"])) for one in found["points"]])

    def count(self, model: str, token: CancelToken) -> int:
        found = self._asked("POST", f"{self._path(model)}/points/count", {"exact": True}, token, but=(404,))
        return 0 if found is None else _read(lambda: int(found["count"]))

    def clear(self, token: CancelToken) -> None:
        for path in self._collections(token):
            self._asked("DELETE", path, None, token, but=(404,))

    def close(self) -> None:
        """Nothing is held open."""

    def _path(self, model: str) -> str:
        return f"/collections/{self._prefix}{_short(model)}"

    def _size(self, path: str, token: CancelToken) -> int | None:
        """How long the vectors of a collection are; None if there is none."""
        found = self._asked("GET", path, None, token, but=(404,))
        return None if found is None else _read(lambda: int(found["config"]["params"]["vectors"]["size"]))

    def _collections(self, token: CancelToken) -> list[str]:
        found = self._asked("GET", "/collections", None, token)
        names = _read(lambda: [str(one["name"]) for one in found["collections"]])
        return [f"/collections/{quote(name, safe='')}" for name in names if name.startswith(self._prefix)]

    def _asked(
        self, method: str, path: str, body: dict[str, Any] | None, token: CancelToken, but: Sequence[int] = ()
    ) -> Any:
        """What the server answers; None for the statuses in `but`; ToolError for any other that is no success."""
        headers = {"api-key": self._key} if self._key else {}
        request = prepare(method, f"{self._url}{path}", headers, body)
        try:  # not redirected: what is sent holds a key
            response = self._client.send(request, token, seconds=self._seconds, follow=False, robots=False)
        except ToolError as error:
            token.check()  # unless it is the call itself that ends
            raise _failed(f"was not reached: {error.message}") from error
        if response.status in but:
            return None
        return _result(response)


def _result(response: Response) -> Any:
    """The result in a reply. The server's own text is not shown: it may come from anyone."""
    if response.status in (401, 403):
        raise ToolError(ErrorCode.PERMISSION, f"The Qdrant server of {URL} refuses ({response.status}). Check {KEY}.")
    if not 200 <= response.status < 300:
        raise _failed(f"answers with the status {response.status}")
    return _read(lambda: json.loads(response.body)["result"])


def _read(work: Callable[[], _T]) -> _T:
    try:
        return work()
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise _failed("gives an answer that cannot be read") from None


def _failed(what: str) -> ToolError:
    return ToolError(ErrorCode.NETWORK, f"The Qdrant server of {URL} {what.rstrip('.')}. {_INSTEAD}.")


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
