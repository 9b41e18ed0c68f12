"""Documents that a `grep` names are searched as the text that `read` shows, and cited by page."""

import json
import os

from tests.host.convert import files as documents

NOTEBOOK = {
    "cells": [{"cell_type": "code", "source": ["x = 1"]}, {"cell_type": "markdown", "source": ["Kiel\n", "deep"]}]
}


def test_documents_that_are_named_are_searched_as_text(kit, put, ws):
    put({
        "docs/pilot.pdf": documents.pdf("Lanterns burn oil.", "Harbours at Kiel\nare deep."),
        "docs/ships.xlsx": documents.xlsx(),
        "docs/n.ipynb": json.dumps(NOTEBOOK),
        "docs/text.docx": "Kiel, but no document\n",
        "docs/locked.pdf": documents.pdf("Kiel", password="x"),
        "docs/a.md": "Kiel\n",
    })  # fmt: skip
    for age, name in enumerate(("pilot.pdf", "ships.xlsx", "n.ipynb", "text.docx", "locked.pdf", "a.md")):
        os.utime(ws / "docs" / name, (1_000_000 - age, 1_000_000 - age))

    def find(pattern="Kiel", **arguments):
        return kit.call("grep", {"pattern": pattern, "path": "docs", **arguments})

    assert find("Harbours").text.startswith("No matches.")  # a search that names no document opens none
    assert find("Harbours", include="!*.md").text.startswith("No matches.")
    assert find("Harbours", include="!*.docx").text.startswith("No matches.")
    named = find(include="*.{pdf,xlsx,ipynb,docx,md}")
    assert named.text.splitlines() == [
        "docs/pilot.pdf p. 2",
        "5:Harbours at Kiel",
        "docs/ships.xlsx sheet Harbours",
        "8:| Kiel | 7 |",
        "docs/n.ipynb cell 2",
        "5:Kiel",
        "docs/text.docx",
        "1:Kiel, but no document",
        "docs/a.md",
        "1:Kiel",
        "(Not searched: 'docs/locked.pdf' is protected.)",
    ]
    assert named.data["rows"][0] == {"path": "docs/pilot.pdf", "line": 5, "column": 13, "text": "Harbours at Kiel", "place": "p. 2"}  # fmt: skip
    assert kit.call("read", {"path": "docs/pilot.pdf", "offset": 5, "limit": 1}).data["content"] == "Harbours at Kiel"
    assert (
        find(path="docs/pilot.pdf", context=1).text
        == "docs/pilot.pdf p. 2\n4-[page 2: Chapter 2]\n5:Harbours at Kiel\n6-are deep."
    )
    assert find(r"Kiel\nare", path="docs/pilot.pdf", multiline=True).data["total"] == 2
    assert find(path="docs/pilot.pdf", output="count").text == "docs/pilot.pdf: 1"
    assert find(type="ipynb", output="files").text == "docs/n.ipynb"
    assert find("kiel", path="docs/pilot.pdf").text.startswith(
        "No matches.\n(Searched 1 file. There are matches in other case"
    )
    locked = find(path="docs/locked.pdf")
    assert (locked.error.code, "is protected" in locked.text) == ("PermissionDenied", True)
