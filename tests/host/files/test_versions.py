"""The digests of contents, which files a session has seen, and what may be changed of them."""

from __future__ import annotations

import os
from hashlib import sha256

import pytest

from toolroll.host.files import versions
from toolroll.host.files.versions import DigestCache, FileRecord, Freshness, SeenVersions, Version, digest, stamp_of
from toolroll.result import ErrorCode, ToolError


def plain(data):
    return sha256(data).digest()[:16]


def test_a_digest_is_that_of_the_content():
    held = DigestCache()
    for path, data in [("a", b"1"), ("a", b"1"), ("b", b"1"), ("a", b"2"), ("a", b"1"), ("a", b"")]:
        assert held.digest(path, data) == digest(data) == plain(data)


def test_a_content_that_comes_again_is_not_hashed_again(monkeypatch):
    held = DigestCache()
    held.digest("a", b"same")
    monkeypatch.setattr(versions, "digest", lambda _: b"hashed")
    assert held.digest("a", bytes(bytearray(b"same"))) == plain(b"same")
    assert held.digest("a", b"other") == b"hashed"


@pytest.mark.parametrize(("most", "again"), [(30, ["hashed", "known", "known"]), (100, ["known"] * 3)])
def test_the_oldest_are_let_go(monkeypatch, most, again):
    monkeypatch.setattr(versions, "_MOST_BYTES", most)
    held = DigestCache()
    texts = {path: path.encode() * 15 for path in "abc"}
    for path, data in texts.items():
        held.digest(path, data)
    monkeypatch.setattr(versions, "digest", lambda _: b"hashed")
    monkeypatch.setattr(held, "_hold", lambda *_: None)
    assert ["hashed" if held.digest(path, data) == b"hashed" else "known" for path, data in texts.items()] == again


def test_what_is_too_large_to_hold_lets_nothing_go(monkeypatch):
    monkeypatch.setattr(versions, "_MOST_BYTES", 30)
    held = DigestCache()
    held.digest("a", b"small")
    assert (held.last("a"), held.last("b")) == (b"small", None)
    assert held.digest("b", b"x" * 31) == plain(b"x" * 31)
    monkeypatch.setattr(versions, "digest", lambda _: b"hashed")
    assert held.digest("a", b"small") == plain(b"small")
    held.digest("b", b"x" * 30)
    assert (held.last("a"), held.last("b")) == (None, b"x" * 30)


def test_another_file_size_or_time_is_another_stamp(tmp_path):
    seen = set()
    for name, text in [("a", ""), ("b", ""), ("a", "1")]:
        (tmp_path / name).write_text(text)
        seen.add(stamp_of(os.stat(tmp_path / name)))
        assert stamp_of(os.stat(tmp_path / name)) in seen
    os.utime(tmp_path / "a", (1, 1))
    seen.add(stamp_of(os.stat(tmp_path / "a")))
    assert len(seen) == 4


OLD, NEW = (1, 2, 3, 4, 5), (1, 2, 3, 4, 6)


@pytest.mark.parametrize(
    ("guard", "known", "now", "refused"),
    [
        ("fresh", None, Version(NEW, b"b"), ""),
        ("fresh", Version(OLD, b"a"), Version(OLD, b"b"), ""),  # an equal stamp means no change
        ("fresh", Version(OLD, b"a"), Version(NEW, b"a"), ""),  # touched, but the same content
        ("fresh", Version(OLD, b"a"), Version(NEW, b"b"), "was modified"),
        ("fresh", Version(OLD), Version(NEW, b"b"), "was modified"),  # read in part, so its content is not known
        ("fresh", Version(OLD), Version(NEW), "was modified"),
        ("none", Version(OLD, b"a"), Version(NEW, b"b"), ""),
        ("none", None, Version(NEW, b"b"), ""),
        ("seen", None, Version(NEW, b"b"), "must be read first"),
        ("seen", Version(OLD, b"a"), Version(OLD, b"a"), ""),
        ("seen", Version(OLD, b"a"), Version(NEW, b"b"), "was modified"),
    ],
)
def test_what_may_be_edited(guard, known, now, refused):
    records = SeenVersions()
    if known is not None:
        records.note("a", known)
    assert Freshness(records, guard).is_stale("a", now) is (refused == "was modified")
    try:
        Freshness(records, guard).check_seen("a", now)
        assert not refused
    except ToolError as error:
        assert (error.code, refused in error.message) == (ErrorCode.CONFLICT, True)
        assert [(one.name, one.arguments) for one in error.suggest] == [("read", {"path": "a"})]


def test_a_session_forgets_what_is_below_a_folder_and_nothing_else():
    records = SeenVersions()
    for path in ("a", "d/c", *map(str, range(1100))):
        records.note(path, Version(OLD))
    records.note("a", Version(NEW))
    records.note("dx", Version(OLD))
    assert list(records.all())[-2:] == ["a", "dx"]
    records.forget("d")
    assert [records.get(path).version for path in ("a", "d/c", "dx", "0")] == [
        Version(NEW),
        None,
        Version(OLD),
        Version(OLD),
    ]


@pytest.mark.parametrize(("guard", "allows"), [("none", False), ("fresh", True), ("seen", False)])
def test_which_guard_lets_a_stale_file_be_changed_where_it_is_quoted(guard, allows):
    freshness = Freshness(SeenVersions(), guard)
    assert (freshness.allows_quotes, freshness.needs_read) == (allows, guard == "seen")


def test_what_another_process_has_seen_is_older_than_what_we_have():
    records = SeenVersions()
    records.note("a", Version(NEW))
    records.restore({"a": FileRecord(Version(OLD)), "b": FileRecord(Version(OLD))})
    assert {path: one.version for path, one in records.all().items()} == {"a": Version(NEW), "b": Version(OLD)}
    records.clear()
    assert records.all() == {}
