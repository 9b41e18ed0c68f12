"""Answers from the library: passages are found, a model answers from them, and what it does not cite is not told."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from toolroll.result import ToolError
from toolroll.text.knowledge import answering
from toolroll.text.knowledge.answering import Answered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolroll.host.http.client import Client
    from toolroll.host.knowledge.ingest import Ingest
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.text.knowledge.passages import Found

_PASSAGES = "so this is no answer yet but the passages for one. Answer from them alone, and cite them by their numbers."
_NO_MODEL = f"No language model is set up here, {_PASSAGES}"
_UNKNOWN = "No passage answers this: the library does not know. Do not answer from it."


def ask(
    library: Ingest, query: str, limit: int, *, http: Client, environment: Mapping[str, str], token: CancelToken
) -> Answered | Found:
    """An answer that cites its passages; without a model, or if it fails or does not keep to them, the passages."""
    from toolroll.host.models.chat.config import load_model

    model = load_model(environment, http)
    found = library.search(query, limit, lead="" if model else _NO_MODEL, none=_UNKNOWN)
    if model is None or not found.passages:
        return found
    mark = os.urandom(8).hex()
    said = answering.question(query, found.passages, mark)
    try:
        answer = model.answer(answering.instruction(mark), said, token).strip()
    except ToolError as error:  # what was found is there without it
        token.check()  # unless it is the call itself that ends
        return replace(found, lead=f"The model gave no answer, {_PASSAGES} {error.message}")
    if why := answering.refusal(answer, len(found.passages)):
        return replace(found, lead=f"{why} What the library has that is nearest:")
    sources = {str(number): found.passages[number - 1] for number in answering.citations(answer)}
    told, remarks = answering.grounded(answer)
    return Answered(told, sources, model.name, found.ranking, [*remarks, *found.reasons])
