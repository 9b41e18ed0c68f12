"""A PowerPoint presentation: each slide with its title, its text and tables, and its notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from toolroll.host.convert import limits
from toolroll.host.convert.child import ConversionError, ConversionOutput
from toolroll.host.convert.readers.archive import open_archive
from toolroll.host.convert.readers.markdown import heading, table


def read(file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:  # noqa: ARG001 - all readers are alike
    """A part for each slide."""
    open_archive(file)
    from pptx import Presentation
    from pptx.opc.constants import RELATIONSHIP_TYPE

    show = Presentation(file)
    if any(one.reltype == RELATIONSHIP_TYPE.CORE_PROPERTIES for one in show.part.package.iter_rels()):
        output.title(show.core_properties.title)  # the library makes one up where there is none
    slides = list(show.slides)
    if len(slides) > limits.PAGES:
        raise ConversionError("pages", len(slides))
    for number, slide in enumerate(slides, 1):
        top = slide.shapes.title
        title = " ".join(top.text_frame.text.split()) if top is not None else ""
        own = top.shape_id if top is not None else None
        blocks = [heading(title, 2)] if title else []
        blocks += [
            block for shape in _iter_shapes(slide.shapes) if shape.shape_id != own for block in _iter_blocks(shape)
        ]
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if notes is not None and notes.text.strip():
            blocks.append(f"Notes: {notes.text.strip()}")
        output.part("\n\n".join(filter(None, blocks)), number, title)
        output.progress(number, len(slides))


def _iter_shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """All shapes, those in groups too."""
    todo = list(reversed(list(shapes)))
    while todo:
        shape = todo.pop()
        if hasattr(shape, "shapes"):
            todo += reversed(list(shape.shapes))
        else:
            yield shape


def _iter_blocks(shape: Any) -> Iterator[str]:
    if shape.has_text_frame:
        lines = [(one.level, "".join(run.text for run in one.runs).strip()) for one in shape.text_frame.paragraphs]
        yield "\n".join(f"{'  ' * level}{'- ' if len(lines) > 1 else ''}{text}" for level, text in lines if text)
    if getattr(shape, "has_table", False):
        yield table([[cell.text_frame.text for cell in row.cells] for row in shape.table.rows])
