import pytest

from toolroll.result import ErrorCode, ToolError
from toolroll.text.edit.text_edits import Edit, apply, check_name


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ([], "one two one"),
        ([Edit(0, 3, "1"), Edit(8, 11, "1")], "1 two 1"),
        ([Edit(8, 11, "1"), Edit(0, 3, "1")], "1 two 1"),
        ([Edit(3, 3, "a"), Edit(3, 3, "b")], "oneab two one"),
        ([Edit(0, 3, "x"), Edit(3, 3, "!")], "x! two one"),
        ([Edit(0, 11, "")], ""),
    ],
)
def test_all_edits_at_once(edits, text):
    assert apply("one two one", edits) == text


def test_edits_of_the_same_characters_are_refused():
    with pytest.raises(ToolError, match="overlap") as caught:
        apply("one two", [Edit(0, 3, "a"), Edit(2, 4, "b")])
    assert caught.value.code is ErrorCode.EXECUTION


@pytest.mark.parametrize("name", ["a", "_a1", "größe", "$el", "#x", "'a", "empty?", "~Foo"])
def test_names(name):
    check_name(name)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a\n", "a-b", "a.b", "f()", "a;b", "😀"])
def test_no_names(name):
    with pytest.raises(ToolError) as caught:
        check_name(name)
    assert caught.value.code is ErrorCode.VALIDATION
