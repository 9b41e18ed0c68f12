"""How much a conversion may take. All of its limits are here."""

from __future__ import annotations

from dataclasses import dataclass

BYTES = 64_000_000
"""Of a file that is converted."""
PAGES = 5_000
"""Of a PDF; also slides, and chapters of a book."""
ENTRIES = 10_000
"""Files in one that is an archive, as those of office programs are."""
UNPACKED = 100_000_000
"""Bytes of all that is in such an archive."""
XML = 40_000_000
"""Bytes of the XML in it, which becomes many times as large in memory."""
RATIO = 200
"""Bytes that one byte of an archive may become, in an entry of more than `FREE` bytes."""
FREE = 1_000_000
DEPTH = 200
"""Elements of XML in one another."""
CELLS = 3_000_000
"""Of a workbook."""
PIXELS = 50_000_000
"""Of a picture."""
SIDE = 2_000
"""Pixels that a picture keeps of its longer side when its text is read."""
FOUND_SIDE = 1_280
"""Pixels that it keeps where only the places of its lines are looked for."""
SCANNED = 20
"""Pages without text of which the text is read from their picture."""
MINUTES = 30
"""Of a recording."""
OUTPUT = 32_000_000
"""Bytes of what a child says."""


@dataclass(frozen=True, slots=True)
class ConversionLimits:
    """What one child may take."""

    cpu: int
    """Seconds of work."""
    memory: int
    """Bytes of data."""
    seconds: float
    """Of time, on a machine where others compute too."""
    unit: int = 0
    """Seconds of work more for each megabyte of the file, or for each page that is a picture."""

    def cpu_for(self, units: int) -> int:
        return self.cpu + self.unit * units

    def seconds_for(self, units: int) -> float:
        return self.seconds + 4.0 * self.unit * units


DOCUMENT = ConversionLimits(cpu=5, memory=256 << 20, seconds=30.0, unit=1)
PICTURE = ConversionLimits(cpu=45, memory=1536 << 20, seconds=180.0)
SCAN = ConversionLimits(cpu=45, memory=1536 << 20, seconds=180.0, unit=25)
SPEECH = ConversionLimits(cpu=900, memory=1536 << 20, seconds=900.0)
