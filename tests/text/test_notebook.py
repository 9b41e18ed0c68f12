"""A notebook as readable text."""

import json

import pytest

from toolroll import ToolError
from toolroll.text.notebook import cells

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
    assert cells(json.dumps(NOTEBOOK)) == (
        "[cell 1: markdown]\n# Title\nwords\n\n"
        "[cell 2: code]\nprint(1)\n[output 2]\n1\n[output 2]\nValueError: bad\n"
        "[output 2]\n[image/png]\n[output 2]\n42\n"
    )


@pytest.mark.parametrize("source", ["", "{}", "[]", '{"cells": 3}', '{"cells": [1]}', '{"cells": [{}]}', "[" * 100_000])
def test_what_is_no_notebook_is_refused(source):
    with pytest.raises(ToolError, match="not a readable notebook"):
        cells(source)
