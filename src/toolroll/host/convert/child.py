"""The child process: limits itself, reads the file from its stdin, and writes what is in it as lines of JSON."""

from __future__ import annotations

import json
import resource
import sys
from contextlib import suppress
from typing import BinaryIO, Protocol

from toolroll.host.convert import limits


class DocumentReader(Protocol):
    """A module of `readers`."""

    def read(self, file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:
        """Write all that is in the file."""


def main(reader: str, cpu: str, memory: str, *words: str) -> None:
    """Convert what is on stdin."""
    for which, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),  # nothing is written but to the pipe
        (resource.RLIMIT_DATA, int(memory)),
        (resource.RLIMIT_AS, int(memory) + (4 << 30)),  # code and files that are only looked at count here too
    ):
        _limit(which, most, most)
    _limit(resource.RLIMIT_CPU, int(cpu), int(cpu) + 1)
    output = ConversionOutput()
    try:
        with open(0, "rb", closefd=False) as file:
            _load(reader).read(file, output, list(words))
    except ConversionError as error:
        output.fail(error.name, error.number)
    except (MemoryError, RecursionError):
        output.fail("much")
    except ImportError:
        raise  # it is not the file that is wrong
    except Exception as error:
        # Parsers meet a file that is not what it seems with errors of any kind.
        print(f"{type(error).__name__}: {error}"[:500], file=sys.stderr)
        output.fail("deep" if "xcessive depth" in str(error) else "damaged")


def _load(reader: str) -> DocumentReader:
    from importlib import import_module

    found: DocumentReader = import_module(f"toolroll.host.convert.readers.{reader}")
    return found


def _limit(which: int, soft: int, hard: int) -> None:
    with suppress(ValueError, OSError):  # not to be had on macOS
        resource.setrlimit(which, (soft, hard))


class ConversionError(Exception):
    """A file cannot be converted: by the name of a message in `errors`, and a number for that."""

    def __init__(self, name: str, number: int = 0) -> None:
        super().__init__(name)
        self.name = name
        self.number = number


class ConversionOutput:
    """Where a reader puts what it has found."""

    def __init__(self) -> None:
        self._bytes = 0

    def part(self, text: str, page: int = 0, title: str = "") -> None:
        if text.strip():
            self._write("part", text, page, " ".join(title.split())[:200])

    def title(self, title: str | None) -> None:
        if title and title.strip():
            self._write("title", " ".join(title.split())[:500])

    def note(self, text: str) -> None:
        self._write("note", text)

    def scanned(self, page: int) -> None:
        self._write("scanned", page)

    def progress(self, done: int, total: int) -> None:
        self._write("progress", done, total)

    def fail(self, name: str, number: int = 0) -> None:
        self._write("failure", name, number)

    def _write(self, *words: str | int) -> None:
        line = json.dumps(words, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._bytes += len(line)
        if self._bytes > limits.OUTPUT and words[0] != "failure":
            raise ConversionError("output")
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
