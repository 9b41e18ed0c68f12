"""Files of tensors."""

import json

import pytest

from toolroll.host.models.embedding.minilm import load_tensors


def written(path, header, body):
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return str(path)


def test_tensors_by_name(tmp_path):
    import numpy as np

    numbers = np.arange(6, dtype=np.float32)
    header = {
        "__metadata__": {"format": "pt"},
        "ids": {"dtype": "I64", "shape": [1], "data_offsets": [24, 32]},
        "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    }
    made = load_tensors(written(tmp_path / "a", header, numbers.tobytes() + bytes(8)))
    assert {name: one.tolist() for name, one in made.items()} == {"w": [[0, 1, 2], [3, 4, 5]]}
    with pytest.raises(ValueError, match="read-only"):
        made["w"][0, 0] = 1


@pytest.mark.parametrize("data", [b"", b"short", (2**40).to_bytes(8, "little") + b"{}", b"\2" + bytes(7) + b"[]"])
def test_no_such_file(tmp_path, data):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises((ValueError, AttributeError)):
        load_tensors(str(tmp_path / "a"))
