"""Read a safetensors file by memory mapping."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_MAX_HEADER_BYTES = 10_000_000


def load_tensors(path: str) -> dict[str, Floats]:
    """The tensors of 32-bit floats by name, mapped read-only; ValueError if it is not such a file."""
    import numpy as np

    if os.path.getsize(path) < 8:
        raise ValueError("it is too short")
    data = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(data[:8].tobytes(), "little")
    if not 2 <= length <= min(_MAX_HEADER_BYTES, len(data) - 8):
        raise ValueError("it has no header")
    header: dict[str, dict[str, Any]] = json.loads(data[8 : 8 + length].tobytes())
    body = data[8 + length :]
    made = {}
    for name, one in header.items():
        if one.get("dtype") == "F32":
            start, end = one["data_offsets"]
            made[name] = body[start:end].view(np.float32).reshape(one["shape"])
    return made
