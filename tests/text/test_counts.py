"""Numbers with the word for what they count."""

from toolroll.text import counts


def test_one_and_many():
    assert [counts.counted(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
    assert [counts.lines(3, 3), counts.lines(3, 5)] == ["line 3", "lines 3-5"]
