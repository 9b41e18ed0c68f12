"""The views of a kit: what the console shows of its journal, forks, jobs, knowledge and settings."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from toolroll.result import ErrorCode, ToolError, as_tool_error

if TYPE_CHECKING:
    from toolroll.kit import Kit

ViewFunction = Callable[..., dict[str, Any]]
"""Takes a kit and the parameters of a method by name; its signature says which there are."""

VIEWS = {
    "journal": "journal.list_entries",
    "journal_entry": "journal.show_entry",
    "undo": "journal.undo",
    "rewind": "journal.rewind",
    "rewind_preview": "journal.preview_rewind",
    "checkpoint": "journal.checkpoint",
    "blame": "journal.blame",
    "forks": "forks.list_forks",
    "jobs": "jobs.list_jobs",
    "job_output": "jobs.read_output",
    "job_keys": "jobs.press_keys",
    "job_stop": "jobs.stop_job",
    "todos": "knowledge.list_todos",
    "notes": "knowledge.find_notes",
    "memory": "knowledge.find_memories",
    "library": "knowledge.search_library",
    "doctor": "doctor.list_facts",
    "config": "config.show_settings",
}
"""The module and the function of each method."""


def show(kit: Kit, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a method of `VIEWS`; ToolError, with a sentence for a person, if that is not possible."""
    if kit.closed.is_set():
        raise ToolError(ErrorCode.CANCELLED, "The process has closed its workspace.")
    view, shape = _load(method)
    try:
        given = msgspec.convert(params, shape)
        return view(kit, **{name: getattr(given, name) for name in shape.__struct_fields__})
    except (msgspec.ValidationError, ValueError) as error:
        raise ToolError(ErrorCode.VALIDATION, f"{method!r}: {str(error).rstrip('.')}.") from None
    except OSError as error:
        known = as_tool_error(error) or ToolError(ErrorCode.IO, f"{error}.")
        raise known from error


def digest(*shown: Any) -> str:
    """Identify what a person was shown: an act names it, and is refused when that is no longer what there is."""
    return hashlib.blake2b(repr(shown).encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


def check_digest(given: str, now: str, what: str) -> None:
    """ToolError unless an act names what there is now."""
    if given != now:
        raise ToolError(ErrorCode.CONFLICT, f"{what} is not what was shown. Nothing was done: look at it again.")


@cache
def _load(method: str) -> tuple[ViewFunction, type[msgspec.Struct]]:
    """The function of a method, and the parameters that it takes."""
    module, _, name = VIEWS[method].partition(".")
    view: ViewFunction = getattr(import_module(f"{__name__}.{module}"), name)
    hints = get_type_hints(view, include_extras=True)
    taken = list(inspect.signature(view).parameters.values())[1:]
    required = [(one.name, hints[one.name]) for one in taken if one.default is one.empty]
    optional = [(one.name, hints[one.name], one.default) for one in taken if one.default is not one.empty]
    return view, msgspec.defstruct(method, [*required, *optional], forbid_unknown_fields=True)
