"""A server that the operator names in the environment, and that answers JSON to JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolroll.host.http.deadline import Deadline
from toolroll.host.http.request import prepare
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
