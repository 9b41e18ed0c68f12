"""The digests of contents: those of what is there, however often it comes again."""

from __future__ import annotations

from hashlib import sha256

import pytest

from toolroll.host.files import versions as contents
from toolroll.host.files.versions import DigestCache, digest


def plain(data):
    return sha256(data).digest()[:16]


def test_a_digest_is_that_of_the_content():
    held = DigestCache()
    for path, data in [("a", b"1"), ("a", b"1"), ("b", b"1"), ("a", b"2"), ("a", b"1"), ("a", b"")]:
        assert held.digest(path, data) == digest(data) == plain(data)


def test_a_content_that_comes_again_is_not_hashed_again(monkeypatch):
    held = DigestCache()
    held.digest("a", b"same")
    monkeypatch.setattr(contents, "digest", lambda _: b"hashed")
    assert held.digest("a", bytes(bytearray(b"same"))) == plain(b"same")
    assert held.digest("a", b"other") == b"hashed"


@pytest.mark.parametrize(("most", "again"), [(30, ["hashed", "known", "known"]), (100, ["known"] * 3)])
def test_the_oldest_are_let_go(monkeypatch, most, again):
    monkeypatch.setattr(contents, "_MOST_BYTES", most)
    held = DigestCache()
    texts = {path: path.encode() * 15 for path in "abc"}
    for path, data in texts.items():
        held.digest(path, data)
    monkeypatch.setattr(contents, "digest", lambda _: b"hashed")
    monkeypatch.setattr(held, "_hold", lambda *_: None)
    assert ["hashed" if held.digest(path, data) == b"hashed" else "known" for path, data in texts.items()] == again


def test_what_is_too_large_to_hold_lets_nothing_go(monkeypatch):
    monkeypatch.setattr(contents, "_MOST_BYTES", 30)
    held = DigestCache()
    held.digest("a", b"small")
    assert held.digest("b", b"x" * 31) == plain(b"x" * 31)
    monkeypatch.setattr(contents, "digest", lambda _: b"hashed")
    assert held.digest("a", b"small") == plain(b"small")
