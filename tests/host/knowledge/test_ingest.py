"""Documents that are not text on their way into the library, with the pages that they are cited by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.host.convert import files
from tests.host.convert.files import paragraph
from toolroll import ErrorCode, Kit
from toolroll.host.convert.converter import Converted, Converter
from toolroll.host.convert.formats import Format
from toolroll.host.knowledge import ingest as module


def add(kit: Kit, path: str, **options: object) -> str:
    result = kit.call("rag", {"action": "add_document", "path": path}, **options)
    return result.text if result.error is None else f"{result.error.code}: {result.error.message}"


def cited(kit: Kit, query: str) -> list[str]:
    data = kit.call("rag", {"action": "search", "query": query}).data
    return [one["citation"] for one in data["passages"]]


@pytest.fixture
def kit(open_kit: Callable[..., Kit]) -> Kit:
    return open_kit()


def test_pages_sheets_and_slides_are_cited(kit: Kit) -> None:
    folder = Path(kit.workspace)
    (folder / "pilot.pdf").write_bytes(files.pdf("Harbours are deep.", "Tides rise in spring."))
    (folder / "ships.xlsx").write_bytes(files.xlsx())
    (folder / "guide.docx").write_bytes(files.docx(paragraph("Lanterns burn oil.")))
    told: list[tuple[float, float | None, str]] = []
    assert add(kit, "pilot.pdf", progress=lambda *words: told.append(words)).startswith("Added pilot.pdf (2 pieces).")
    assert (2, 2, "page 2") in told
    assert add(kit, ".").startswith("Added 2 documents, Unchanged: pilot.pdf (3 pieces).")
    assert cited(kit, "tides spring")[0] == "pilot.pdf p. 2"
    assert cited(kit, "Aurora")[0] == "ships.xlsx sheet Ships"
    assert cited(kit, "lanterns")[0].startswith("guide.docx:1")


def test_a_changed_document_takes_the_place_of_the_old_one(kit: Kit) -> None:
    where = Path(kit.workspace) / "a.docx"
    where.write_bytes(files.docx(paragraph("Lanterns burn oil.")))
    assert add(kit, "a.docx").startswith("Added a.docx (1 piece).")
    assert add(kit, "a.docx").startswith("Unchanged: a.docx.")
    candles = files.docx(paragraph("Candles burn wax."))
    where.write_bytes(candles)
    found = kit.call("rag", {"action": "search", "query": "lanterns"})
    assert "Left out, because they changed or are gone since they were added: a.docx." in found.text
    assert found.data["passages"] == []
    assert add(kit, "a.docx").startswith("Replaced a.docx (1 piece).")
    where.write_bytes(b"PK\x03\x04damaged")
    assert add(kit, "a.docx").startswith("ValidationError: 'a.docx' cannot be read as a Word document")
    where.write_bytes(candles)
    assert cited(kit, "candles")  # what was there stays


@pytest.mark.parametrize(
    ("path", "data", "code", "message"),
    [
        ("a.doc", b"\xd0\xcf\x11\xe0", ErrorCode.UNSUPPORTED, "Save it as .docx and use that."),
        ("a.pdf", b"", ErrorCode.VALIDATION, "is empty"),
        ("a.pdf", b"%PDF-1.7", ErrorCode.VALIDATION, "cannot be read as a PDF"),
        ("a.wav", files.sound(1, width=4, format=3), ErrorCode.UNSUPPORTED, "convert it to WAV"),
        ("none.pdf", None, ErrorCode.NOT_FOUND, "none.pdf"),
        ("none.doc", None, ErrorCode.NOT_FOUND, "none.doc"),
    ],
)
def test_what_cannot_be_added(kit: Kit, path: str, data: bytes | None, code: ErrorCode, message: str) -> None:
    if data is not None:
        (Path(kit.workspace) / path).write_bytes(data)
    said = add(kit, path)
    assert said.startswith(f"{code}: ")
    assert message in said
    assert kit.call("rag", {"action": "stats"}).data["documents"] == 0


def test_bad_files_are_named_and_the_rest_of_a_folder_is_added(kit: Kit) -> None:
    folder = Path(kit.workspace) / "docs"
    folder.mkdir()
    bad = {
        "locked.pdf": files.pdf("secret", password="x"),
        "cut.docx": files.docx(paragraph("Lanterns"))[:-40],
        "bomb.docx": files.packed({"word/document.xml": bytes(9_000_000)}),
        "bomb.xlsx": files.packed({"xl/workbook.xml": bytes(9_000_000)}),
        **{f"{name}.bin": b"\0\1" + name.encode() for name in "abcdefg"},
    }
    good = {
        "good.md": b"Lanterns.",
        "named-so.docx": files.pdf("Lanterns burn oil."),
        "table.xls": b"<table><tr><td>Lanterns</td></tr></table>",
    }
    for name, data in (bad | good).items():
        (folder / name).write_bytes(data)
    for name in ("sparse.pdf", "sparse.txt"):
        with open(folder / name, "wb") as file:
            file.truncate(2_000_000_000)
    said = (
        "Not added: 7 of a type that cannot be added (docs/a.bin, docs/b.bin, docs/c.bin, docs/d.bin, docs/e.bin and 2 more), "
        "4 too large (docs/sparse.txt, docs/bomb.docx, docs/bomb.xlsx, docs/sparse.pdf), "
        "1 with a password, or not allowed (docs/locked.pdf), 1 without text that can be read (docs/cut.docx)."
    )
    for action, done in (("sync", "Added 3 documents (3 pieces)."), ("add_document", "Unchanged: 3 documents.")):
        assert kit.call("rag", {"action": action, "path": "docs"}).text.splitlines()[:2] == [done, said]
    assert sorted(cited(kit, "lanterns")) == ["docs/good.md:1", "docs/named-so.docx p. 1", "docs/table.xls:1"]
    read = {
        "locked.pdf": "PermissionDenied",
        "bomb.docx": "TooLarge",
        "sparse.pdf": "TooLarge",
        "sparse.txt": "Unsupported",
    }
    for name, code in read.items():
        assert (name, kit.call("read", {"path": f"docs/{name}"}).error.code) == (name, code)


@pytest.mark.slow
def test_a_spreadsheet_with_a_million_rows_is_bounded(kit: Kit) -> None:
    (Path(kit.workspace) / "rows.xlsx").write_bytes(files.many_rows(1_000_000))
    said = "500000 of 1000000 rows of sheet Rows are left out: save what matters as CSV."
    assert f"\nrows.xlsx: {said}" in add(kit, "rows.xlsx")
    shown = kit.call("read", {"path": "rows.xlsx", "limit": 3})
    assert shown.text.startswith("1\t[sheet 1: Rows]\n2\t| 0 |\n3\t| --- |\n")
    assert f"({said})" in shown.text


def test_a_file_that_could_not_be_read_costs_a_folder_nothing(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(kit.workspace)
    (folder / "a.docx").write_bytes(b"PK\x03\x04damaged")
    (folder / "b.docx").write_bytes(files.docx(paragraph("Candles burn wax.")))
    converted: list[str] = []
    real = Converter.convert

    def noted(self: Converter, data: bytes, path: str, format: Format) -> Converted:
        converted.append(path)
        return real(self, data, path, format)

    monkeypatch.setattr(Converter, "convert", noted)
    said = "Not added: 1 without text that can be read (a.docx)."
    assert said in add(kit, ".")
    assert said in add(kit, ".")
    assert converted == ["a.docx", "b.docx"]
    assert add(kit, "a.docx").startswith("ValidationError: 'a.docx' cannot be read as a Word document")
    assert converted == ["a.docx", "b.docx", "a.docx"]
    (folder / "a.docx").write_bytes(files.docx(paragraph("Lanterns burn oil.")))
    assert add(kit, ".").startswith("Added a.docx, Unchanged: b.docx (1 piece).")


def test_a_folder_that_takes_long_is_added_in_several_calls(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(kit.workspace)
    for name in ("a", "b"):
        (folder / f"{name}.odt").write_bytes(files.opened(f"<text:p>Lantern {name}</text:p>"))
    monkeypatch.setattr(module, "MAX_CONVERSION_SECONDS", 0.0)
    assert "1 that would take too long now: add the folder again to go on with them (b.odt)" in add(kit, ".")
    assert add(kit, ".").startswith("Added b.odt, Unchanged: a.odt (1 piece).")


def test_a_folder_is_synced_with_what_is_there(kit: Kit) -> None:
    folder = Path(kit.workspace) / "docs"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.md", "b.md", "deep/c.md"):
        (folder / name).write_text(f"Lantern {name}")
    (Path(kit.workspace) / "docs.md").write_text("Lantern beside")
    add(kit, "docs.md")

    def sync(path: str = "docs") -> str:
        result = kit.call("rag", {"action": "sync", "path": path})
        return result.text.splitlines()[0] if result.error is None else f"{result.error.code}: {result.error.message}"

    assert sync() == "Added 3 documents (3 pieces)."
    (folder / "a.md").unlink()
    (folder / "b.md").write_text("Candle")
    (folder / "d.md").write_text("Torch")
    assert sync() == "Added docs/d.md, Replaced docs/b.md, Unchanged: docs/deep/c.md, Removed docs/a.md (2 pieces)."
    shown = kit.call("rag", {"action": "stats"}).text.splitlines()
    assert [line.partition(", last added")[0] for line in shown[1:3]] == [
        "  .: 1 document in 1 piece",
        "  docs/: 3 documents in 3 pieces",
    ]
    taken = kit.call("rag", {"action": "clear", "path": "docs/deep", "confirm": True})
    assert taken.text == "Took 'docs/deep' out of the library."
    for name in ("b.md", "d.md", "deep/c.md"):
        (folder / name).unlink()
    assert sync() == "Removed 2 documents."
    assert sync().startswith("NotFound: There is no file in 'docs'")
    assert kit.call("rag", {"action": "stats"}).data["documents"] == 1


def test_a_text_that_changed_answers_with_what_it_says_now(kit: Kit) -> None:
    where = Path(kit.workspace) / "a.md"
    where.write_text("Lanterns burn oil.")
    add(kit, "a.md")
    where.write_text("Above.\n\nLanterns burn gas.")
    found = kit.call("rag", {"action": "search", "query": "lanterns"})
    assert "Lanterns burn gas." in found.text
    assert "oil" not in found.text
    where.unlink()
    gone = kit.call("rag", {"action": "search", "query": "lanterns"})
    assert gone.data["passages"] == []
    assert "changed or are gone since they were added: a.md." in gone.text
