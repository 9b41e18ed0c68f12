import pytest

from toolroll.text.line_shift import find_new

OLD = "a\nb\nc\nd\n"


@pytest.mark.parametrize(
    ("after", "old", "new", "fresh"),
    [
        (OLD, [(2, "x")], [(2, "x")], []),
        (OLD, [(2, "x")], [(3, "x")], [0]),  # the same words, another line
        (OLD, [(2, "x")], [(2, "x"), (2, "x")], [1]),  # once more than before
        (OLD, [], [(1, "x"), (4, "y")], [0, 1]),
        ("new\nnew\na\nb\nc\nd\n", [(2, "x")], [(4, "x")], []),  # lines put before it
        ("new\nnew\na\nb\nc\nd\n", [(2, "x")], [(4, "x"), (2, "x")], [1]),
        ("b\nc\nd\n", [(2, "x"), (1, "y")], [(1, "x")], []),  # a line taken away before it
        ("a\nB\nc\nd\n", [(2, "x")], [(2, "x")], []),  # the line itself was changed, and has still got it
        ("a\nB\nB\nB\nc\nd\n", [(2, "x"), (4, "y")], [(4, "x"), (6, "y")], []),
        ("a\nc\nd\n", [(2, "x")], [(2, "x")], [0]),  # it went with its line: this one is another
        ("a\nNEW\nb\nc\nNEW\nd\n", [(1, "p"), (3, "q"), (4, "r")], [(1, "p"), (2, "n"), (4, "q"), (6, "r")], [1]),
    ],
)
def test_what_is_new(after, old, new, fresh):
    assert find_new(OLD, after, old, new) == fresh


def test_a_very_large_change_is_one_change():
    before = "".join(f"{n}\n" for n in range(3000))
    after = "".join(f"x{n}\n" for n in range(3000))
    assert (
        find_new(
            "top\n" + before + "end\n", "top\n" + after + "end\n", [(5, "x"), (3002, "z")], [(900, "x"), (3002, "z")]
        )
        == []
    )
