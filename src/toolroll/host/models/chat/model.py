"""One model at one server: asked patiently, its answers put together, its troubles told by their kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from toolroll.host.http.deadline import Deadline
from toolroll.host.http.request import prepare
from toolroll.host.models.chat.errors import AGAIN, Kind, ModelError, error_in, kind_of, words_of
from toolroll.host.models.chat.messages import Ask, Message, Turn, Usage, estimated
from toolroll.host.models.chat.parse import Garbled, decoded
from toolroll.host.models.chat.sse import Events, OverlongError
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.client import Client, Response
    from toolroll.host.http.request import Request
    from toolroll.host.runtime.cancellation import Token

Heard = Callable[[str], None]
"""Is told the text of an answer as it comes."""

_SECONDS = 900.0  # for one turn with all its tries
_SILENCE = 300.0  # a model that thinks says nothing for long
_TRIES = 5
_LONGEST_WAIT = 60.0


class Reader(Protocol):
    """Puts a turn together from the events of a stream."""

    ended: bool
    text: str

    def take(self, event: Mapping[str, Any]) -> None: ...
    def done(self) -> None: ...
    def turn(self) -> Turn: ...


class Speech(Protocol):
    """A provider's protocol; the modules `openai` and `anthropic` are two."""

    PATH: str

    def headers(self, key: str) -> dict[str, str]: ...
    def body(self, model: str, ask: Ask, *, stream: bool) -> dict[str, Any]: ...
    def read(self, answer: Mapping[str, Any]) -> Turn: ...
    def Reader(self) -> Reader: ...  # noqa: N802


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model is asked, and what is needed for it."""

    provider: str
    url: str
    key: str = field(default="", repr=False)
    key_name: str = ""
    """The variable that holds the key, and the one that holds the URL, for what is told."""
    url_name: str = ""


class Model:
    """A model that can be asked. Any thread may; nothing is kept between two questions."""

    def __init__(
        self,
        name: str,
        place: Place,
        speech: Speech,
        http: Client,
        *,
        most_tokens: int | None = None,
        stream: bool = True,
        tries: int = _TRIES,
        first_wait: float = 1.0,
        seconds: float = _SECONDS,
    ) -> None:
        """`first_wait` doubles with each try that the server gives no time for."""
        self.name = name
        self.place = place
        self._speech = speech
        self._http = http
        self._most_tokens = most_tokens
        self._stream = stream
        self._tries = tries
        self._first_wait = first_wait
        self._seconds = seconds

    def answer(self, system: str, question: str, token: Token) -> str:
        """The text that the model gives to one question; ModelError when there is none."""
        turn = self.turn([Message("system", system), Message("user", question)], token)
        if turn.stop == "refused":
            raise ModelError(Kind.REQUEST, f"{self.name} declines to answer. Ask something else.")
        if not turn.message.text.strip():
            raise ModelError(Kind.GARBLED, f"{self.name} gave an empty answer. Ask again.")
        return turn.message.text

    def turn(
        self,
        messages: Iterable[Message],
        token: Token,
        *,
        tools: Iterable[Mapping[str, Any]] = (),
        stop: Iterable[str] = (),
        hear: Heard | None = None,
    ) -> Turn:
        """What the model says next, calls of tools included; ModelError when it does not answer."""
        ask = Ask(tuple(messages), tuple(tools), tuple(stop), self._most_tokens)
        request = self._request(ask)
        patience = Deadline(token, self._seconds)
        for attempt in range(1, self._tries + 1):
            try:
                turn = self._once(request, token, patience, hear)
            except ModelError as error:
                wait = error.wait if error.wait is not None else self._first_wait * 2 ** (attempt - 1)
                if (
                    error.kind not in AGAIN
                    or attempt == self._tries
                    or wait > _LONGEST_WAIT
                    or not _lasts(patience, wait)
                ):
                    raise
                if hear is not None and error.kind in (Kind.CUT, Kind.GARBLED):
                    hear("\n[The answer was cut off; asking again.]\n")
                patience.sleep(wait)
            else:
                return turn if turn.usage.total else replace(turn, usage=_counted(ask, turn))
        raise AssertionError("there is at least one try")

    def hide(self, text: str) -> str:
        """A text without the key."""
        return text.replace(self.place.key, "[hidden]") if self.place.key else text

    def _request(self, ask: Ask) -> Request:
        path = self._speech.PATH
        if self.place.url.endswith("/v1"):
            path = path.removeprefix("/v1")
        body = self._speech.body(self.name, ask, stream=self._stream)
        accept = "text/event-stream" if self._stream else "application/json"
        return prepare("POST", self.place.url + path, {"accept": accept, **self._speech.headers(self.place.key)}, body)

    def _once(self, request: Request, token: Token, patience: Deadline, hear: Heard | None) -> Turn:
        listener = _Listener(self._speech, hear) if self._stream else None
        try:
            response = self._http.send(
                request,
                token,
                seconds=patience.left(),
                silence=_SILENCE,
                follow=False,  # what is sent holds a key
                robots=False,
                into=listener,
            )
            if response.status != 200:
                raise self._refused(response)
            if listener is None:
                return self._speech.read(decoded(response.body))
            return listener.turn(response)
        except Garbled as error:
            kind = Kind.CUT if listener is not None and listener.begun else Kind.GARBLED
            raise ModelError(kind, f"The answer of {self._who} cannot be read, because {error}. Try again.") from None
        except ModelError:
            raise
        except _StreamedError as error:
            raise self._failed(None, error.error, None) from None
        except ToolError as error:
            raise self._unreached(error, begun=listener is not None and listener.begun) from None

    @property
    def _who(self) -> str:
        return f"{self.place.provider} ({self.name})"

    def _unreached(self, error: ToolError, *, begun: bool) -> ModelError:
        """What the connection says, without what could be a part of the key."""
        if error.code is ErrorCode.CANCELLED:
            return ModelError(Kind.CANCELLED, "The question to the model was cancelled.")
        if error.code is ErrorCode.SECURITY:
            return ModelError(
                Kind.REQUEST, f"{self._who} is not asked: its URL may not be. Check {self.place.url_name}."
            )
        if error.code is ErrorCode.TIMEOUT:
            return ModelError(Kind.TIMEOUT, f"{self._who} did not answer in time. {self.hide(error.message)}")
        if error.code is ErrorCode.TOO_LARGE:
            return ModelError(Kind.REQUEST, f"{self._who}: {self.hide(error.message)}")
        kind = Kind.CUT if begun else Kind.NETWORK
        return ModelError(kind, f"{self._who} was not reached to the end: {self.hide(error.message)}")

    def _refused(self, response: Response) -> ModelError:
        return self._failed(response.status, error_in(response.body), _wait(response.headers))

    def _failed(self, status: int | None, error: Mapping[str, Any], wait: float | None) -> ModelError:
        kind = kind_of(status, error)
        place, number = self.place, f" ({status})" if status else ""
        said = self.hide(words_of(error))
        quoted = f" It says: {said!r}." if said else ""
        match kind:
            case Kind.KEY:  # not in its words: some of them repeat the key
                text = f"{self._who} refuses the key{number}. Check {place.key_name}, and that the account may use it."
            case Kind.MODEL:
                text = (
                    f"{self._who} does not know the model{number}. Check TOOLROLL_MODEL and {place.url_name}.{quoted}"
                )
            case Kind.RATE:
                text = f"{self._who} has had too many requests{number}. Wait, then try again.{quoted}"
            case Kind.BUSY:
                text = f"{self._who} is overloaded{number}. Try again later.{quoted}"
            case Kind.LONG:
                text = f"The conversation is too long for {self._who}{number}. Send less.{quoted}"
            case Kind.SERVER:
                text = f"{self._who} has a problem of its own{number}. Try again later.{quoted}"
            case _:
                text = f"{self._who} rejects the request{number}. Check TOOLROLL_MODEL and {place.url_name}.{quoted}"
        return ModelError(kind, text, wait=wait)


class _StreamedError(Exception):
    """An error that came as an event of a stream."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__()
        self.error = error


class _Listener:
    """Takes the pieces of a stream."""

    def __init__(self, speech: Speech, hear: Heard | None) -> None:
        self.begun = False
        self._speech = speech
        self._reader = speech.Reader()
        self._hear = hear
        self._events = Events()
        self._whole = bytearray()  # of an answer that is no stream

    def __call__(self, piece: bytes) -> None:
        if not self.begun:
            self._whole += piece
        try:
            for event in self._events.feed(piece):
                self._event(event.name, event.data)
        except OverlongError as error:
            raise Garbled(str(error)) from None

    def _event(self, name: str, data: str) -> None:
        if data.strip() == "[DONE]":
            self._reader.done()
            return
        found = decoded(data)
        if name == "error" or found.get("type") == "error" or found.get("error"):
            raise _StreamedError(error_in(data))
        self.begun = True
        self._reader.take(found)
        if self._reader.text and self._hear is not None:
            self._hear(self._reader.text)

    def turn(self, response: Response) -> Turn:
        """The turn that was streamed."""
        if self.begun:
            return self._reader.turn()
        kind = response.headers.get("content-type", "?").partition(";")[0].strip()
        if kind != "application/json":
            raise Garbled(f"it is {kind!r} and not a stream of events")
        found = decoded(bytes(self._whole))  # not all servers can stream
        if found.get("error"):
            raise _StreamedError(error_in(bytes(self._whole)))
        turn = self._speech.read(found)
        if self._hear is not None and turn.message.text:
            self._hear(turn.message.text)
        return turn


def _lasts(patience: Deadline, wait: float) -> bool:
    return wait < patience.left()


def _counted(ask: Ask, turn: Turn) -> Usage:
    said = sum(len(one.text) + sum(len(call.arguments) for call in one.calls) for one in ask.messages)
    message = turn.message
    return estimated(said, len(message.text) + sum(len(call.arguments) for call in message.calls))


def _wait(headers: Mapping[str, str]) -> float | None:
    """How long the server asks to wait: in milliseconds, in seconds, or until a date."""
    from email.utils import parsedate_to_datetime

    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        said = headers.get("retry-after", "").strip()
        if said.replace(".", "", 1).isdecimal():
            return float(said[:9])
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
