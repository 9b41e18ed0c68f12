"""How much a conversion may take. All of its limits are here."""

from __future__ import annotations

from dataclasses import dataclass

BYTES = 64_000_000  # of a file that is converted
PAGES = 5_000  # of a PDF; also slides, and chapters of a book
ENTRIES = 10_000  # files in one that is an archive, as those of office programs are
UNPACKED = 100_000_000  # bytes of all that is in such an archive
XML = 40_000_000  # bytes of the XML in it, which becomes many times as large in memory
RATIO = 200  # bytes that one byte of an archive may become, in an entry of more than `FREE` bytes
FREE = 1_000_000
DEPTH = 200  # elements of XML in one another
CELLS = 500_000  # of a workbook; rows after these are left out, and a note says so
PIXELS = 50_000_000  # of a picture
SIDE = 2_000  # pixels that a picture keeps of its longer side when its text is read
FOUND_SIDE = 1_280  # pixels that it keeps where only the places of its lines are looked for
SCANNED = 20  # pages without text of which the text is read from their picture
MINUTES = 30  # of a recording
OUTPUT = 32_000_000  # bytes of what a child says


@dataclass(frozen=True, slots=True)
class ConversionLimits:
    """What one child may take."""

    cpu: int  # seconds of work
    memory: int  # bytes of data
    seconds: float  # of time, on a machine where others compute too
    unit: int = 0  # seconds of work more for each megabyte of the file, or for each page that is a picture

    def cpu_for(self, units: int) -> int:
        return self.cpu + self.unit * units

    def seconds_for(self, units: int) -> float:
        return self.seconds + 4.0 * self.unit * units


DOCUMENT = ConversionLimits(cpu=5, memory=256 << 20, seconds=30.0, unit=1)
PICTURE = ConversionLimits(cpu=45, memory=1536 << 20, seconds=180.0)
SCAN = ConversionLimits(cpu=45, memory=1536 << 20, seconds=180.0, unit=25)
SPEECH = ConversionLimits(cpu=900, memory=1536 << 20, seconds=900.0)
