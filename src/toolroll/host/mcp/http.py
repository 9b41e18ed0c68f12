"""Transport to an MCP server at a URL: streamable HTTP through the guarded client."""

from __future__ import annotations

import base64
import itertools
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.http.deadline import Deadline
from toolroll.host.http.request import Request, prepare
from toolroll.host.mcp.session import STATELESS, Headers, Params
from toolroll.host.rpc.channel import LateError, RefusedError
from toolroll.host.rpc.codecs import PeerGoneError, RpcDict, decode_messages
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.policy import urls
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.client import Client, Response


_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_OVERLAP_BYTES = 3  # an end of an event may begin in the bytes that were searched already
_EVENT_ID = re.compile(rb"[!-~]{1,500}")
_MAX_RETRY_S = 60.0


class MessageStream:
    """Takes bytes as they arrive, and returns the messages that they complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._is_stream: bool | None = None
        self.last_event_id = ""
        """Where a stream that ended can be resumed; empty when events have no ids."""
        self.retry_s = 1.0
        """Seconds to wait before the stream is resumed, by the server's wish."""

    def feed(self, data: bytes) -> list[RpcDict]:
        searched = max(0, len(self._buffer) - _OVERLAP_BYTES)
        self._buffer += data
        if self._is_stream is None and (start := bytes(self._buffer[:64]).lstrip()):
            self._is_stream = start[:1] not in (b"{", b"[")
        messages: list[RpcDict] = []
        while self._is_stream and (end := _EVENT_END.search(self._buffer, searched)):
            messages += self._read_event(bytes(self._buffer[: end.start()]))
            del self._buffer[: end.end()]
            searched = 0
        return messages

    def finish(self) -> list[RpcDict]:
        """The messages at the end of the body."""
        text, self._buffer = bytes(self._buffer), bytearray()
        is_stream, self._is_stream = self._is_stream, None
        return self._read_event(text) if is_stream else decode_messages(text)

    def _read_event(self, text: bytes) -> list[RpcDict]:
        data = []
        for line in re.split(rb"\r\n|\n|\r", text):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                data.append(value)
            elif name == b"id" and _EVENT_ID.fullmatch(value):
                self.last_event_id = value.decode("ascii")
            elif name == b"retry" and value.isdigit():
                self.retry_s = min(int(value[:9]) / 1000, _MAX_RETRY_S)
        return decode_messages(b"\n".join(data)) if data else []


_SESSION = "mcp-session-id"
_NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN_HEADER = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_ENCODED_HEADER = re.compile(r"=\?base64\?.*\?=")
_MAX_ANSWER_BYTES = 16_000_000
_NOTIFY_TIMEOUT_S = 10.0
_DELETE_TIMEOUT_S = 1.0


class _AnsweredError(Exception):
    """The answer has arrived: stop reading the rest of the stream."""


class _AnswerReader:
    """Reads a body for the answer to one request, and passes notifications on."""

    def __init__(self, number: int, on_notification: Callable[[str, Any], None], *, stop: bool) -> None:
        self._number = number
        self._on_notification = on_notification
        self._stop = stop
        self.stream = MessageStream()
        self.answers: list[RpcDict] = []

    def feed(self, data: bytes) -> None:
        self._handle(self.stream.feed(data))
        if self.answers and self._stop:
            raise _AnsweredError

    def finish(self, response: Response) -> None:
        self._handle(self.stream.finish() or decode_messages(response.body))

    def _handle(self, messages: list[RpcDict]) -> None:
        for one in messages:
            method = one.get("method")
            if method is None and one.get("id") == self._number:
                self.answers.append(one)
            elif isinstance(method, str) and "id" not in one:
                self._on_notification(method, one.get("params"))


class HttpTransport:
    """A `Transport` that sends each message as an HTTP request; any thread may use it."""

    def __init__(
        self, url: str, headers: Mapping[str, str], http: Client, *, on_notification: Callable[[str, Any], None]
    ) -> None:
        try:
            target = urls.parse(url)
        except ValueError as error:  # the message does not quote it: it may hold a password
            raise ToolError(ErrorCode.UNSUPPORTED, f"Its 'url' cannot be asked, because {error}.") from None
        # The operator configured this host, so it may be in a private network; redirects to other hosts are refused.
        self._http = http.for_host(f"{target.host}:{target.port}", max_bytes=_MAX_ANSWER_BYTES)
        self._url = url
        self._headers = headers
        self._on_notification = on_notification
        self._numbers = itertools.count(1)
        self._session = ""
        self.version = ""
        self.gone: PeerGoneError | None = None

    def ask(self, method: str, params: Params, token: CancelToken, deadline: float, headers: Headers = None) -> Any:
        number = next(self._numbers)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        # The headers of the first answer are needed too, so it is read to its end.
        reader = _AnswerReader(number, self._on_notification, stop=method != "initialize")
        with suppress(_AnsweredError):
            response = self._post(message, token, deadline, reader.feed, headers or {})
            reader.finish(response)
            while not reader.answers and response.status == 200 and reader.stream.last_event_id:
                response = self._resume(reader, token, deadline)
                reader.finish(response)
            if not reader.answers:
                raise self._explain(response)
            self._session = response.headers.get(_SESSION, "") or self._session
        answer = reader.answers[0]
        if answer.get("error") is not None:
            raise RefusedError.from_message(answer)
        return answer.get("result")

    def notify(self, method: str, params: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self._post(message, CancelToken(), time.monotonic() + _NOTIFY_TIMEOUT_S, lambda _: None, {})

    def subscribe(self, params: dict[str, Any]) -> None:
        """Do nothing: over HTTP, changes are looked for when the server is used."""

    def close(self, how: str = "was closed", wait: float = 0.0) -> None:
        """End the session on the server, if there is one and `wait` allows it."""
        first, self.gone = self.gone is None, self.gone or PeerGoneError(how)
        if first and self._session and wait:
            request = Request("DELETE", self._url, self._all_headers("", {}))
            with suppress(ToolError):
                self._http.send(request, CancelToken(), seconds=_DELETE_TIMEOUT_S, follow=False, robots=False)

    def _resume(self, reader: _AnswerReader, token: CancelToken, deadline: float) -> Response:
        """Resume a stream that the server ended before its answer."""
        if reader.stream.retry_s >= deadline - time.monotonic():
            raise LateError
        Deadline(token, reader.stream.retry_s + 1).sleep(reader.stream.retry_s)
        resumed = {"accept": "text/event-stream", "last-event-id": reader.stream.last_event_id}
        headers = {**self._all_headers("", {}), **resumed}
        headers.pop("content-type")
        return self._send_in_time(Request("GET", self._url, headers), token, deadline, reader.feed)

    def _post(
        self,
        message: Params,
        token: CancelToken,
        deadline: float,
        into: Callable[[bytes], None],
        more: Mapping[str, str],
    ) -> Response:
        headers = self._all_headers(message["method"], message["params"])
        if self.version == STATELESS:
            headers |= {name: _encode_header(value) for name, value in more.items()}
        request = Request("POST", self._url, headers, msgspec.json.encode(message))
        return self._send_in_time(request, token, deadline, into)

    def _send_in_time(
        self, request: Request, token: CancelToken, deadline: float, into: Callable[[bytes], None]
    ) -> Response:
        try:
            return self._send(request, token, deadline, into)
        except ToolError as error:
            if error.code is ErrorCode.TIMEOUT and time.monotonic() >= deadline and token.remaining() > 0:
                raise LateError from None
            raise

    def _send(self, request: Request, token: CancelToken, deadline: float, into: Callable[[bytes], None]) -> Response:
        """Send a request and follow redirects that change neither the server nor the request."""
        for _ in range(urls.MAX_REDIRECTS):
            seconds = max(0.01, deadline - time.monotonic())
            options: dict[str, Any] = {"seconds": seconds, "silence": seconds, "follow": False, "robots": False}
            response = self._http.send(request, token, into=into, **options)
            if (there := _redirect_target(response)) is None:
                return response
            request = replace(request, url=there)
        raise ToolError(ErrorCode.NETWORK, "It redirects without an end. Check its 'url'.")

    def _all_headers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        """The operator's headers, those of the protocol, and for stateless requests the method and name."""
        headers = dict(prepare("GET", self._url, self._headers).headers)
        headers |= {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if self._session:
            headers[_SESSION] = self._session
        if self.version and method != "initialize":
            headers["mcp-protocol-version"] = self.version
        if self.version == STATELESS and method:
            headers["mcp-method"] = method
            if method in _NAME_PARAMS:
                headers["mcp-name"] = _encode_header(str(params.get(_NAME_PARAMS[method], "")))
        return headers

    def _explain(self, response: Response) -> Exception:
        refusals = [one for one in decode_messages(response.body) if "error" in one]
        if response.status in (401, 403):
            return ToolError(ErrorCode.PERMISSION, f"It refuses ({response.status}). Check its 'headers'.")
        if response.status == 404 and self._session:
            self.gone = PeerGoneError("has ended the session")
            return self.gone
        if refusals:
            return RefusedError.from_message(refusals[0])
        if 300 <= response.status < 400:
            where = response.headers.get("location", "")[:200]
            return ToolError(ErrorCode.NETWORK, f"It redirects to {where!r}, which is not followed. Check its 'url'.")
        if response.status in (404, 405):
            return RefusedError(-32601, f"HTTP status {response.status}")
        if 200 <= response.status < 300:
            return ToolError(ErrorCode.EXECUTION, "It sent no answer to the request, or one that cannot be read.")
        return ToolError(ErrorCode.NETWORK, f"It answers with the status {response.status} {response.reason}.")


def _redirect_target(response: Response) -> str | None:
    """The URL of a redirect that stays on the same server."""
    if response.status not in (307, 308):
        return None
    try:
        url = urls.redirect(response.url, response.headers.get("location", ""))
    except ValueError:
        return None
    return url if urls.parse(url).origin == urls.parse(response.url).origin else None


def _encode_header(value: str) -> str:
    if _PLAIN_HEADER.fullmatch(value) and not _ENCODED_HEADER.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode('ascii')}?="
