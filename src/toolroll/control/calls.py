"""The last calls of a process, as they happen: what was asked, and the result as the model saw it."""

from __future__ import annotations

import copy
import itertools
import threading
import time
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.steps import Metrics, Record
from toolroll.text.tokens import estimate

if TYPE_CHECKING:
    from toolroll.host.runtime.call import Call
    from toolroll.result import Result

MAX_CALLS = 10_000
MAX_CHARS = 32_000_000
"""Of arguments, texts and pictures together; the oldest calls lose theirs first."""
LISTED_CHARS = 2_000
"""Of a text in a list; `text_of` has the whole."""
_MAX_PICTURE_BYTES = 4_000_000  # of one call
_PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""Types by the first bytes. Never SVG, which can hold code."""
_DROPPED = "[The text of this call is no longer kept.]"

OnCall = Callable[["LiveCall"], None]


class LiveCall:
    """One call, running or ended."""

    __slots__ = (
        "arguments",
        "client",
        "code",
        "images",
        "pictures",
        "seconds",
        "seq",
        "session",
        "started",
        "status",
        "text",
        "tool",
    )

    def __init__(self, seq: int, call: Call, arguments: bytes) -> None:
        self.seq = seq
        self.session, self.client, self.tool = call.session, call.client, call.name
        self.arguments = arguments  # as JSON: the caller may change its own later
        self.status, self.code, self.text, self.images = "running", "", "", 0
        self.pictures: tuple[tuple[str, bytes], ...] = ()  # those of the images that a page may draw, with their types
        self.started, self.seconds = time.time(), 0.0

    @property
    def size(self) -> int:
        return len(self.arguments) + len(self.text) + sum(len(data) for _, data in self.pictures)

    def to_dict(self, most: int = LISTED_CHARS) -> dict[str, Any]:
        """The call as the protocol sends it, with long texts cut."""
        arguments, shorter = _cut(self._arguments(), most)
        rest = {name: getattr(self, name) for name in _PLAIN}
        text, cut = self.text[:most], shorter or len(self.text) > most
        return {**rest, "arguments": arguments, "text": text, "cut": cut, "tokens": estimate(self.text)}

    def contains(self, text: str) -> bool:
        """Whether a text, in lower case, is in the tool, the arguments or the result."""
        words = (self.tool, self.client, self.arguments.decode("utf-8", "replace"), self.text)
        return any(text in one.lower() for one in words)

    def _arguments(self) -> Any:
        try:
            return msgspec.json.decode(self.arguments)
        except msgspec.DecodeError:  # a model's text that is no JSON
            return {"": self.arguments.decode("utf-8", "replace")}


_PLAIN = ("seq", "session", "client", "tool", "status", "code", "images", "started", "seconds")


class LiveCalls:
    """The last calls of a process. `begin` is a watcher of a kit's calls."""

    def __init__(self, show: Callable[[Result], str] | None = None) -> None:
        """`show` gives the text that the model sees, where it is not that of the result."""
        self._show = show
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._calls: deque[LiveCall] = deque()
        self._whole: deque[LiveCall] = deque()  # those that have ended and still have their text
        self._chars = 0
        self.metrics = Metrics()
        """Of all calls of the process, whichever kit made them and also those that are no longer kept."""
        self.listeners: tuple[OnCall, ...] = ()
        """Get a copy of each call when it begins and when it has ended. They must return at once."""

    def begin(self, call: Call, given: Mapping[str, Any] | str | None) -> Callable[[Result | None, float], None]:
        """Keep a call that begins; returns what is to be called when it has ended."""
        arguments = _encode(given)
        with self._lock:
            one = LiveCall(next(self._numbers), call, arguments)
            self._calls.append(one)
            if len(self._calls) > MAX_CALLS:
                self._drop_text(self._calls.popleft())
                while self._whole and self._whole[0].text is _DROPPED:
                    self._whole.popleft()
        self._notify(one)
        return partial(self._end, one, call)

    def amend(self, seq: int, text: str) -> None:
        """Replace the text of a call, if the model was sent another one."""
        if (one := self._find(seq)) is not None and one.text not in (text, _DROPPED):
            with self._lock:
                self._chars += len(text) - len(one.text)
                one.text = text
            self._notify(one)

    def all(self, since: int = 0) -> list[LiveCall]:
        """The calls after a number, and those that still run, the oldest first."""
        with self._lock:
            return [one for one in self._calls if one.seq > since or one.status == "running"]

    def page(self, before: int | None, limit: int, text: str | None) -> tuple[list[dict[str, Any]], bool]:
        """The newest calls before a number that contain a text, the newest first; and whether there are more."""
        with self._lock:
            known = list(self._calls)
        asked = text.lower() if text else ""
        older = (one for one in reversed(known) if before is None or one.seq < before)
        found = list(itertools.islice((one for one in older if not asked or one.contains(asked)), limit + 1))
        return [one.to_dict() for one in found[:limit]], len(found) > limit

    def text_of(self, seq: int) -> dict[str, Any]:
        """The whole text and arguments of a call; ValueError if it is not kept."""
        if (one := self._find(seq)) is None:
            raise ValueError(f"There is no call {seq}: the last {MAX_CALLS:,} are kept.")
        pictures = [f"data:{kind};base64,{b64encode(data).decode()}" for kind, data in one.pictures]
        return {"text": one.text, "arguments": one._arguments(), "pictures": pictures}

    def sessions(self) -> list[str]:
        """The sessions that have made calls, the one that was used last first."""
        with self._lock:
            known = list(self._calls)
        return list(dict.fromkeys(one.session for one in reversed(known)))

    @property
    def last(self) -> int:
        """The number of the newest call; 0 if there is none."""
        return self._calls[-1].seq if self._calls else 0

    def _find(self, seq: int) -> LiveCall | None:
        with self._lock:
            at = seq - self._calls[0].seq if self._calls else -1
            return self._calls[at] if 0 <= at < len(self._calls) else None

    def _end(self, one: LiveCall, call: Call, result: Result | None, seconds: float) -> None:
        one.tool, one.seconds = call.name, seconds  # the name of the tool that was meant
        if result is None:
            one.status = "raised"
        else:
            one.text = self._show(result) if self._show is not None else result.text
            one.images, one.status = len(result.images), result.status
            one.pictures = _choose_pictures(image.data for image in result.images)
            one.code = str(result.error.code) if result.error else ""
            result.meta["live_call"] = one.seq
        self.metrics.add(Record(one.tool, {}, "", "", one.status, one.code or None, seconds, len(one.text)))
        with self._lock:
            if one.seq >= self._calls[0].seq:  # else it ran longer than the calls are kept
                self._whole.append(one)
                self._chars += one.size
            while self._chars > MAX_CHARS and len(self._whole) > 1:
                self._drop_text(self._whole.popleft())
        self._notify(one)

    def _drop_text(self, one: LiveCall) -> None:
        if one.text is not _DROPPED and one.status != "running":
            self._chars -= one.size
            one.text, one.arguments, one.pictures = _DROPPED, b"{}", ()

    def _notify(self, one: LiveCall) -> None:
        if self.listeners:
            now = copy.copy(one)
            for listener in self.listeners:
                listener(now)


def _choose_pictures(images: Iterable[bytes]) -> tuple[tuple[str, bytes], ...]:
    """The first images whose content is of a type that browsers draw and that holds no code, with that type."""
    found, left = list[tuple[str, bytes]](), _MAX_PICTURE_BYTES
    for data in images:
        kind = next((kind for start, kind in _PICTURES.items() if data.startswith(start)), None)
        if kind is None and data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            kind = "image/webp"
        if kind is not None and len(data) <= left:
            found.append((kind, data))
            left -= len(data)
    return tuple(found)


def _encode(given: Mapping[str, Any] | str | bytes | None) -> bytes:
    if isinstance(given, str):
        return given.encode("utf-8", "replace")
    try:
        return msgspec.json.encode(given or {}, enc_hook=repr)
    except (TypeError, ValueError, RecursionError):  # keys or characters that JSON has not
        return msgspec.json.encode({"": repr(given).encode("utf-8", "replace").decode()})


def _cut(value: Any, most: int) -> tuple[Any, bool]:
    """A JSON value of about `most` characters: long texts are cut, and what comes after them is left out."""
    left = most
    cut = False

    def shorten(one: Any) -> Any:
        nonlocal left, cut
        if isinstance(one, dict):
            return {name: shorten(part) for name, part in _some(one.items())}
        if isinstance(one, list):
            return [shorten(part) for part in _some(one)]
        if not isinstance(one, str):
            left -= 8
            return one
        shown = one[: max(left, 0)]
        left -= len(one)
        cut = cut or len(shown) < len(one)
        return shown

    def _some(parts: Any) -> Iterator[Any]:
        nonlocal cut
        for part in parts:
            if left <= 0:
                cut = True
                return
            yield part

    return shorten(value), cut
