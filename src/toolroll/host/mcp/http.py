"""The line to a server that is reached by a URL: streamable HTTP, through the guarded client."""

from __future__ import annotations

import base64
import itertools
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.jsonrpc.connection import GoneError, LateError, RefusedError
from toolroll.host.mcp.http_stream import Body
from toolroll.host.mcp.stdio import MOST_BYTES, read
from toolroll.policy import urls
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.client import Client, Response
    from toolroll.host.http.request import Request
    from toolroll.host.runtime.cancellation import Token

STATELESS = "2026-07-28"
_SESSION = "mcp-session-id"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_CODED = re.compile(r"=\?base64\?.*\?=")
_GOODBYE_SECONDS = 1.0


class _AnsweredError(Exception):
    """The answer is there: what else the server would send is not waited for."""


class _Hearing:
    """Listens to a body for the answer to one request."""

    def __init__(self, number: int, notice: Callable[[str, Any], None], *, stop: bool) -> None:
        self._number = number
        self._notice = notice
        self._stop = stop
        self.body = Body()
        self.answers: list[dict[str, Any]] = []

    def take(self, data: bytes) -> None:
        """Hear a piece of it."""
        self._hear(self.body.feed(data))
        if self.answers and self._stop:
            raise _AnsweredError

    def end(self, response: Response) -> None:
        """Hear the rest of it."""
        self._hear(self.body.rest() or read(response.body))

    def _hear(self, messages: list[dict[str, Any]]) -> None:
        for one in messages:
            method = one.get("method")
            if method is None and one.get("id") == self._number:
                self.answers.append(one)
            elif isinstance(method, str) and "id" not in one:
                self._notice(method, one.get("params"))


class Web:
    """Sends each message as a request of its own; any thread may use it."""

    def __init__(
        self, url: str, headers: Mapping[str, str], http: Client, *, notice: Callable[[str, Any], None]
    ) -> None:
        try:
            target = urls.parse(url)
        except ValueError as error:  # its text is not told: it may hold a password
            raise ToolError(ErrorCode.UNSUPPORTED, f"Its 'url' cannot be asked, because {error}.") from None
        # The operator names it, so it may be inside their network; but this host alone, and no redirect to another.
        self._http = http.towards(f"{target.host}:{target.port}", most_bytes=MOST_BYTES)
        self._url = url
        self._headers = headers
        self._notice = notice
        self._numbers = itertools.count(1)
        self._session = ""
        self.version = ""
        self.gone: GoneError | None = None

    def ask(
        self,
        method: str,
        params: dict[str, Any],
        token: Token,
        deadline: float,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The answer; raises what the server answered, GoneError, LateError, or ToolError of the network."""
        number = next(self._numbers)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        # Of the first answer the headers are wanted too, so it is heard to its end.
        hearing = _Hearing(number, self._notice, stop=method != "initialize")
        with suppress(_AnsweredError):
            response = self._post(message, token, deadline, hearing.take, headers or {})
            hearing.end(response)
            while not hearing.answers and response.status == 200 and hearing.body.last:
                response = self._resumed(hearing, token, deadline)
                hearing.end(response)
            if not hearing.answers:
                raise self._failed(response)
            self._session = response.headers.get(_SESSION, "") or self._session
        return _result(hearing.answers[0])

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Tell the server something; it is not waited for long."""
        from toolroll.host.runtime.cancellation import Token

        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self._post(message, Token(), time.monotonic() + 10, lambda _: None, {})

    def listen(self, params: dict[str, Any]) -> None:
        """Over HTTP, changes are looked for when the server is used."""

    def close(self, how: str = "was closed", wait: float = 0.0) -> None:
        """End the session, if there is one and the server can be told in a moment."""
        from toolroll.host.http.request import Request
        from toolroll.host.runtime.cancellation import Token

        first, self.gone = self.gone is None, self.gone or GoneError(how)
        if first and self._session and wait:
            request = Request("DELETE", self._url, self._all_headers("", {}))
            with suppress(ToolError):
                self._http.send(request, Token(), seconds=_GOODBYE_SECONDS, follow=False, robots=False)

    def _resumed(self, hearing: _Hearing, token: Token, deadline: float) -> Response:
        """What follows of a stream that the server has ended before it had answered."""
        from toolroll.host.http.deadline import Patience
        from toolroll.host.http.request import Request

        if hearing.body.pause >= deadline - time.monotonic():
            raise LateError
        Patience(token, hearing.body.pause + 1).sleep(hearing.body.pause)
        headers = {**self._all_headers("", {}), "accept": "text/event-stream", "last-event-id": hearing.body.last}
        headers.pop("content-type")
        return self._within(Request("GET", self._url, headers), token, deadline, hearing.take)

    def _post(
        self,
        message: dict[str, Any],
        token: Token,
        deadline: float,
        into: Callable[[bytes], None],
        more: Mapping[str, str],
    ) -> Response:
        from toolroll.host.http.request import Request

        headers = self._all_headers(message["method"], message["params"])
        if self.version == STATELESS:
            headers |= {name: _header(value) for name, value in more.items()}
        request = Request("POST", self._url, headers, msgspec.json.encode(message))
        return self._within(request, token, deadline, into)

    def _within(self, request: Request, token: Token, deadline: float, into: Callable[[bytes], None]) -> Response:
        try:
            return self._sent(request, token, deadline, into)
        except ToolError as error:
            if error.code is ErrorCode.TIMEOUT and time.monotonic() >= deadline and token.remaining() > 0:
                raise LateError from None
            raise

    def _sent(self, request: Request, token: Token, deadline: float, into: Callable[[bytes], None]) -> Response:
        """The answer, after redirects that change neither the server nor the request."""
        from dataclasses import replace

        for _ in range(urls.MAX_REDIRECTS):
            seconds = max(0.01, deadline - time.monotonic())
            response = self._http.send(
                request, token, seconds=seconds, follow=False, robots=False, silence=seconds, into=into
            )
            there = _moved(response)
            if there is None:
                return response
            request = replace(request, url=there)
        raise ToolError(ErrorCode.NETWORK, "It redirects without an end. Check its 'url'.")

    def _all_headers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        """What the operator sets, what the protocol wants, and of the stateless one what the request is about."""
        from toolroll.host.http.request import prepare

        headers = dict(prepare("GET", self._url, self._headers).headers)
        headers |= {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if self._session:
            headers[_SESSION] = self._session
        if self.version and method != "initialize":
            headers["mcp-protocol-version"] = self.version
        if self.version == STATELESS and method:
            headers["mcp-method"] = method
            if method in _NAMED:
                headers["mcp-name"] = _header(str(params.get(_NAMED[method], "")))
        return headers

    def _failed(self, response: Response) -> Exception:
        """What an answer without a message means."""
        refusals = [one for one in read(response.body) if "error" in one]
        if response.status in (401, 403):
            return ToolError(ErrorCode.PERMISSION, f"It refuses ({response.status}). Check its 'headers'.")
        if response.status == 404 and self._session:
            self.gone = GoneError("has ended the session")
            return self.gone
        if refusals:
            return _refused(refusals[0])
        if 300 <= response.status < 400:
            where = response.headers.get("location", "")[:200]
            return ToolError(ErrorCode.NETWORK, f"It redirects to {where!r}, which is not followed. Check its 'url'.")
        if response.status in (404, 405):
            return RefusedError(-32601, f"HTTP status {response.status}")
        if 200 <= response.status < 300:
            return ToolError(ErrorCode.EXECUTION, "It sent no answer to the request, or one that cannot be read.")
        return ToolError(ErrorCode.NETWORK, f"It answers with the status {response.status} {response.reason}.")


def _moved(response: Response) -> str | None:
    """Where the same request is to be sent instead, if that is the same server."""
    if response.status not in (307, 308):
        return None
    try:
        url = urls.redirect(response.url, response.headers.get("location", ""))
    except ValueError:
        return None
    return url if urls.parse(url).origin == urls.parse(response.url).origin else None


def _result(message: Mapping[str, Any]) -> Any:
    if message.get("error") is not None:
        raise _refused(message)
    return message.get("result")


def _refused(message: Mapping[str, Any]) -> RefusedError:
    error = message["error"]
    return RefusedError(error["code"], str(error.get("message", "")))


def _header(value: str) -> str:
    """A value as a header can carry it."""
    if _PLAIN.fullmatch(value) and not _CODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode('ascii')}?="
