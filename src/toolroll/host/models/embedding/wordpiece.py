"""Text as the numbers that a BERT model reads: lower case, without accents, in the pieces of its vocabulary."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

_UNKNOWN, _START, _END = "[UNK]", "[CLS]", "[SEP]"
_LONGEST = 100  # characters of a word that is looked up
_KNOWN = 50_000  # words whose pieces are remembered
_CONTROL = {code: None for code in range(128) if code < 32 or code == 127} | dict.fromkeys((9, 10, 13), " ")
_SILENT = frozenset({"Cc", "Cf", "Co", "Cs"})
_PLAIN = re.compile(r"[^\W_]+|[^\w\s]|_")
_IDEOGRAPHS = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f])"
)


class WordPiece:
    """The vocabulary of a model, and how it cuts texts."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """The words in the order of their numbers; those that begin with ## go on with a word."""
        self._numbers = {word: number for number, word in enumerate(vocabulary)}
        self._unknown, self._start, self._end = (self._numbers[word] for word in (_UNKNOWN, _START, _END))
        self._seen: dict[str, list[int]] = {}

    def numbers(self, text: str, most: int) -> list[int]:
        """The numbers of a text between those of its start and its end, `most` at most."""
        made = [self._start]
        for word in _normal(text).split():
            found = self._seen.get(word)
            if found is None:
                if len(self._seen) >= _KNOWN:
                    self._seen.clear()
                found = self._seen[word] = [number for part in _parts(word) for number in self._pieces(part)]
            made += found
            if len(made) >= most:
                break
        return [*made[: most - 1], self._end]

    def _pieces(self, word: str) -> list[int]:
        """The longest pieces that make up the word, from its start on."""
        if len(word) > _LONGEST:
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


def _normal(text: str) -> str:
    if text.isascii():
        return text.translate(_CONTROL).lower()
    kept = "".join(_cleaned(text))
    apart = unicodedata.normalize("NFD", _IDEOGRAPHS.sub(r" \1 ", kept))
    bare = "".join(sign for sign in apart if unicodedata.category(sign) != "Mn")
    return "".join(map(str.lower, bare))  # one by one: a sigma that ends a word is as any other


def _cleaned(text: str) -> Iterator[str]:
    """The characters that count; control characters, marks of direction and the like do not."""
    for sign in text:
        if sign in "\t\n\r":
            yield " "
        elif sign != "\ufffd" and unicodedata.category(sign) not in _SILENT:
            yield sign


def _parts(word: str) -> list[str]:
    """The word cut at its punctuation, each sign of which is a part."""
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
    # Of ASCII, all signs count, also those that Unicode calls symbols.
    return not sign.isalnum() if sign.isascii() else unicodedata.category(sign)[0] == "P"
