"""Show a file."""

import json
import os
import time

import pytest

from tests.host.convert.files import pdf, picture
from toolroll.formats import mcp_result
from toolroll.result import Suggestion
from toolroll.tools.files.read import read

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def test_lines_are_numbered_from_one(ctx, put):
    put({"a.txt": "one\ntwo\r\n\nfour"})
    assert str(read(ctx, "a.txt")) == "1\tone\n2\ttwo\n3\t\n4\tfour"


def test_a_document_is_its_text_by_lines(kit, ctx, put):
    put({"a.PDF": pdf("one\ntwo", "three"), "text.pdf": "no document\n"})
    shown = read(ctx, "a.PDF", limit=3)
    assert str(shown) == "1\t[page 1: Chapter 1]\n2\tone\n3\ttwo"
    assert shown.more == Suggestion("read", {"path": "a.PDF", "offset": 4})
    assert str(read(ctx, "a.PDF", offset=4)) == "4\t\n5\t[page 2: Chapter 2]\n6\tthree"
    assert str(read(ctx, "text.pdf")) == "1\tno document"
    last = read(ctx, "a.PDF", offset=2, end=3)
    assert (str(last), last.more) == ("2\tone\n3\ttwo", None)
    assert str(read(ctx, "a.PDF", pages="2")) == "1\t[page 2: Chapter 2]\n2\tthree"
    refused = kit.call("edit", {"path": "a.PDF", "old": "one", "new": "two"})
    assert "'a.PDF' cannot be read as text. It is a binary file" in refused.text


@pytest.mark.slow
def test_the_text_in_an_image_is_told(kit, put):
    put({"a.png": picture("The harbour master"), "a.bmp": picture("Invoice 4711", kind="BMP")})
    shown = kit.call("read", {"path": "a.png"})
    assert shown.text.endswith(" bytes. The text in it, letters may be wrong:\nThe harbour master")
    assert len(shown.images) == 1
    assert kit.call("read", {"path": "a.bmp"}).text == "1\tInvoice 4711"
    found = kit.call("grep", {"pattern": "harbour|4711", "include": "*.{png,bmp}", "output": "files"})
    assert sorted(found.text.splitlines()) == ["a.bmp", "a.png"]


@pytest.mark.parametrize(
    ("arguments", "text", "following"),
    [
        ({}, "1\t1\n2\t2\n3\t3\n4\t4\n5\t5", None),
        ({"offset": 4}, "4\t4\n5\t5", None),
        ({"offset": 2, "limit": 2}, "2\t2\n3\t3", 4),
        ({"offset": 2, "end": 3}, "2\t2\n3\t3", None),
        ({"limit": 5}, "1\t1\n2\t2\n3\t3\n4\t4\n5\t5", None),
    ],
)
def test_a_part_of_a_file(ctx, put, arguments, text, following):
    put({"a.txt": "1\n2\n3\n4\n5\n"})
    shown = read(ctx, "a.txt", **arguments)
    assert (str(shown), shown.total_lines) == (text, 5)
    assert (shown.more.arguments["offset"] if shown.more else None) == following


def test_the_next_call_is_told_and_works(kit, put):
    put({"a.txt": "".join(f"{n}\n" for n in range(1, 2501))})
    result = kit.call("read", {"path": "a.txt"})
    assert "(Lines 1-2000 of 2500.)" in result.text
    following = kit.call(result.meta["next"]["name"], result.meta["next"]["arguments"])
    assert following.text.startswith("2001\t2001\n")
    assert following.text.endswith("2500\t2500")


def test_wide_files_are_shown_in_pieces_that_fit(open_kit, put):
    kit = open_kit(limits={"output_chars": 5_000})
    text = "".join(f"{n} {'x' * 90}\n" for n in range(200))
    put({"a.txt": text})
    seen, arguments = [], {"path": "a.txt"}
    while arguments:
        result = kit.call("read", arguments)
        assert "spill" not in result.meta
        seen += result.data["content"].split("\n")
        arguments = result.meta.get("next", {}).get("arguments")
    assert seen == text.splitlines()


def test_a_long_line_is_cut(open_kit, put):
    put({"a.txt": "x" * 900 + "\n"})
    assert open_kit("pigo").call("read", {"path": "a.txt"}).text == "1\t" + "x" * 500 + "... [400 more]"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"path": "d"}, "ValidationError", "directory"),
        ({"path": "a.txt", "offset": 3}, "ValidationError", "has 2 lines"),
        ({"path": "a.txt", "offset": 2, "end": 1}, "ValidationError", "There is no parameter 'end'"),
        ({"path": "bin"}, "Unsupported", "binary"),
        ({"path": "fifo"}, "Unsupported", "FIFO"),
        ({"path": "a.txt/x"}, "ValidationError", "Not a directory"),
        ({"path": "loop"}, "ValidationError", "link"),
        ({"path": "x" * 300}, "ValidationError", "too long"),
        ({"path": "a.txt", "encoding": "klingon"}, "ValidationError", "no text encoding"),
    ],
)
def test_what_cannot_be_shown_is_told(kit, put, ws, arguments, code, words):
    put({"d/x": "1", "a.txt": "1\n2\n", "bin": b"a\0b"})
    os.mkfifo(ws / "fifo")
    (ws / "loop").symlink_to("loop")
    result = kit.call("read", arguments)
    assert (result.error.code, words in result.text) == (code, True), result.text


def test_an_empty_file(kit, put):
    put({"a.txt": ""})
    assert kit.call("read", {"path": "a.txt"}).text == "a.txt is empty."


def test_a_ranged_read_of_a_huge_file(kit, ws):
    with open(ws / "huge.txt", "wb") as file:
        file.write(b"first\nsecond\n")
        file.seek(2_000_000_000)
        file.write(b"\nlast\n")
    # The hole is one line of NUL bytes: the lines before it can be shown, and nothing is held in memory.
    result = kit.call("read", {"path": "huge.txt", "limit": 2})
    assert result.error.code == "Unsupported"  # zeros within the first bytes: binary
    with open(ws / "log.txt", "wb") as file:
        file.write(b"x" * 99 + b"\n")
        file.write((b"y" * 99 + b"\n") * 200_000)
        file.write(b"the end\n")
    result = kit.call("read", {"path": "log.txt", "offset": 200_001, "limit": 5})
    assert result.text == "200001\t" + "y" * 99 + "\n200002\tthe end"
    assert result.data["total_lines"] == 200_002
    assert kit.call("read", {"path": "log.txt", "limit": 1}).data["total_lines"] == 200_002


def test_an_image_is_shown_as_an_image(kit, put):
    put({"a.png": PNG})
    result = kit.call("read", {"path": "a.png"})
    assert (result.images[0].data, result.images[0].mime) == (PNG, "image/png")
    assert [part["type"] for part in mcp_result(result)["content"]] == ["text", "image"]
    assert "images" not in result.data


def test_a_notebook_is_shown_as_cells(kit, put):
    put({"n.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1"], "outputs": []}]})})
    assert kit.call("read", {"path": "n.ipynb"}).text == "1\t[cell 1: code]\n2\tx = 1"


def test_a_large_file_is_read_right_again_and_after_a_change(kit, put, ws):
    lines = [f"line {number} of many, and some more\n" for number in range(1, 300_001)]
    put({"long.txt": "".join(lines)})
    assert (ws / "long.txt").stat().st_size > 8_000_000
    time.sleep(0.12)  # until its times tell of a change

    def shown(offset):
        return kit.call("read", {"path": "long.txt", "offset": offset, "limit": 2}).data

    for offset in (250_000, 250_000, 1, 299_999, 120_000):
        found = shown(offset)
        assert (found["content"], found["total_lines"]) == (
            "".join(lines[offset - 1 : offset + 1]).rstrip("\n"),
            300_000,
        )
    put({"long.txt": "x\n" + "".join(lines[:-1]) + "y" * (len(lines[-1]) - 3) + "\n"})  # as long as before
    found = shown(250_000)
    assert (found["content"], found["total_lines"]) == ("".join(lines[249_998:250_000]).rstrip("\n"), 300_001)
