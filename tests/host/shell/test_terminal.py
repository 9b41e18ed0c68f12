"""Terminals of commands: keys, screens, sizes, and control of jobs in each tier."""

import time

import pytest

from toolroll.host.shell import terminal
from toolroll.host.shell.output import CapturedOutput
from toolroll.host.shell.terminal import TerminalScreen, encode_keys, parse_size
from toolroll.result import ToolError
from toolroll.tools.shell import bash as bash_tool


@pytest.fixture
def output():
    return CapturedOutput(None)


@pytest.mark.parametrize(
    ("text", "keys", "sent"),
    [
        ("1+1\n", [], "1+1\r"),
        ("a\r\nb", ["enter"], "a\rb\r"),
        ("", ["ctrl-c", "^D", "C-z", "Control-["], "\x03\x04\x1a\x1b"),
        ("", ["up", "Esc", "escape", "page_down", "f1", "f12"], "\x1b[A\x1b\x1b\x1b[6~\x1bOP\x1b[24~"),
        ("", ["alt-x", "M-B", "shift-tab", "backspace"], "\x1bx\x1bB\x1b[Z\x7f"),
    ],
)
def test_keys(text, keys, sent):
    assert encode_keys(text, keys) == sent


def test_keys_that_a_program_wants_otherwise_or_that_are_none(output):
    output.add(b"\x1b[?1h")
    assert TerminalScreen(output).application_keys
    assert encode_keys("", ["up", "enter"], application=True) == "\x1bOA\r"
    with pytest.raises(ToolError, match=r"There is no key 'hyper'\. There are: up, .*`input`"):
        encode_keys("", ["hyper"])


@pytest.mark.parametrize(
    "text", ["", "80", "80x", "19x24", "80x4", "501x24", "80x201", "-80x24", "80x24x2", "\u0668\u0660x24"]
)
def test_bad_sizes(text):
    with pytest.raises(ToolError, match="is no size of a terminal"):
        parse_size(text)
    assert parse_size("100x30") == (100, 30)


def test_a_screen_shows_what_a_person_would_see(output):
    screen = TerminalScreen(output)
    output.add(b"one\r\ntwo \x1b[31mred\x1b[0m\r\n\x1b[1;1HONE\x1b[5;3Hcaf\xc3")
    shown = screen.look()
    assert shown.text == "ONE\ntwo red\n\n\n  caf"
    output.add(b"\xa9")
    assert screen.look().text.endswith("  café")
    assert screen.look().size == "80x24, cursor in row 5, column 7"
    output.add(b"\x1b[2J\x1b[Hx" + b"y" * 30)
    screen.resize(20, 24)
    output.add(b"\r\n" + b"z" * 25)
    assert (screen.look().text, screen.look().size[:6]) == ("x" + "y" * 19 + "\n" + "z" * 20 + "\n" + "z" * 5, "20x24,")


@pytest.mark.parametrize(
    "flood",
    [
        b"y\r\n" * 2_000_000,
        b"e" + "\u0301".encode() * 100_000,
        b"\x1b[" + b"9" * 5000 + b"A",
        b"\x1b[9999L\x1b[9999@\x1b[9999M" * 5_000,
        b"\x1b]0;" + b"t" * 200_000,
    ],
    ids=["lines", "marks", "number", "inserts", "title"],
)
def test_a_flood_is_bounded(output, flood):
    screen = TerminalScreen(output)
    began = time.process_time()
    for at in range(0, len(flood), 1 << 16):
        output.add(flood[at : at + (1 << 16)])
    screen.look()
    output.add(b"\x1b\\\x07\r\n\x1b[2J\x1b[1;1Hend")
    assert screen.look().text.endswith("end")
    assert time.process_time() - began < 3


def test_without_the_library_the_last_lines_are_shown(output, monkeypatch):
    monkeypatch.setattr(terminal, "_make_screen", lambda *_: (None, None))
    screen = TerminalScreen(output)
    output.add(b"\x1b[31mone\x1b[0m\r\n" * 50 + b"last")
    screen.resize(80, 5)
    assert screen.look().text == "one\none\none\none\nlast"
    assert "[terminal]" in screen.look().size


def test_a_shell_with_job_control(kit, tier, monkeypatch):
    """^C, ^Z, /dev/tty, job control and sizes, as in the terminal of a person."""
    monkeypatch.setattr(bash_tool, "_TERMINAL_SECONDS", 0.2)

    def press(text="", *keys, **more):
        return kit.call("job", {"action": "input", "id": 1, "input": text, "keys": list(keys), "wait": 5} | more).text

    assert "Still running as job 1." in kit.call("bash", {"command": "PS1='> ' bash --norc", "tty": True}).text
    assert "\n24 80\n" in press("stty size; echo $((40+2)) >/dev/tty\n")
    assert "\n42\n" in kit.call("job", {"action": "screen", "id": 1}).text
    press("clear\n")
    press("sleep 100\n")
    assert "Stopped" in press("", "ctrl-z")
    press("fg\n")
    assert "^C" in press("", "ctrl-c")
    assert "status 130\n" in press("echo status $?\n")
    assert "Screen: 100x30" in press(size="100x30", wait=0.2)
    assert "30 100\n" in press("clear; stty size\n")
    shown = press("exit 7\n")
    while "[Job 1: running." in shown:
        shown = kit.call("job", {"action": "screen", "id": 1}).text
    assert "exited with 7" in shown


def test_a_flood_that_is_killed_shows_its_last_screen(kit, monkeypatch):
    monkeypatch.setattr(bash_tool, "_TERMINAL_SECONDS", 0.2)
    kit.call("bash", {"command": "yes flood", "tty": True})
    killed = kit.call("job", {"action": "kill", "id": 1}).text
    assert "flood\nflood\n" in killed
    assert "\n[Job 1: killed. Screen: 80x24" in killed
    assert len(killed) < 500


def test_what_needs_a_terminal_says_so(kit, open_kit):
    kit.call("bash", {"command": "sleep 100", "background": True})
    for arguments in ({"action": "screen"}, {"action": "input", "keys": ["up"]}, {"action": "output", "size": "80x24"}):
        result = kit.call("job", {"id": 1, **arguments})
        assert (str(result.error.code), result.text) == (
            "ValidationError",
            "Job 1 has no terminal. Start it with `tty`.",
        )
    ended = kit.call("bash", {"command": "[ -t 0 ] && [ -t 1 ] && echo $TERM; exit 3", "tty": True})
    assert (ended.text, ended.data["exit_code"]) == ("xterm-256color\nExit code: 3", 3)


def test_codex_types_into_a_terminal(open_kit):
    kit = open_kit("codex")
    kit.call("exec_command", {"cmd": "read -p 'name? ' name; echo hello $name", "tty": True, "yield_time_ms": 250})
    answer = kit.call("write_stdin", {"session_id": 1, "chars": "you\n", "yield_time_ms": 5000})
    assert (answer.data["exit_code"], "hello you" in answer.data["output"]) == (0, True)
