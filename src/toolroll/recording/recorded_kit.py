"""A kit that writes each of its calls to a recording."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Literal, Unpack

from toolroll import __version__
from toolroll.formats import wire_text
from toolroll.host.approval.request import Answer, ApprovalRequest, ChangedCall, Refusal
from toolroll.host.files.versions import digest
from toolroll.host.recordings.recording_file import RecordingFile, is_beneath
from toolroll.kit import Kit
from toolroll.policy.secrets import Redaction
from toolroll.recording.changed_paths import changed_paths
from toolroll.recording.recording import WORKSPACE, AnswerRecord, CallRecord, encode_row, question_of
from toolroll.recording.start_files import keep_start
from toolroll.result import Result, ToolError
from toolroll.schema.check import parse_arguments
from toolroll.services import CallOptions

VARIABLE = "TOOLROLL_RECORD"
"""The environment variable that names the file of a recording."""


class RecordedKit(Kit):
    """A kit whose calls are written to a file, from `begin` on."""

    _file: RecordingFile | None = None

    def begin(self, path: str) -> None:
        """Write to this file. A new one begins with the files as they are now. ValueError if it cannot be used."""
        if is_beneath(path, self.workspace):
            raise ValueError(f"The recording {path!r} is in the workspace that it records. Put it elsewhere.")
        self._redact, self._writing = Redaction(os.environ), threading.Lock()
        try:
            self._file = RecordingFile(path)
            if self._file.is_new:
                self._file.add(encode_row(keep_start(self, __version__)), first=True)
        except ToolError as error:
            raise ValueError(error.message) from None
        except OSError as error:
            raise ValueError(f"{error.filename or path!r} cannot be written: {error.strerror}.") from None
        self._seen_size = self.journal.log.size()
        self._services.guard.answered = self._keep_answer

    def call(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, **options: Unpack[CallOptions]
    ) -> Result:
        result = super().call(name, arguments, **options)
        if self._file is not None:
            with self._writing:
                self._file.add(encode_row(self._describe(name, arguments, options.get("cwd", "."), result)))
        return result

    def _keep_answer(self, request: ApprovalRequest, answer: Answer) -> None:
        reason = answer.reason if isinstance(answer, Refusal) else ""
        changed = self._clean(answer.arguments) if isinstance(answer, ChangedCall) else None
        asked = question_of(request, self._clean)
        with self._writing:
            if self._file is not None:
                self._file.add(encode_row(AnswerRecord(asked, _word(answer), self._clean(reason), changed)))

    def _describe(self, name: str, arguments: Any, cwd: str, result: Result) -> CallRecord:
        try:
            given = parse_arguments(arguments)
        except ToolError:
            given = arguments
        size = self.journal.log.size()
        new = self.journal.log.entries_from(self._seen_size) if size != self._seen_size else []
        self._seen_size = size
        code = str(result.error.code) if result.error else ""
        images = [digest(one.data).hex() for one in result.images]
        changed = changed_paths(new)
        text = wire_text(result)
        return CallRecord(name, self._clean(given), result.status, self._clean(text), code, cwd, images, changed)

    def _clean(self, value: Any) -> Any:
        """The value without secrets and without the path of the workspace."""
        if isinstance(value, str):
            return self._redact(value.replace(self.workspace, WORKSPACE))
        if isinstance(value, Mapping):
            return {name: self._clean(one) for name, one in value.items()}
        return [self._clean(one) for one in value] if isinstance(value, list | tuple) else value

    def close(self) -> None:
        super().close()
        if self._file is not None:
            self._file.close()
            self._file = None


def _word(answer: Answer) -> Literal["once", "session", "no"]:
    if answer in ("session", "always"):
        return "session"
    return "once" if answer in (True, "once") or isinstance(answer, ChangedCall) else "no"
