"""Save a checkpoint of the files."""

import pytest

from toolroll.tools.files.checkpoint import checkpoint


def test_the_last_of_a_name_counts(kit, ctx, ws):
    for content in ("one", "two", "three"):
        kit.call("write", {"path": "a", "content": content})
        if content != "three":
            made = checkpoint(ctx, name="point")
    first, again = str(made).split(" The name ")
    assert first == "Checkpoint 'point' is entry 4 of the journal. `rewind` takes files back to it."
    assert again == "was used before, at entry 2: `rewind` by the name goes to the new one."
    assert kit.rewind("point").ok
    assert (ws / "a").read_text() == "two"


@pytest.mark.parametrize("name", ["7", "  ", ""])
def test_it_needs_a_name(kit, name):
    assert kit.call("checkpoint", {"name": name}).error.code == "ValidationError"
