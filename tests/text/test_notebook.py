"""A notebook as readable text, and changes of its cells."""

import json

import pytest

from toolroll import ToolError
from toolroll.text.notebook import cells, change_cell

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {
            "cell_type": "code",
            "source": "print(1)\n",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "error", "ename": "ValueError", "evalue": "bad"},
                {"output_type": "display_data", "data": {"image/png": "..."}},
                {"output_type": "execute_result", "data": {"text/plain": "42", "text/html": "<b>42</b>"}},
            ],
        },
    ]
}


def test_cells_are_shown_in_order_with_what_they_printed():
    assert "\n".join(cells(json.dumps(NOTEBOOK))) == (
        "[cell 1: markdown]\n# Title\nwords\n\n"
        "[cell 2: code]\nprint(1)\n[output 2]\n1\n[output 2]\nValueError: bad\n"
        "[output 2]\n[image/png]\n[output 2]\n42\n"
    )


@pytest.mark.parametrize("source", ["", "{}", "[]", '{"cells": 3}', '{"cells": [1]}', '{"cells": [{}]}', "[" * 100_000])
def test_what_is_no_notebook_is_refused(source):
    with pytest.raises(ToolError, match="not a readable notebook"):
        cells(source)


def notebook(*sources: str, minor: int = 5) -> str:
    ids = [{"id": f"c{number}"} if minor >= 5 else {} for number in range(len(sources))]
    made = [
        {"cell_type": "markdown", **id, "metadata": {}, "source": [one]} for id, one in zip(ids, sources, strict=True)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": minor}, indent=2) + "\n"


def sources(text: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]


@pytest.mark.parametrize(
    ("change", "cell", "left"),
    [
        ("replace", "c1", ["a", "new\nx", "c"]),
        ("replace", "1", ["new\nx", "b", "c"]),
        ("replace", "cell-0", ["new\nx", "b", "c"]),
        ("insert", "c0", ["a", "new\nx", "b", "c"]),
        ("insert", None, ["new\nx", "a", "b", "c"]),
        ("delete", "c2", ["a", "b"]),
    ],
)
def test_a_cell_is_changed(change, cell, left):
    assert sources(change_cell(notebook("a", "b", "c"), change, cell, "new\nx", "markdown").text) == left


def test_what_is_not_changed_stays_as_it_was_written():
    source = notebook("ä", "b")
    assert (
        change_cell(source, "replace", "c1", "b", None).text
        == json.dumps(json.loads(source), ensure_ascii=False, indent=2) + "\n"
    )


def test_code_loses_what_it_printed():
    made = change_cell(json.dumps(NOTEBOOK), "replace", "2", "print(2)\n", None)
    assert json.loads(made.text)["cells"][1] == {
        "cell_type": "code", "source": ["print(2)\n"], "execution_count": None, "outputs": []
    }  # fmt: skip
    assert (made.old, made.type, made.language, made.id) == ("print(1)\n", "code", "python", "2")


def test_a_new_cell_has_an_id_of_its_own_where_cells_have_them():
    twice = change_cell(change_cell(notebook("a"), "insert", None, "x", "code").text, "insert", None, "x", "code")
    assert len({cell["id"] for cell in json.loads(twice.text)["cells"]}) == 3
    assert "id" not in json.loads(change_cell(notebook("a", minor=4), "insert", None, "x", "code").text)["cells"][0]


@pytest.mark.parametrize(
    ("source", "change", "cell", "said"),
    [
        ("{", "replace", "1", "not a readable notebook"),
        ("[]", "replace", "1", "not a readable notebook"),
        ('{"cells": [3]}', "replace", "1", "not a readable notebook"),
        (notebook("a"), "replace", None, "Which cell"),
        (notebook("a"), "delete", "2", "There is no cell '2': there are 1"),
        (notebook("a"), "insert", "cell-1", "There is no cell 'cell-1'"),
        (notebook("a"), "insert", None, "code or markdown"),
    ],
)
def test_what_cannot_be_changed_is_refused(source, change, cell, said):
    with pytest.raises(ToolError, match=said):
        change_cell(source, change, cell, "x", None)
