"""A file of tensors in the safetensors form, used where it lies: nothing is read before it is needed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_MOST_HEADER = 10_000_000


def tensors(path: str) -> dict[str, Floats]:
    """The tensors of 32-bit floats by name, mapped and not to be written to; ValueError if it is no such file."""
    import numpy as np

    if os.path.getsize(path) < 8:
        raise ValueError("it is too short")
    data = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(data[:8].tobytes(), "little")
    if not 2 <= length <= min(_MOST_HEADER, len(data) - 8):
        raise ValueError("it has no header")
    header: dict[str, dict[str, Any]] = json.loads(data[8 : 8 + length].tobytes())
    body = data[8 + length :]
    made = {}
    for name, one in header.items():
        if one.get("dtype") == "F32":
            start, end = one["data_offsets"]
            made[name] = body[start:end].view(np.float32).reshape(one["shape"])
    return made
