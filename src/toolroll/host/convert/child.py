"""The child process: sets its own limits, reads the file from its stdin, and writes what is in it."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from typing import BinaryIO, Protocol

from toolroll.host.convert.protocol import ConversionOutput, TroubleError


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
    except TroubleError as trouble:
        output.trouble(trouble.name, trouble.number)
    except (MemoryError, RecursionError):
        output.trouble("much")
    except ImportError:
        raise  # it is not the file that is wrong
    except Exception as error:
        # Parsers meet a file that is not what it seems with errors of any kind.
        print(f"{type(error).__name__}: {error}"[:500], file=sys.stderr)
        output.trouble("deep" if "xcessive depth" in str(error) else "damaged")


def _load(reader: str) -> DocumentReader:
    from importlib import import_module

    found: DocumentReader = import_module(f"toolroll.host.convert.readers.{reader}")
    return found


def _limit(which: int, soft: int, hard: int) -> None:
    with suppress(ValueError, OSError):  # not to be had on macOS
        resource.setrlimit(which, (soft, hard))
