"""toolroll's own language: every tool under its own name, 1-based inclusive lines, seconds."""

from toolroll.dialect import Dialect, Profile

DIALECT = Dialect(
    "native",
    "toolroll's own: short names, 1-based inclusive lines, seconds.",
    profile=Profile(verdicts=True, notes_repeats=True),
)
