"""Answer from the library: find passages, let a model answer from them, drop what cites none."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from toolroll.result import ToolError
from toolroll.text.knowledge import answering
from toolroll.text.knowledge.answering import CitedAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolroll.host.http.client import Client
    from toolroll.host.knowledge.ingest import Ingest
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.text.knowledge.passages import PassageResults

_PASSAGES = "so here are the passages. Answer from them alone, and cite them by their numbers."
_NO_MODEL = f"No language model is set up here, {_PASSAGES}"
_UNKNOWN = "No passage answers this: the library does not know. Do not answer from it."


def ask(
    library: Ingest, query: str, limit: int, *, http: Client, environment: Mapping[str, str], token: CancelToken
) -> CitedAnswer | PassageResults:
    """An answer that cites its passages; without a model, or if it fails or does not keep to them, the passages."""
    from toolroll.host.models.chat.config import load_model

    model = load_model(environment, http)
    found = library.search(query, limit, lead="" if model else _NO_MODEL, none=_UNKNOWN)
    if model is None or not found.passages:
        return found
    mark = os.urandom(8).hex()
    said = answering.write_question(query, found.passages, mark)
    try:
        answer = model.answer(answering.write_instruction(mark), said, token).strip()
    except ToolError as error:  # what was found is there without it
        token.check()  # unless it is the call itself that ends
        return replace(found, lead=f"The model gave no answer, {_PASSAGES} {error.message}")
    if why := answering.explain_refusal(answer, len(found.passages)):
        return replace(found, lead=f"{why} What the library has that is nearest:")
    sources = {str(number): found.passages[number - 1] for number in answering.find_citations(answer)}
    text, remarks = answering.drop_uncited(answer)
    return CitedAnswer(text, sources, model.name, found.ranking, [*remarks, *found.reasons])
