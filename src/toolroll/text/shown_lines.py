"""Lines of a file as a tool shows them."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolroll.result import Image, Looked, Suggestion
from toolroll.text.lines import counted

_NUMBERED = "{}\t{}"


@dataclass(slots=True)
class ShownLines:
    """Lines of a file. `content` is the text itself; the model sees it with line numbers."""

    path: str
    content: str
    start: int
    line_count: int
    total_lines: int | None
    truncated: bool
    folder: bool = False
    """They are the names in a folder."""
    ended: bool = False
    """A line feed follows the last line shown, and then the file ends."""
    form: str = _NUMBERED
    """How a line is written: its number, then its text."""
    more: Suggestion | None = None
    images: tuple[Image, ...] = ()
    meta: dict[str, str] = field(default_factory=dict)
    """The encoding, if it had to be guessed; of a document, what was left out or may be wrong."""
    looked: Looked | None = None
    """Of a document: how much text a converter has made of it."""

    @property
    def last(self) -> int:
        """The number of the last line shown."""
        return self.start + self.line_count - 1

    @property
    def exact(self) -> str:
        """The content with the line feed that ends the file, if all of it is shown."""
        return self.content + "\n" if self.ended and self.start == 1 else self.content

    def numbered(self, form: str) -> str:
        """The lines, each behind its number; in words what has none."""
        if self.images:
            said = f"{self.path}: an image of {len(self.images[0].data)} bytes."
            return f"{said} The text in it, letters may be wrong:\n{self.content}" if self.content else said
        if not self.line_count:
            total = self.total_lines
            return f"{self.path} has {counted(total, 'line')}." if total else f"{self.path} is empty."
        shown = enumerate(self.content.split("\n"), self.start)
        if form == _NUMBERED:  # mostly, and this way takes half the time
            return "\n".join([f"{number}\t{line}" for number, line in shown])
        return "\n".join([form.format(number, line) for number, line in shown])

    def __str__(self) -> str:
        return self.numbered(self.form)

    @property
    def note(self) -> str:
        """What is not shown, and what was guessed, in words."""
        said = []
        if self.truncated:
            total = "many" if self.total_lines is None else self.total_lines
            said.append(f"(Lines {self.start}-{self.last} of {total}.)")
        if "encoding" in self.meta:
            said.append(f"(Not UTF-8: read as {self.meta['encoding']}.)")
        if "document" in self.meta:
            said.append(f"({self.meta['document']})")
        return " ".join(said)
