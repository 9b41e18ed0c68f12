"""A spreadsheet: a table for each sheet."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Any, BinaryIO

from toolroll.host.convert import limits
from toolroll.host.convert.child import ConversionError, ConversionOutput
from toolroll.host.convert.readers.archive import is_encrypted, open_archive
from toolroll.host.convert.readers.markdown import table

_ZIP = b"PK"


def read(file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:  # noqa: ARG001 - all readers are alike
    """The values of each sheet as they were last computed."""
    from python_calamine import CalamineWorkbook, PasswordError, SheetTypeEnum

    if file.read(2) == _ZIP or is_encrypted(file):
        file.seek(0)
        open_archive(file, xml=limits.UNPACKED)  # it is read cell by cell
    file.seek(0)
    try:
        book = CalamineWorkbook.from_filelike(file)
    except PasswordError as error:
        raise ConversionError("password") from error
    sheets = [(at, one.name) for at, one in enumerate(book.sheets_metadata, 1) if one.typ == SheetTypeEnum.WorkSheet]
    left = limits.CELLS
    for done, (number, name) in enumerate(sheets, 1):
        sheet = book.get_sheet_by_index(number - 1)
        rows = min(sheet.height, left // max(sheet.width, 1))
        left -= rows * sheet.width
        first = islice(sheet.iter_rows(), rows)
        output.part(table([[format_value(cell) for cell in row] for row in first]), number, name)
        if rows < sheet.height:
            more = f" and {len(sheets) - done} more sheets are left out" if done < len(sheets) else " are left out"
            output.note(
                f"{sheet.height - rows} of {sheet.height} rows of sheet {name}{more}: save what matters as CSV."
            )
            break
        output.progress(done, len(sheets))


def format_value(value: Any) -> str:
    """A value as one would see it in its cell."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime):
        return value.isoformat(" ") if value.time() != time() else value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta) or value else str(value or "")
