"""Texts of documents are kept by content, within a bound, and a broken one is none."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from toolroll.host.convert import text_cache
from toolroll.host.convert.text_cache import CachedText, TextCache
from toolroll.host.runtime.state import State


def test_a_text_is_found_by_content_and_reader(tmp_path: Path) -> None:
    text = CachedText("Pilot", ["a note"], [("Tides", 1, "Chapter 1")])
    with closing(State(str(tmp_path))) as state:
        cache = TextCache(state)
        cache.keep(b"data", "pdf", text)
        assert TextCache(state).find(b"data", "pdf") == text
        assert cache.find(b"data", "pdf-ocr") is None
        assert cache.find(b"other", "pdf") is None
        (file,) = (tmp_path / "documents").iterdir()
        file.write_bytes(b'["Pilot"')
        assert cache.find(b"data", "pdf") is None


def test_the_longest_unused_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_cache, "_MAX_BYTES", 250)
    with closing(State(str(tmp_path))) as state:
        cache = TextCache(state)
        began = time.time() - 60
        for data in (b"a", b"b"):
            cache.keep(data, "pdf", CachedText("", [], [("x" * 80, 0, "")]))
            (newest,) = [one for one in (tmp_path / "documents").iterdir() if one.stat().st_mtime > began]
            os.utime(newest, (began - 900 + data[0],) * 2)
        assert cache.find(b"a", "pdf")  # which makes it the newest
        cache.keep(b"c", "pdf", CachedText("", [], [("x" * 80, 0, "")]))
        assert [bool(cache.find(data, "pdf")) for data in (b"a", b"b", b"c")] == [True, False, True]
