"""A spreadsheet: a table for each sheet."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
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
        open_archive(file)
    file.seek(0)
    try:
        book = CalamineWorkbook.from_filelike(file)
    except PasswordError as error:
        raise ConversionError("password") from error
    sheets = [(at, one.name) for at, one in enumerate(book.sheets_metadata, 1) if one.typ == SheetTypeEnum.WorkSheet]
    cells = 0
    for done, (number, name) in enumerate(sheets, 1):
        sheet = book.get_sheet_by_index(number - 1)
        cells += sheet.height * sheet.width
        if cells > limits.CELLS:
            raise ConversionError("cells")
        output.part(table([[format_value(cell) for cell in row] for row in sheet.iter_rows()]), number, name)
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
