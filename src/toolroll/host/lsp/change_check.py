"""Find the problems that a change of files has caused: those of the new texts without those of the old ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolroll.host.lsp.answers import FileReport, Problem
from toolroll.host.lsp.diagnostics import check
from toolroll.host.lsp.targets import find_new_problems

if TYPE_CHECKING:
    from toolroll.host.lsp.client import LspClient
    from toolroll.host.runtime.cancellation import CancelToken

_TEST = re.compile(r"(^|/)(tests?|specs?|__tests__)/|(^|/)(test_|conftest\.)|[_.](test|spec)\.")
_ARGUMENT_TYPE = ("invalid-argument-type", "reportArgumentType", "2345")  # of ty, pyright and tsc


def find_caused(
    client: LspClient, before: Mapping[str, str], after: Mapping[str, str], token: CancelToken, deadline: float
) -> dict[str, list[Problem]]:
    """The new problems by file; a file that is in `after` alone is one that uses the others, and stays the same."""
    # clangd says nothing of a text that it has seen last: at the end of the old one a line is added.
    end = "" if client.offers("diagnosticProvider") else "\n"
    old_texts = {**after, **{path: f"{text}{end}" for path, text in before.items()}}
    try:
        old = check(client, old_texts, token, deadline)
    finally:  # whatever happened, the server has the texts that the files have
        for path, text in after.items():
            client.show(path, text)
    new = check(client, after, token, deadline)
    found: dict[str, list[Problem]] = {}
    for path, problems in new.items():
        known = old.get(path)
        if isinstance(problems, list) and isinstance(known, list) and not any(map(_is_header_missing, problems)):
            reports = FileReport(path, old_texts[path], known), FileReport(path, after[path], problems)
            sure = [one for one in find_new_problems(*reports) if _is_sure(one, client.server.sure)]
            found[path] = [one for one in sure if not _is_stand_in(path, one)]
    return found


def _is_header_missing(problem: Problem) -> bool:
    """Whether a file of C does not find what it includes: then hardly any error in it is sure."""
    return problem.code.startswith("pp_file_not_found")


def _is_stand_in(path: str, problem: Problem) -> bool:
    """Whether a test may mean it: it gives functions objects that stand in for those that they expect."""
    return problem.code in _ARGUMENT_TYPE and _TEST.search(path) is not None


def _is_sure(problem: Problem, sure: str) -> bool:
    return problem.severity == "error" and re.match(sure, f"{problem.code}: {problem.message}") is not None
