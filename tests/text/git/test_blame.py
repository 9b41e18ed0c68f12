"""Who wrote which line."""

import pytest

from toolroll.text.git.blame import BlameLine, parse_blame

A, B, NONE = "a" * 40, "b" * 40, "0" * 40


def told(author, seconds, zone, subject):
    return (
        f"author {author}\nauthor-mail <x@y>\nauthor-time {seconds}\nauthor-tz {zone}\nsummary {subject}\nfilename f\n"
    )


PRINTED = (
    f"{A} 1 1 2\n{told('Ann', 86400, '+0100', 'first')}\tone\n{A} 2 2\n\t\ttwo\n"
    f"{B} 1 3 1\n{told('Bob', 0, '-0230', 'second')}\t{A} 9 9\n{A} 3 4 1\n\tfour\n"
    f"{NONE} 5 5 1\n{told('Not Committed Yet', 0, '+0000', 'Version of f')}\tfive\n"
)


def test_lines_and_their_commits():
    assert parse_blame(PRINTED, "f").lines == [
        BlameLine(1, "aaaaaaaa", "Ann", "1970-01-02T01:00:00+01:00", "first", "one"),
        BlameLine(2, "aaaaaaaa", "Ann", "1970-01-02T01:00:00+01:00", "first", "\ttwo"),
        BlameLine(3, "bbbbbbbb", "Bob", "1969-12-31T21:30:00-02:30", "second", f"{A} 9 9"),
        BlameLine(4, "aaaaaaaa", "Ann", "1970-01-02T01:00:00+01:00", "first", "four"),
        BlameLine(5, None, "", "1970-01-01T00:00:00+00:00", "", "five"),
    ]


def test_runs_of_one_commit_share_its_line():
    assert str(parse_blame(PRINTED, "f")) == (
        "aaaaaaaa 1970-01-02 Ann: first\n1\tone\n2\t\ttwo\n"
        f"bbbbbbbb 1969-12-31 Bob: second\n3\t{A} 9 9\n"
        "aaaaaaaa 1970-01-02 Ann: first\n4\tfour\nNot committed yet:\n5\tfive"
    )


@pytest.mark.parametrize("seconds", ["99999999999999999999", "x", "-99999999999999"])
def test_a_date_that_no_calendar_has(seconds):
    printed = f"{A} 1 1 1\n{told('Ann', seconds, '+0000', 's')}\tone\n"
    assert parse_blame(printed, "f").lines[0].date == "1970-01-01T00:00:00+00:00"


def test_nothing():
    assert str(parse_blame("", "f")) == "No lines of 'f' to blame."
