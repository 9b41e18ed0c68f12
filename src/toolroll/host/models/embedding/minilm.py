"""all-MiniLM-L6-v2 in numpy: a small BERT; the average of its token vectors represents a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

SIZE = 384
TOKENS = 256  # maximum length of a text: the model was not trained on more

_LAYERS, _HEADS = 6, 12
_TINY = 1e-12
_ROWS = 128  # go through the widest part of a layer together, so that they fit into the processor's cache
# Abramowitz and Stegun 7.1.26: the error function to seven digits.
_P, _A = 0.3275911, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


@dataclass(frozen=True, slots=True)
class _Linear:
    weight: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        import numpy as np

        few = len(rows) < _ROWS  # then the transposed product is faster
        made: Floats = np.ascontiguousarray((self.weight.T @ rows.T).T) if few else rows @ self.weight
        made += self.bias
        return made


@dataclass(frozen=True, slots=True)
class _Norm:
    weight: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        """Normalize the rows in place."""
        import numpy as np

        rows -= rows.mean(axis=1, keepdims=True)
        spread = np.einsum("ij,ij->i", rows, rows) / rows.shape[1]
        rows *= (1.0 / np.sqrt(spread + _TINY))[:, None]
        rows *= self.weight
        rows += self.bias
        return rows


@dataclass(frozen=True, slots=True)
class _Layer:
    attend: _Linear  # the projections to queries, keys and values, side by side
    mix: _Linear
    mixed: _Norm
    widen: _Linear
    narrow: _Linear
    narrowed: _Norm

    def __call__(self, rows: Floats, ends: Sequence[int]) -> Floats:
        seen = self.mix(_attend(self.attend(rows), ends))
        seen += rows
        rows = self.mixed(seen)
        for at in range(0, len(rows), _ROWS):
            part = rows[at : at + _ROWS]
            part += self.narrow(_gelu(self.widen(part)))
        return self.narrowed(rows)


class MiniLM:
    """The model with its weights."""

    def __init__(self, tensors: Mapping[str, Floats]) -> None:
        """KeyError or ValueError if these are not the weights of this model."""
        self._words = tensors["embeddings.word_embeddings.weight"]
        places = tensors["embeddings.position_embeddings.weight"]
        if self._words.shape[1:] != (SIZE,) or places.shape[1:] != (SIZE,) or len(places) < TOKENS:
            raise ValueError("the embeddings have another shape")
        self._places = places[:TOKENS] + tensors["embeddings.token_type_embeddings.weight"][0]
        self._norm = _norm(tensors, "embeddings.LayerNorm")
        self._layers = [_layer(tensors, f"encoder.layer.{number}") for number in range(_LAYERS)]

    def vectors(self, texts: Sequence[Sequence[int]]) -> Floats:
        """A vector of length 1 for each text, given as token numbers. All go through the model in one batch."""
        import numpy as np

        lengths = [len(text) for text in texts]
        ends = np.cumsum(lengths).tolist()
        rows = self._words[np.concatenate([np.asarray(text, dtype=np.int64) for text in texts])]
        rows += np.concatenate([self._places[:length] for length in lengths])
        rows = self._norm(rows)
        for layer in self._layers:
            rows = layer(rows, ends)
        made = np.add.reduceat(rows, [0, *ends[:-1]], axis=0)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return made


def _attend(rows: Floats, ends: Sequence[int]) -> Floats:
    import numpy as np

    made = np.empty((len(rows), SIZE), np.float32)
    width = SIZE // _HEADS
    start = 0
    for end in ends:
        heads = rows[start:end].reshape(end - start, 3, _HEADS, width).transpose(1, 2, 0, 3)
        query, key, value = (np.ascontiguousarray(part) for part in heads)
        weights = query @ key.transpose(0, 2, 1)
        weights -= weights.max(axis=2, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=2, keepdims=True)
        made[start:end] = (weights @ value).transpose(1, 0, 2).reshape(end - start, SIZE)
        start = end
    return made


def _gelu(rows: Floats) -> Floats:
    """GELU: x times the normal cumulative distribution at x, in place."""
    import numpy as np

    far = np.abs(rows)
    far *= np.float32(0.5**0.5)
    near = far * np.float32(_P)
    near += np.float32(1)
    np.reciprocal(near, out=near)
    sum = near * np.float32(_A[0])
    for factor in _A[1:]:
        sum += np.float32(factor)
        sum *= near
    far *= far
    np.negative(far, out=far)
    np.exp(far, out=far)
    sum *= far  # 1 - erf(|x| / sqrt 2)
    # x/2 (1 + erf) is max(x, 0) - |x|/2 (1 - erf), on both sides of 0
    np.abs(rows, out=near)
    near *= np.float32(0.5)
    sum *= near
    np.maximum(rows, 0, out=rows)
    rows -= sum
    return rows


def _layer(tensors: Mapping[str, Floats], name: str) -> _Layer:
    import numpy as np

    parts = [_linear(tensors, f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
    scale = np.float32((SIZE // _HEADS) ** -0.5)
    parts[0] = _Linear(parts[0].weight * scale, parts[0].bias * scale)
    attend: Any = (np.concatenate([one.weight for one in parts], 1), np.concatenate([one.bias for one in parts]))
    return _Layer(
        _Linear(*attend),
        _linear(tensors, f"{name}.attention.output.dense"),
        _norm(tensors, f"{name}.attention.output.LayerNorm"),
        _linear(tensors, f"{name}.intermediate.dense"),
        _linear(tensors, f"{name}.output.dense"),
        _norm(tensors, f"{name}.output.LayerNorm"),
    )


def _linear(tensors: Mapping[str, Floats], name: str) -> _Linear:
    return _Linear(tensors[f"{name}.weight"].T, tensors[f"{name}.bias"])


def _norm(tensors: Mapping[str, Floats], name: str) -> _Norm:
    return _Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"])
