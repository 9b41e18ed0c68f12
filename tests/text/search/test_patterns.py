from __future__ import annotations

import pytest

from toolroll.result import ErrorCode, ToolError
from toolroll.text.search import patterns
from toolroll.text.search.patterns import PreparedPattern


@pytest.mark.parametrize(
    ("pattern", "literal", "prepared"),
    [
        ("a.b", False, PreparedPattern("a.b", False, False)),
        ("a.b(c)[d]", True, PreparedPattern(r"a\.b\(c\)\[d\]", False, False)),
        ("one\ntwo", True, PreparedPattern(r"one(?:\r?\n)two", True, False)),
        (r"one\ntwo", False, PreparedPattern(r"one(?:\r?\n)two", True, False)),
        (r"one\\ntwo", False, PreparedPattern(r"one\\ntwo", False, False)),
        (r"[^\n]+", False, PreparedPattern(r"[^\n]+", False, False)),
        (r"[]\n]x\n", False, PreparedPattern(r"[]\n]x(?:\r?\n)", True, False)),
        (r"[[:alpha:]\n]x", False, PreparedPattern(r"[[:alpha:]\n]x", False, False)),
        (r"\r$", False, PreparedPattern(r"\r$", False, True)),
        ("a\0b", False, PreparedPattern(r"a\x00b", False, False)),
        ("a\0b", True, PreparedPattern(r"a\x00b", False, False)),
        (r"(?<name>a)(?i:b)(?P<n>c)", False, PreparedPattern(r"(?<name>a)(?i:b)(?P<n>c)", False, False)),
        ("(?=x)", True, PreparedPattern(r"\(\?=x\)", False, False)),
        (r"[(?=]\\1", False, PreparedPattern(r"[(?=]\\1", False, False)),
    ],
)
def test_prepare(pattern: str, literal: bool, prepared: PreparedPattern) -> None:
    assert patterns.prepare(pattern, literal=literal) == prepared


def test_multiline_can_be_asked_for() -> None:
    assert patterns.prepare("a", multiline=True) == PreparedPattern("a", True, False)


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
