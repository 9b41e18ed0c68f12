"""The state folder: small files that are whole, and nothing else is left there."""

import os
from pathlib import Path

import pytest


def test_a_file_is_put_whole_or_not_at_all(state):
    folder = Path(state.path, "some")
    for data in (b"one", b"two"):
        state.put("some", "a", data)
    (folder / "b").mkdir()
    with pytest.raises(IsADirectoryError):
        state.put("some", "b", b"three")
    assert (sorted(os.listdir(folder)), (folder / "a").read_bytes()) == (["a", "b"], b"two")
