"""A library that a program gives to its kit (`KnowledgeStore`), in place of that of the workspace."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import NoReturn, Protocol, TypeVar, runtime_checkable

from toolroll.host.runtime.call import Progress
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.result import CouldNotLookError, ErrorCode, ToolError
from toolroll.text.knowledge.chunks import Chunk, join_pieces
from toolroll.text.knowledge.passages import Hits, LibraryDocument, Passage, RankingMethod

ANSWER_SECONDS = 60.0
"""How long a store may take for one answer."""
T = TypeVar("T")


@runtime_checkable
class KnowledgeStore(Protocol):
    """Documents in a database or service of the program. It is called from several threads."""

    def add(self, source: str, text: str) -> None:
        """Keep a text under the name of its source, in place of what was kept under it."""

    def search(self, query: str, limit: int) -> Iterable[Passage]:
        """The passages that answer a question, the best first."""


class ProgramLibrary:
    """The part of `Library` that a `KnowledgeStore` can do; all else is refused."""

    def __init__(self, store: KnowledgeStore, token: CancelToken) -> None:
        self._store = store
        self._token = token

    def knows(self, _document: LibraryDocument) -> bool:
        return False

    def put_all(self, documents: Sequence[tuple[LibraryDocument, Sequence[Chunk]]]) -> list[bool]:
        """Give documents to the store, which knows by itself whether it had older versions."""
        for document, chunks in documents:
            text = join_pieces(one.text for one in chunks)
            self._ask(partial(self._store.add, document.source, text))
        return [False] * len(documents)

    def put(self, document: LibraryDocument, chunks: Sequence[Chunk]) -> bool:
        return self.put_all([(document, chunks)])[0]

    def search(self, query: str, limit: int) -> Hits:
        """What the store answers."""
        passages = self._ask(lambda: list(self._store.search(query, limit)))
        kept = [replace(one, kind="text") for one in passages[:limit]]  # no file of the workspace to compare with
        return Hits(kept, len(passages), RankingMethod(reason="The library of this program ranks by itself."))

    def embed(self, _progress: Progress, _seconds: float) -> str:
        return ""

    def documents(self) -> list[tuple[str, str, str]]:
        return []

    def __getattr__(self, name: str) -> NoReturn:
        raise ToolError(
            ErrorCode.UNSUPPORTED, "The library of this kit is a program's own: it can be added to and searched only."
        )

    def _ask(self, ask: Callable[[], T]) -> T:
        """What the store gives; ToolError if it raises, or is silent until the call ends."""
        answer = Future[T]()

        def work() -> None:
            try:
                answer.set_result(ask())
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=work, name="toolroll-knowledge", daemon=True).start()
        token = self._token.within(ANSWER_SECONDS)
        while not answer.done() and not token.cancelled and token.remaining() > 0:
            try:
                answer.exception(POLL_SECONDS)
            except TimeoutError:
                continue
        if not answer.done():
            self._token.check()
            why = f"The knowledge store gave no answer in {ANSWER_SECONDS:g} seconds."
            raise CouldNotLookError("The knowledge store", why, message=why, code=ErrorCode.TIMEOUT)
        error = answer.exception()
        if isinstance(error, ToolError):
            raise error
        if error is not None:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            message = f"The knowledge store failed: {said}"
            raise CouldNotLookError("The knowledge store", said, message=message) from error
        return answer.result()
