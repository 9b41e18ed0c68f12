"""A refusal helps: what is near, how it differs, and calls that would work."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll import ToolError
from toolroll.text.edit import match

TEXT = "def f(a):\n    limit = 3000\n    return a\n\n\ndef g(a):\n    return a\n"


def refused(text, old, new="new"):
    with pytest.raises(ToolError) as caught:
        match.replace(text, old, new)
    return caught.value


def test_the_nearest_lines_are_shown_with_what_differs():
    error = refused(TEXT, "def f(a):\n    limit = 9000\n    return a", "def f(a):\n    limit = 9000\n    return b")
    assert error.message == (
        "The old text was not found.\n"
        "Near: lines 1-3, 2 of 3 lines equal.\n"
        "  line 2 is   \u00b7\u00b7\u00b7\u00b7limit = 3000\n"
        "  you wrote   \u00b7\u00b7\u00b7\u00b7limit = 9000\n"
        "    '9000' should be '3000'\n"
        "Copy the text exactly as the file has it."
    )
    (call,) = error.suggest
    assert call.arguments == {
        "old": "def f(a):\n    limit = 3000\n    return a",
        "new": "def f(a):\n    limit = 3000\n    return b",
    }


def test_blanks_are_made_visible():
    error = refused("if a:\n\tb()  \nx = 1\n", "if a:\nb()\nx = 1")
    assert "\u2192b()" in error.message
    assert "only blanks differ" in error.message


def test_a_new_text_that_is_there_already_is_told():
    assert "already there, at line 2" in refused(TEXT, "    limit = 1", "    limit = 3000").message


def test_a_new_text_that_is_there_already_but_for_blanks_is_told():
    text = TEXT.replace("    ", "\t")
    assert (
        "already there, at line 2"
        in refused(text, "    limit = 1\n    return b", "    limit = 3000\n    return a").message
    )


@pytest.mark.parametrize(
    ("old", "words"),
    [
        ("    limit = max(9000)", "'max(9000)' should be '3000'"),
        ("    limit", "'= 3000' is missing"),
        ("    limit = 3000 + a", "'+ a' is not there"),
    ],
)
def test_what_differs_is_said_in_the_words_of_the_two_lines(old, words):
    error = refused(TEXT, f"def f(a):\n{old}\n    return a")
    assert words in error.message
    assert "nothing" not in error.message


def test_a_line_with_a_slip_is_found_by_likeness():
    assert "line 2 is" in refused(TEXT, "    limmit = 3000").message


def test_each_of_several_places_gets_its_own_call():
    error = refused(TEXT, "    return a", "    return b")
    assert [call.arguments["old"] for call in error.suggest] == [
        "    limit = 3000\n    return a\n",
        "def g(a):\n    return a\n",
    ]


@given(
    st.lists(st.sampled_from(["a", "b", "    a", "", "x = 1"]), min_size=1, max_size=12),
    st.lists(st.sampled_from(["a", "b", "  a", "x = 2"]), min_size=1, max_size=3),
)
def test_every_suggested_call_succeeds(lines, quote):
    text, new = "\n".join(lines) + "\n", "something else"
    try:
        match.replace(text, "\n".join(quote), new)
    except ToolError as error:
        for call in error.suggest:
            assert match.replace(text, call.arguments["old"], call.arguments["new"]).count == 1


def test_a_suggested_call_works_as_it_stands(kit, put, ws):
    put({"sub/a.py": TEXT})
    result = kit.call("edit", {"path": "sub/a.py", "old": "    return a", "new": "    return b"})
    first = result.error.suggest[0]
    assert first.arguments["path"] == "sub/a.py"
    assert kit.call(first.name, first.arguments).ok
    assert (ws / "sub/a.py").read_text() == TEXT.replace("return a", "return b", 1)


@pytest.mark.parametrize("dialect", ["pigo", "fosscode"])
def test_in_the_words_of_the_dialect(open_kit, put, dialect):
    put({"a.py": TEXT})
    path, old, new = (
        ("filePath", "oldString", "newString") if dialect == "fosscode" else ("path", "old_string", "new_string")
    )
    kit = open_kit(dialect)
    result = kit.call("edit", {path: "a.py", old: "limit = 9000\n    return a", new: "limit = 1\n    return a"})
    call = result.error.suggest[0]
    assert kit.call(call.name, call.arguments).ok


@given(st.data())
def test_a_suggestion_loses_no_line_that_is_not_changed(data):
    """One line is misquoted, one is changed, and the file may have a line more than the quote."""
    pool = [f"{'    ' * (number % 3)}word_{number} = {number}" for number in range(12)]
    lines = pool[: data.draw(st.integers(4, 12))]
    start = data.draw(st.integers(0, len(lines) - 4))
    quoted = lines[start : data.draw(st.integers(start + 4, len(lines)))]
    unknown, wrong, changed = (data.draw(st.integers(0, len(quoted) - 1)) for _ in range(3))
    by = data.draw(st.sampled_from(["", "  ", "    "]))
    new = [by + line for line in quoted]
    quoted = list(new)
    quoted[wrong] = new[wrong] = quoted[wrong].replace("word", "other")
    gone = lines[start + changed]
    new[changed] += "  # changed"
    if data.draw(st.booleans()) and unknown not in (wrong, changed):
        del quoted[unknown], new[unknown]
    try:
        match.replace("\n".join(lines) + "\n", "\n".join(quoted), "\n".join(new))
    except ToolError as error:
        for call in error.suggest:
            made = iter(match.replace("\n".join(lines) + "\n", **call.arguments).text.split("\n"))
            assert all(line in made for line in lines if line != gone)
