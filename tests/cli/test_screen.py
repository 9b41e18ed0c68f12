"""What a terminal is sent: text of others never controls it, hides or reorders what is on it."""

import io
import json

import pytest

from toolroll.cli.screen import Styled, coloured, show_json, visible, write

HIDDEN = "\x1b]0;t\x07\x9b2J\r\u202e\u2066\U000e0041\u200b"
TERMINAL = {"FORCE_COLOR": "1", "NO_COLOR": "1"}  # counts as a terminal, without colours of our own


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_is_escaped_on_a_terminal_and_as_it_is_in_a_pipe(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        write("a", coloured(HIDDEN, "red", stream), HIDDEN, "\tb\nc", to=stream)
    shown = r"\x1b]0;t\x07\x9b2J\r\u202e\u2066\U000e0041\u200b"
    assert terminal.getvalue() == f"a\x1b[31m{shown}\x1b[0m{shown}\tb\nc\n"
    assert pipe.getvalue() == f"a{HIDDEN}{HIDDEN}\tb\nc\n"


def test_only_a_styled_text_keeps_its_colours():
    own = coloured("x", "red", Terminal())
    assert isinstance(own, Styled)
    assert "\x1b" not in visible(f"{own} ", Terminal())


def test_json_shows_hidden_characters_as_escapes_and_keeps_its_value(capsys):
    value = {HIDDEN: [HIDDEN, "é 漢 🎉\n\x7f\ud800"]}
    show_json(value)
    shown = capsys.readouterr().out
    assert json.loads(shown) == value
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert "é 漢 🎉" in shown


@pytest.mark.parametrize(
    "words",
    [
        ("blame", "a.txt"),
        ("blame", "a.txt", "--json"),
        ("journal", "--diff"),
        ("journal", "--json"),
        ("try", "--drop", "cat a.txt; cat a.txt >&2; cat a.txt > b.txt"),
        ("call", "read", "path=a.txt"),
        ("call", "read", "path=a.txt", "--json"),
        ("call", "edit", f"old={HIDDEN}x", "new=y", "path=a.txt"),
        ("undo",),
        ("sessions",),
        ("repo-map",),
    ],
    ids=" ".join,
)
def test_no_command_writes_what_controls_a_terminal(quick, words):
    quick("call", "write", "path=a.txt", f"content=x{HIDDEN}y\n")
    quick("call", "write", f"path={HIDDEN.replace('/', '')}.py", f"content=def f{HIDDEN}(): pass\n")
    _, out, err = quick(*words, **TERMINAL)
    assert [char for char in out + err if not char.isprintable() and char not in "\n\t"] == []
