from __future__ import annotations

import pytest

from toolroll.result import ErrorCode, ToolError
from toolroll.text.search import patterns
from toolroll.text.search.patterns import Prepared


@pytest.mark.parametrize(
    ("pattern", "literal", "prepared"),
    [
        ("a.b", False, Prepared("a.b", False, False)),
        ("a.b(c)[d]", True, Prepared(r"a\.b\(c\)\[d\]", False, False)),
        ("one\ntwo", True, Prepared(r"one(?:\r?\n)two", True, False)),
        (r"one\ntwo", False, Prepared(r"one(?:\r?\n)two", True, False)),
        (r"one\\ntwo", False, Prepared(r"one\\ntwo", False, False)),
        (r"[^\n]+", False, Prepared(r"[^\n]+", False, False)),
        (r"[]\n]x\n", False, Prepared(r"[]\n]x(?:\r?\n)", True, False)),
        (r"[[:alpha:]\n]x", False, Prepared(r"[[:alpha:]\n]x", False, False)),
        (r"\r$", False, Prepared(r"\r$", False, True)),
        ("a\0b", False, Prepared(r"a\x00b", False, False)),
        ("a\0b", True, Prepared(r"a\x00b", False, False)),
        (r"(?<name>a)(?i:b)(?P<n>c)", False, Prepared(r"(?<name>a)(?i:b)(?P<n>c)", False, False)),
        ("(?=x)", True, Prepared(r"\(\?=x\)", False, False)),
        (r"[(?=]\\1", False, Prepared(r"[(?=]\\1", False, False)),
    ],
)
def test_prepare(pattern: str, literal: bool, prepared: Prepared) -> None:
    assert patterns.prepare(pattern, literal=literal) == prepared


def test_multiline_can_be_asked_for() -> None:
    assert patterns.prepare("a", multiline=True) == Prepared("a", True, False)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "`pattern` is empty"),
        ("a" * 40_000, "longer than 30000"),
        ("\ud800", "not valid Unicode"),
        ("a(?=b)", "look-around or a back-reference"),
        ("a(?!b)", "look-around"),
        ("(?<=a)b", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "back-reference"),
        (r"(?<q>a)\k<q>", "back-reference"),
        ("(?P<q>a)(?P=q)", "back-reference"),
    ],
)
def test_what_no_engine_can_do_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason) as caught:
        patterns.prepare(pattern)
    assert caught.value.code is ErrorCode.VALIDATION


@pytest.mark.parametrize(
    ("regex", "spelled"),
    [
        (r"\<a\>[\<]\\<", r"\ba\b[\<]\\<"),
        (r"a\b{end}\b{2}\\b{end}", r"a\b\b{2}\\b{end}"),
        (r"\u{e9}\u00e9\U0001F600\x41", r"\x{e9}\x{00e9}\x{0001F600}\x41"),
        (r"[[:alpha:]&\[]&&", r"[[:alpha:]&\[]&&"),
    ],
)
def test_what_ripgrep_reads_is_spelled_for_re2(regex: str, spelled: str) -> None:
    assert patterns.for_re2(regex) == spelled


@pytest.mark.parametrize("regex", ["[a-z&&[^b]]", "[a[b]]", "[a-z&&b]"])
def test_sets_within_brackets_are_refused_for_re2(regex: str) -> None:
    with pytest.raises(ToolError, match="sets within brackets"):
        patterns.for_re2(regex)


@pytest.mark.parametrize(
    ("regex", "spelled"),
    [
        (r"\d+", r"[\p{Nd}]+"),
        (r"\D", r"[^\p{Nd}]"),
        (r"[\d.]\\d", r"[\p{Nd}.]\\d"),
        (r"[\D]", r"[\D]"),
        (r"\bx\pL\p{Lu}", r"\bx\pL\p{Lu}"),
    ],
)
def test_unicode_classes(regex: str, spelled: str) -> None:
    assert patterns.unicode_classes(regex) == spelled
