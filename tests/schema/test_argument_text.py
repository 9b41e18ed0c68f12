"""Arguments with a slip are understood where there is one reading; all other text is refused, and nothing is done."""

import json
import random

import pytest

from toolroll import Kit, ToolError
from toolroll.schema.argument_text import MAX_CHARS, read_object

MEANT = {
    "path": "b.txt",
    "content": 'it\'s \u00e9\n\tand "more"',
    "line": 3,
    "all": True,
    "of": None,
    "edits": [{"old": "{", "new": "},'"}],
}


def slips(meant, rng):
    """Texts that models send in place of the JSON of `meant`, by the name of the slip."""
    plain = json.dumps(meant, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 2]))
    return {
        "nothing": plain,
        "raw line feeds": plain.replace("\\n", "\n").replace("\\t", "\t"),
        "Python": repr(meant),
        "Python's words": plain.replace("true", "True").replace("null", "None"),
        "a comma too many": plain[:-1].rstrip() + rng.choice([",}", ", \n}"]),
        "a fence": f"```{rng.choice(['', 'json'])}\n{plain}\n```\n",
        "encoded twice": json.dumps(plain),
        "an escaped quote": plain.replace("'", "\\'"),
        "a brace too many": plain + rng.choice(["}", "\n}", "}}"]),
        "two at once": repr(meant)[:-1] + ",}}",
    }


@pytest.mark.parametrize("name", slips(MEANT, random.Random(1)))
def test_a_slip_with_one_reading_is_understood(name):
    found, notes = read_object(slips(MEANT, random.Random(2))[name])
    assert found == MEANT
    assert bool(notes) == (name != "nothing")


@pytest.mark.parametrize("text", ["", "  ", "null", "None", "{}", None])
def test_no_arguments_are_given_in_many_ways(text, tmp_path):
    with Kit(tmp_path) as kit:
        assert kit.call("time", text).ok


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"path":"b.txt","content":"x and mo', "cut off after 35 characters: send the rest in parts"),
        ('{"path": "a", "line": 1', "cut off after 23 characters"),
        ('{"path": "a", "all": tr', "cut off"),
        ("{'path': 'a", "cut off"),
        ('"{\\"path\\": 1', "cut off"),
        ('```json\n{"path": "a"', "cut off"),
        ('{"path": "a"} and more', "' and more' follows the object, at character 14"),
        ('{"path": "a"}{"path": "b"}', "follows the object"),
        ('{"path": "a", "path": "b"}', "'path' is given twice"),
        ('{"edits": [{"old": "a", "old": "b"}]}', "'old' is given twice"),
        ('{"path": "a", "p\\u0061th": "b"}', "'path' is given twice"),
        ("{'path': 'a', 'path': 'b'}", "'path' is given twice"),
        ('{"path": "say "hi""}', "out of place"),
        ("{'path': 'don't'}", "out of place"),
        ('{"path": "\\d"}', "out of place"),
        ('{"path": "a" "line": 1}', "out of place"),
        ('{"path": [1,, 2]}', "out of place"),
        ('{"path": "\\ud800"}', "lone surrogate"),
        ('{"path": "\ud800"}', "surrogates"),
        ('{"path": "\\ud800\n"}', "lone surrogate"),
        ('{"path": NaN}', "not valid JSON"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("x" * (MAX_CHARS + 1), "send the content in parts"),
    ],
)  # fmt: skip
def test_what_has_no_single_reading_is_refused_and_does_nothing(text, words, tmp_path):
    with pytest.raises(ToolError) as caught:
        read_object(text)
    assert words in caught.value.message
    with Kit(tmp_path) as kit:
        assert not kit.call("write", text).ok
    assert not list(tmp_path.iterdir())


def test_a_thousand_slips_are_the_meant_call_or_none():
    rng = random.Random(7)
    pieces = [
        "a",
        "'",
        '"',
        "\\",
        "\n",
        "\t",
        "{",
        "}",
        "[",
        "]",
        ",",
        ": ",
        "```",
        "\u00e9",
        "\U0001f600",
        "None",
        "//",
        "\\n",
        "\x01",
    ]
    understood = 0
    for number in range(1000):
        text = ["".join(rng.choices(pieces, k=rng.randrange(12))) for _ in range(3)]
        meant = {
            "path": text[0],
            "edits": [{"old": text[1], "new": text[2]}],
            "line": rng.randrange(99),
            "all": rng.random() < 0.5,
        }
        made = slips(meant, rng)
        slip = made[rng.choice(list(made))]
        if number % 4 == 0:
            slip = slip[: rng.randrange(len(slip))]
        if number % 4 == 1:
            at = rng.randrange(len(slip))
            slip = slip[:at] + rng.choice(pieces) + slip[at:]
        try:
            found, _ = read_object(slip)
        except ToolError:
            continue
        understood += 1
        if number % 4 == 1:
            continue  # another text may well have been meant
        assert found in (meant, {}), slip
    assert understood > 500


def test_slips_are_reported_wherever_a_call_comes_in(tmp_path):
    text = "{'path': 'b.txt', 'content': 'x',}"
    with Kit(tmp_path) as kit:
        called = kit.call("write", text)
        assert called.meta["coerced"] == ["arguments: Python's quotes", "arguments: a comma too many"]
        assert list(kit.check("write", text).coerced) == called.meta["coerced"]
        call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '"{\\"path\\": \\"b.txt\\"}"'}}
        assert "x" in kit.execute([call])[0]["content"]
        edits = kit.call("edit", {"path": "b.txt", "edits": "[{'old': 'x', 'new': 'y'}]"})
        assert edits.ok
    assert (tmp_path / "b.txt").read_text() == "y"
