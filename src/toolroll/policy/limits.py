"""How much a call may read, show, keep and wait for. A dialect or the operator sets other values."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from toolroll.result import MAX_WHOLE_CHARS

_MAX_WHOLE_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Plain numbers. Bytes, characters, rows and seconds, as the names say."""

    read_bytes: int | None = None
    """Larger files are not read; without a limit, files of any size are read in parts."""
    write_bytes: int = 50_000_000
    line_chars: int = 2_000
    """A longer line is cut when it is shown."""
    output_chars: int = 50_000
    """What one result may show; the rest is kept and can be read on."""
    search_bytes: int = 50_000_000
    """Of larger files a search of a folder shows nothing."""
    search_rows: int = 20_000
    """A search stops after this many matching lines, and says so."""
    answer_seconds: float = 10.0
    """A call that only reads answers a model after this long with what is there; the next call gets the rest."""
    call_seconds: float = 600.0
    test_seconds: float = 120.0
    """A test run ends after this long where the call gives no time; more lengthens calls too."""
    concurrency: int = 16
    foreground_seconds: float = 60.0
    """A command that may become a job becomes one when it still runs after this long."""
    jobs: int = 50
    """So many commands may run in the background."""
    memory_bytes: int = 4 * 1024**3
    """A command whose processes use more together is killed."""
    processes: int = 512
    """A command with more processes is killed."""
    file_bytes: int = 8 * 1024**3
    """The largest file that a command may write."""
    undo_file_bytes: int = 16_000_000
    """Of a larger file that git could not restore nothing is kept before a command runs."""
    undo_bytes: int = 256_000_000
    """So much is kept of all such files of a workspace together."""
    fork_bytes: int = 2 * 1024**3
    """A larger workspace is not copied for a fork; overlays and reflinks copy nothing."""
    code_calls: int = 1_000
    """So many calls of tools may a program of `python` make, in code mode."""
    code_bytes: int = 256 << 20
    """So many bytes may these calls and their results have together."""
    cpu_seconds: int | None = None
    """Of the processor, for each process of a command; None leaves it to the time limit of the call."""

    def for_whole_data(self, output_chars: int) -> Limits:
        """Those of a call whose data a program gets: what is for the eyes of a model bounds nothing."""
        most = {"line_chars": MAX_WHOLE_CHARS, "search_rows": _MAX_WHOLE_ROWS, "output_chars": output_chars}
        return replace(self, **{name: max(getattr(self, name), value) for name, value in most.items()})

    def __post_init__(self) -> None:
        """Refuse what would make every call wait, or fail with another error."""
        for one in fields(self):
            value = getattr(self, one.name)
            least = 1 if one.name in ("concurrency", "processes") else 0
            if isinstance(one.default, str) or (value is None and one.default is None):
                continue
            if not isinstance(value, int | float) or not value >= least:
                raise ValueError(f"The limit {one.name} is {value!r}. Give a number from {least}.")
