from math import log, sqrt

import pytest

from toolroll.text.code.map.commit_history import CommitHistory, PastCommit, read_log

PRINTED = (
    "\x01Speak of cats\n\nAnd more.\n\x02\n\0a.py\0b/c d.py\0\x01Dogs\n\x02\n\0b/c d.py\0\x01Nothing changed\n\x02"
)


def test_commits_are_read_with_their_files():
    assert read_log(PRINTED, "sub/") == [
        PastCommit("Speak of cats\n\nAnd more.", ("sub/a.py", "sub/b/c d.py")),
        PastCommit("Dogs", ("sub/b/c d.py",)),
        PastCommit("Nothing changed", ()),
    ]


@pytest.mark.parametrize("printed", ["", "\x01", "\x02\x01\x02\x01x", "\0\0"])
def test_whatever_is_printed_is_read(printed):
    assert all(isinstance(commit, PastCommit) for commit in read_log(printed))


def test_files_are_found_by_what_was_said_of_their_changes():
    past = CommitHistory(read_log(PRINTED))
    assert past.scores({"cats": 1.0}).keys() == {"a.py", "b/c d.py"}
    assert past.scores({"dogs": 1.0}).keys() == {"b/c d.py"}
    assert past.scores({"cows": 1.0}) == {}
    assert past.popularity("b/c d.py") == log(3)
    assert past.popularity("none") == 0


def test_files_are_found_by_changes_that_were_spoken_of_alike():
    past = CommitHistory(read_log(PRINTED))
    assert past.similar({"dogs": 1.0}).keys() == {"b/c d.py"}
    assert past.similar({"cows": 1.0}) == {}
    one, two = (CommitHistory([PastCommit("Cats", files)]).similar({"cats": 1.0}) for files in (("a",), ("a", "b")))
    assert two == pytest.approx({"a": one["a"] / sqrt(2), "b": one["a"] / sqrt(2)})


def test_files_that_changed_with_the_likest_come_along():
    likest = PastCommit("Feed the cats with fish", ("cats.py", "fish.py"))
    others = [PastCommit(f"Brush cat number {number}", (f"{number}.py",)) for number in range(60)]
    found = CommitHistory([*others, likest]).similar({"cats": 1.0, "feed": 1.0, "cat": 0.3})
    assert max(found, key=found.__getitem__) in likest.files
    assert found["cats.py"] == found["fish.py"]
    assert len(found) == 21  # the files of the twenty likest


def test_a_change_of_everything_is_about_nothing():
    many = tuple(f"f{number}" for number in range(21))
    assert CommitHistory([PastCommit("Reformat cats", many)]).scores({"cats": 1.0}) == {}
    assert len(CommitHistory([PastCommit("Reformat cats", many[1:])]).scores({"cats": 1.0})) == 20


def test_a_file_is_no_better_for_having_changed_often():
    often = [*[PastCommit("Feed the birds", ("birds.py",))] * 20, *[PastCommit("Feed the cats", ("birds.py",))] * 4]
    found = CommitHistory([*often, PastCommit("Feed the cats", ("cats.py",)), PastCommit("Brush dogs", ("dogs.py",))])
    scores = found.scores({"cats": 1.0})
    assert scores["cats.py"] > 1.5 * scores["birds.py"] > 0
