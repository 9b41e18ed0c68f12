"""all-MiniLM-L6-v2 in numpy: a small BERT; the average of its token vectors represents a text."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolroll.host.models.embedding import numeric

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


_UNKNOWN, _START, _END = "[UNK]", "[CLS]", "[SEP]"
_MAX_WORD_CHARS = 100  # longer words are unknown
_MAX_CACHED_WORDS = 50_000
_CONTROL = {code: None for code in range(128) if code < 32 or code == 127} | dict.fromkeys((9, 10, 13), " ")
_SILENT = frozenset({"Cc", "Cf", "Co", "Cs"})
_PLAIN = re.compile(r"[^\W_]+|[^\w\s]|_")
_IDEOGRAPHS = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f])"
)


class WordPiece:
    """A tokenizer with the vocabulary of a model."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """`vocabulary` is in the order of the token numbers; entries with ## continue a word."""
        self._numbers = {word: number for number, word in enumerate(vocabulary)}
        self._unknown, self._start, self._end = (self._numbers[word] for word in (_UNKNOWN, _START, _END))
        self._seen: dict[str, list[int]] = {}

    def numbers(self, text: str, most: int) -> list[int]:
        """The token numbers of a text with its start and end tokens, at most `most`."""
        made = [self._start]
        for word in _normalize(text).split():
            found = self._seen.get(word)
            if found is None:
                if len(self._seen) >= _MAX_CACHED_WORDS:
                    self._seen.clear()
                found = self._seen[word] = [one for part in _split_punctuation(word) for one in self._pieces(part)]
            made += found
            if len(made) >= most:
                break
        return [*made[: most - 1], self._end]

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _MAX_WORD_CHARS:
            return [self._unknown]
        made: list[int] = []
        at = 0
        while at < len(word):
            lead = "##" if at else ""
            ends = range(len(word), at, -1)
            found = next((end for end in ends if lead + word[at:end] in self._numbers), None)
            if found is None:
                return [self._unknown]
            made.append(self._numbers[lead + word[at:found]])
            at = found
        return made


def _normalize(text: str) -> str:
    if text.isascii():
        return text.translate(_CONTROL).lower()
    kept = "".join(_clean(text))
    apart = unicodedata.normalize("NFD", _IDEOGRAPHS.sub(r" \1 ", kept))
    bare = "".join(sign for sign in apart if unicodedata.category(sign) != "Mn")
    return "".join(map(str.lower, bare))  # one by one, so that a final sigma stays an ordinary one


def _clean(text: str) -> Iterator[str]:
    """The text without control characters, marks of direction and the like."""
    for sign in text:
        if sign in "\t\n\r":
            yield " "
        elif sign != "\ufffd" and unicodedata.category(sign) not in _SILENT:
            yield sign


def _split_punctuation(word: str) -> list[str]:
    """Split a word at its punctuation; each sign is a part."""
    if word.isascii():
        return _PLAIN.findall(word)
    made: list[str] = []
    joins = False
    for sign in word:
        apart = _is_punctuation(sign)
        if apart or not joins:
            made.append(sign)
        else:
            made[-1] += sign
        joins = not apart
    return made


def _is_punctuation(sign: str) -> bool:
    # In ASCII every sign is punctuation, also those that Unicode calls symbols.
    return not sign.isalnum() if sign.isascii() else unicodedata.category(sign)[0] == "P"


SIZE = 384
_BATCH_TOKENS = 1024  # through the model together
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


class TextModel:
    """The tokenizer and the model together."""

    def __init__(self, model: MiniLM, words: WordPiece) -> None:
        self._model = model
        self._words = words

    def embed(self, texts: Sequence[str], check: Callable[[], None] = lambda: None) -> Floats:
        """A row of length 1 for each text; `check` is called between batches, and may raise."""
        import numpy as np

        numbers = [self._words.numbers(text, TOKENS) for text in texts]
        made = np.empty((len(texts), SIZE), np.float32)
        batch: list[int] = []
        for at in range(len(numbers)):
            batch.append(at)
            if at + 1 == len(numbers) or sum(len(numbers[one]) for one in batch) >= _BATCH_TOKENS:
                check()
                with numeric.one_thread():
                    made[batch] = self._model.vectors([numbers[one] for one in batch])
                batch = []
        return made


def load_model(folder: str) -> TextModel:
    """Load the files of a folder; OSError, KeyError or ValueError if they are not those of this model."""
    with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
        words = WordPiece(file.read().splitlines())
    return TextModel(MiniLM(load_tensors(os.path.join(folder, "model.safetensors"))), words)


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
