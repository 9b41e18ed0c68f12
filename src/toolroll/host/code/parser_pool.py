"""Parse in child processes: a hostile source takes a parser minutes or crashes it, and no thread can stop that."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.code.parser_child import FAULT
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.launcher import Launcher
from toolroll.host.runtime.python_child import FrameTooLargeError, PythonChild
from toolroll.result import CouldNotLookError, ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.text.code.syntax.model import Tags
    from toolroll.text.code.syntax.patterns import PatternMatch

_S = TypeVar("_S")
_T = TypeVar("_T")

LanguageSource = tuple[str, bytes]  # a language, and a source in UTF-8

_TIMEOUT_S = 60.0  # on a machine where others compute too
_SOURCES_PER_REQUEST = 16
_REQUESTS_PER_CHILD = 24  # that are worth the start of one more child
_CHILD_MODULE = "toolroll.host.code.parser_child"
_GREP = "Use `grep` or `read`."


class TooHardError(Exception):
    """The parser took too long for a source, or crashed."""


def _read_error(code: str, message: str) -> ToolError:
    """The error that a child reports: without a grammar, or with a parser that does not work, nothing was looked at."""
    from toolroll.host.requirement import add_extra

    if code == FAULT:
        why = f"it does not work with the grammars that are installed ({message})."
        return CouldNotLookError("The parser", why, f"Install them again: {add_extra('code')}. {_GREP}")
    if code == ErrorCode.UNSUPPORTED:
        return CouldNotLookError("The parser", message, f"To add it: {add_extra('code')}", code=ErrorCode.UNSUPPORTED)
    return ToolError(ErrorCode(code), message)


class ParserPool:
    """A few parser children, started when there is work. Thread-safe."""

    def __init__(self, launcher: Launcher, most: int | None = None, *, idle: bool = False) -> None:
        """`idle`: its children compute only when nobody else does."""
        self._launcher = launcher
        self._words = ("idle",) if idle else ()
        self.most = most or max(1, min(4, os.cpu_count() or 1))
        self._free: list[_Child] = []
        self._slots = threading.BoundedSemaphore(self.most)
        self._lock = threading.Lock()
        self._closed = False

    def every_tags(
        self, sources: Sequence[LanguageSource], token: CancelToken | None = None, *, whole: bool = True
    ) -> list[Tags | Exception]:
        """The tags of each source, or why it has none; without `whole` only its definitions, which is less work."""
        from toolroll.text.code.syntax.model import PackedTags

        packed = self._each("tags" if whole else "definitions", "", sources, bytes, token)
        return [one if isinstance(one, Exception) else PackedTags(one) for one in packed]

    def every_match(
        self, sources: Sequence[LanguageSource], pattern: str, token: CancelToken | None = None
    ) -> list[list[PatternMatch] | Exception]:
        """Where each source matches a structural pattern, or the error."""
        import msgspec

        from toolroll.text.code.syntax.patterns import PatternMatch

        return self._each("matches", pattern, sources, msgspec.json.Decoder(list[PatternMatch]).decode, token)

    def every_facts(self, sources: Sequence[LanguageSource], token: CancelToken | None) -> list[bytes | Exception]:
        """The packed facts of each source, or why it has none; without a language, those of a text."""
        return self._each("facts", "", sources, bytes, token)

    def spread(self, work: Callable[[Sequence[_S]], _T], items: Sequence[_S]) -> Iterator[_T]:
        """The results of `work` on parts of the items, in order; in parallel if there are many."""
        parts = [items[at : at + _SOURCES_PER_REQUEST] for at in range(0, len(items), _SOURCES_PER_REQUEST)]
        if len(parts) <= _REQUESTS_PER_CHILD or self.most == 1:
            yield from map(work, parts)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(self.most, 1 + len(parts) // _REQUESTS_PER_CHILD)) as pool:
            try:
                yield from pool.map(work, parts)
            finally:
                pool.shutdown(cancel_futures=True)  # if one raised, the others are not needed

    def close(self) -> None:
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for child in free:
            child.close()

    def __del__(self) -> None:
        self.close()

    def _each(
        self,
        what: str,
        more: str,
        sources: Sequence[LanguageSource],
        unpack: Callable[[bytes], _T],
        token: CancelToken | None,
    ) -> list[_T | Exception]:
        """The answer for each source. After a failure they are sent one by one, so that only the hard one fails."""
        import msgspec

        head = msgspec.json.encode((what, more, [(language, len(source)) for language, source in sources]))
        try:
            with self._borrowed() as child:
                found = child.ask(head, b"".join(source for _, source in sources), token)
        except TooHardError as error:
            if len(sources) == 1:
                return [error]
            return [self._each(what, more, [one], unpack, token)[0] for one in sources]
        return [_read_error(code, message) if code else unpack(answer) for code, message, answer in found]

    @contextmanager
    def _borrowed(self) -> Iterator[_Child]:
        with self._slots:
            with self._lock:
                if self._closed:
                    raise ToolError(ErrorCode.CANCELLED, "This kit is closed.")
                child = self._free.pop() if self._free else None
            child = child or _Child(self._launcher, self._words)
            try:
                yield child
            except BaseException:
                child.close()  # it may be in the middle of a source
                raise
            self._give_back(child)

    def _give_back(self, child: _Child) -> None:
        with self._lock:
            closed = self._closed
            if not closed:
                self._free.append(child)
        if closed:
            child.close()


class _Child:
    """One child. After its death the next request starts another."""

    def __init__(self, launcher: Launcher, words: Sequence[str]) -> None:
        self._launcher, self._words = launcher, words
        self._process: PythonChild | None = None

    def ask(self, head: bytes, sources: bytes, token: CancelToken | None) -> list[tuple[str, str, bytes]]:
        """For each source: error code and message, both empty without an error, and the packed answer."""
        deadline = time.monotonic() + _TIMEOUT_S
        for _ in range(3):  # an idle child may end just when it is asked
            try:
                return self._answer(head, sources, token, deadline)
            except FrameTooLargeError:
                raise TooHardError("has too much in it") from None
            except TimeoutError:
                raise TooHardError("took too long") from None
            except EOFError:
                status = self.close()
                if status not in (-signal.SIGALRM, 0):
                    raise TooHardError(_reason(status)) from None
        raise CouldNotLookError("The parser", "it does not start.", _GREP)

    def close(self) -> int:
        """End the child; its exit status."""
        process, self._process = self._process, None
        return 0 if process is None else process.close()

    def _answer(
        self, head: bytes, sources: bytes, token: CancelToken | None, deadline: float
    ) -> list[tuple[str, str, bytes]]:
        import msgspec

        child = self._process = self._process or PythonChild(self._launcher, _CHILD_MODULE, self._words)
        child.send(head, sources)
        answers = msgspec.json.decode(child.receive_frame(token, deadline), type=list[tuple[str, str, int]])
        rest = child.receive(sum(size for _, _, size in answers), token, deadline)
        ends = accumulate(size for _, _, size in answers)
        return [(code, why, rest[end - size : end]) for (code, why, size), end in zip(answers, ends, strict=True)]


def _reason(status: int) -> str:
    return "took too long" if status == -signal.SIGPROF else "crashed the parser"
