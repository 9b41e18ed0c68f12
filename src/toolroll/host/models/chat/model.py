"""Chat client: retries, assembles streams, classifies errors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.http.deadline import Deadline
from toolroll.host.http.request import read_retry_after
from toolroll.host.models.chat import errors
from toolroll.host.models.chat.errors import ModelError, ModelErrorKind
from toolroll.host.models.chat.messages import UNREADABLE, ChatMessage, ChatRequest, Turn, estimate_usage
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import httpx2

    from toolroll.host.http.client import Client
    from toolroll.host.models.chat.messages import ChatProtocol, Endpoint, TurnReader
    from toolroll.host.runtime.cancellation import CancelToken

OnText = Callable[[str], None]  # receives the text of an answer as it arrives

_TURN_SECONDS = 900.0  # with all tries
_SILENCE_SECONDS = 300.0  # a reasoning model sends nothing for long
_MAX_TRIES = 5
_MAX_WAIT_SECONDS = 60.0
# The SDKs add other headers: about this machine, and from environment variables of their own.
_SENT_HEADERS = frozenset({"accept", "content-type", "anthropic-version"})
_REFUSALS = {
    # Without the server's own words, because some of them repeat the key.
    ModelErrorKind.KEY: "{title} refuses the key{status}. Check {key}, and that the account may use the model.",
    ModelErrorKind.MODEL: "{title} does not know the model{status}. Check TOOLROLL_MODEL and {url}.{quote}",
    ModelErrorKind.RATE: "{title} has had too many requests{status}. Wait, then try again.{quote}",
    ModelErrorKind.BUSY: "{title} is overloaded{status}. Try again later.{quote}",
    ModelErrorKind.LONG: "The conversation is too long for {title}{status}. Send less.{quote}",
    ModelErrorKind.SERVER: "{title} has an internal problem{status}. Try again later.{quote}",
    ModelErrorKind.REQUEST: "{title} rejects the request{status}. Check TOOLROLL_MODEL and {url}.{quote}",
}


class ChatModel:
    """A model at one server. Any thread may use it; it keeps nothing between two turns."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        protocol: ChatProtocol,
        http: Client,
        *,
        max_tokens: int | None = None,
        max_tries: int = _MAX_TRIES,
        first_wait: float = 1.0,
        seconds: float = _TURN_SECONDS,
    ) -> None:
        """`first_wait` doubles with each try, unless the server says how long to wait."""
        self.name = name
        self.endpoint = endpoint
        self._protocol = protocol
        self._http = http
        self._max_tokens = max_tokens
        self._max_tries = max_tries
        self._first_wait = first_wait
        self._seconds = seconds

    def answer(self, system: str, question: str, token: CancelToken) -> str:
        """The text that the model answers to one question; ModelError if there is none."""
        turn = self.turn(ChatRequest((ChatMessage("system", system), ChatMessage("user", question))), token)
        if turn.stop == "refused":
            raise ModelError(ModelErrorKind.REQUEST, f"{self.name} declines to answer. Ask something else.")
        if not turn.message.text.strip():
            raise ModelError(ModelErrorKind.GARBLED, f"{self.name} gave an empty answer. Ask again.")
        return turn.message.text

    def turn(self, request: ChatRequest, token: CancelToken, on_text: OnText | None = None) -> Turn:
        """The next turn of the model, tool calls included; ModelError if it does not answer.

        The retries are not those of the SDKs, which cannot be cancelled and do not repeat a stream that is cut off.
        """
        request = replace(request, max_tokens=self._max_tokens)
        deadline = Deadline(token, self._seconds)
        attempt = 0
        while True:
            try:
                turn = self._try_once(request, token, deadline, on_text)
                return turn if turn.usage.total else replace(turn, usage=estimate_usage(request, turn.message))
            except ModelError as error:
                wait = error.wait if error.wait is not None else self._first_wait * 2**attempt
                attempt += 1
                if error.kind not in errors.RETRYABLE or attempt == self._max_tries or wait > _MAX_WAIT_SECONDS:
                    raise
                if on_text is not None and error.kind in (ModelErrorKind.CUT, ModelErrorKind.GARBLED):
                    on_text("\n[The answer was cut off; asking again.]\n")
                self._wait(deadline, wait, error)

    def _wait(self, deadline: Deadline, seconds: float, error: ModelError) -> None:
        """Wait before another try; raises the error if the time of the turn would end before."""
        try:
            if seconds >= deadline.left():
                raise error
            deadline.sleep(seconds)
        except ToolError as ended:
            raise self._explain(ended, begun=False) from None

    def _try_once(self, request: ChatRequest, token: CancelToken, deadline: Deadline, on_text: OnText | None) -> Turn:
        reader = self._protocol.make_reader()
        with closing(self._receive(request, token, deadline, reader)) as pieces:
            for text in pieces:
                if text and on_text is not None:
                    on_text(text)
        return reader.turn()

    def _receive(
        self, request: ChatRequest, token: CancelToken, deadline: Deadline, reader: TurnReader
    ) -> Generator[str, None, None]:
        """Send a request; the text of each event of the answer. All errors become a ModelError."""
        import httpx2

        from toolroll.host.http.httpx_transport import GuardedTransport
        from toolroll.host.models.chat.event_guard import guard_events

        begun = False
        hooks: dict[str, list[Callable[..., None]]] = {"request": [self._set_headers], "response": [guard_events]}
        try:
            transport = GuardedTransport(self._http, token, seconds=deadline.left(), silence=_SILENCE_SECONDS)
            with (
                httpx2.Client(transport=transport, trust_env=False, event_hooks=hooks) as web,
                closing(self._protocol.send(self.endpoint, web, self.name, request)) as stream,
            ):
                for text in self._read(stream, reader):
                    begun = True
                    yield text
            if not reader.complete:
                raise EOFError
        except (ToolError, httpx2.HTTPError, self._sdk_error, EOFError, *UNREADABLE) as error:
            raise self._explain(error, begun=begun) from None

    def _read(self, stream: Any, reader: TurnReader) -> Iterator[str]:
        """The text of each event of an answer; not all servers can stream, and some answer in one piece."""
        if stream.response.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            yield from map(reader.take, stream)
            return
        answer: Any = _decode(stream.response.read())
        if answer.get("error"):
            raise self._explain_refusal(None, answer)
        yield reader.take_whole(answer)

    def _set_headers(self, request: httpx2.Request) -> None:
        for name in set(request.headers) - _SENT_HEADERS:
            del request.headers[name]
        request.headers.update(self._protocol.headers(self.endpoint.key))

    def _explain(self, error: Exception, *, begun: bool) -> ModelError:
        """The ModelError for an error of the SDK, of the connection, or of reading the answer."""
        import httpx2

        cause = error.__cause__ if isinstance(error.__cause__, ToolError | httpx2.HTTPError) else error
        response = getattr(cause, "response", None)
        if isinstance(cause, ModelError):
            return cause
        if isinstance(cause, ToolError):
            return self._explain_connection(cause.code, self._hide_key(cause.message), begun=begun)
        if isinstance(cause, httpx2.HTTPError):
            return self._explain_connection(ErrorCode.NETWORK, "The connection broke. Try again.", begun=begun)
        if isinstance(response, httpx2.Response) and response.status_code != httpx2.codes.OK:
            body = _decode(response.content)
            return self._explain_refusal(response.status_code, body, read_retry_after(response.headers))
        if isinstance(cause, UnicodeEncodeError):
            text = "The conversation holds text that is not valid Unicode. Send it without."
            return ModelError(ModelErrorKind.REQUEST, text)
        if isinstance(cause, self._sdk_error):
            return self._explain_refusal(None, getattr(cause, "body", None))
        kind = ModelErrorKind.CUT if begun else ModelErrorKind.GARBLED
        why = "it ends in the middle" if isinstance(cause, EOFError) else "it does not follow the protocol"
        return ModelError(kind, f"The answer of {self._title} cannot be read, because {why}. Try again.")

    def _explain_connection(self, code: ErrorCode, message: str, *, begun: bool) -> ModelError:
        if code is ErrorCode.CANCELLED:
            return ModelError(ModelErrorKind.CANCELLED, "The question to the model was cancelled.")
        if code is ErrorCode.SECURITY:  # the message could hold a part of the URL that is secret
            text = f"{self._title} is not asked: its URL is not allowed. Check {self.endpoint.url_variable}."
            return ModelError(ModelErrorKind.REQUEST, text)
        if code is ErrorCode.TIMEOUT:
            return ModelError(ModelErrorKind.TIMEOUT, f"{self._title} did not answer in time. {message}")
        if code is ErrorCode.TOO_LARGE:
            return ModelError(ModelErrorKind.REQUEST, f"{self._title}: {message}")
        kind = ModelErrorKind.CUT if begun else ModelErrorKind.NETWORK
        return ModelError(kind, f"No complete answer from {self._title}: {message}")

    def _explain_refusal(self, status: int | None, body: object, wait: float | None = None) -> ModelError:
        """The ModelError for an answer with an error status, or for an error inside a stream."""
        error = errors.find_error(body)
        kind = errors.classify_error(status, error)
        quote = self._hide_key(errors.quote_error(error))
        text = _REFUSALS.get(kind, _REFUSALS[ModelErrorKind.REQUEST]).format(
            title=self._title,
            status=f" ({status})" if status else "",
            key=self.endpoint.key_variable,
            url=self.endpoint.url_variable,
            quote=f" It says: {quote!r}." if quote else "",
        )
        return ModelError(kind, text, wait=wait)

    @property
    def _sdk_error(self) -> type[Exception]:
        error: type[Exception] = import_module(self._protocol.PACKAGE).APIError
        return error

    @property
    def _title(self) -> str:
        return f"{self.endpoint.provider} ({self.name})"

    def _hide_key(self, text: str) -> str:
        return text.replace(self.endpoint.key, "[hidden]") if self.endpoint.key else text


def _decode(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
