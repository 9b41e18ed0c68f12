"""`notebook_edit`: one cell of a file changes, and the change can be undone."""

import json


def test_a_cell_is_inserted_behind_another_and_undone(kit, put, ws):
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]}
    before = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1) + "\n"
    put({"n.ipynb": before})
    done = kit.call(
        "notebook_edit", {"path": "n.ipynb", "source": "1 + 1", "cell": "1", "type": "code", "mode": "insert"}
    )
    assert done.text == "Inserted code cell 2 of n.ipynb."
    assert kit.call("read", {"path": "n.ipynb"}).text.endswith("[cell 2: code]\n5\t1 + 1")
    assert kit.call("undo", {}).ok
    assert (ws / "n.ipynb").read_text() == before


def test_a_file_that_is_no_notebook_stays_as_it_is(kit, put, ws):
    put({"a.txt": "text"})
    assert kit.call("notebook_edit", {"path": "a.txt", "source": "x", "cell": "1"}).error.code == "ValidationError"
    assert (ws / "a.txt").read_text() == "text"
