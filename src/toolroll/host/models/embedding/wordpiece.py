"""WordPiece tokenizer of BERT: lower case, without accents, longest pieces of the vocabulary first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

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
