"""Sessions of the command line: kept between calls by name or by terminal, listed and cleared."""

import fcntl
import json
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

Answer = tuple[int, str, str]
Run = Callable[..., Answer]
Put = Callable[[dict[str, str | bytes]], None]

EDIT = ("call", "-d", "cdd", "edit", "file_path=a.txt", "old_string=one", "new_string=two")


def test_cdd_edits_what_an_earlier_call_of_the_session_has_read(quick: Run, put: Put, ws: Path) -> None:
    put({"a.txt": "one\n"})
    assert quick(*EDIT)[0] == 1
    status, _, said = quick(*EDIT, "--session", "s")
    assert (status, "try: toolroll call --dialect cdd --session s read file_path=a.txt" in said) == (1, True), said
    assert quick("call", "-d", "cdd", "read", "file_path=a.txt", "--session", "s")[0] == 0
    assert quick(*EDIT)[0] == 1
    assert quick(*EDIT, "--session", "other")[0] == 1
    assert quick(*EDIT, "--session", "s")[0] == 0
    assert (ws / "a.txt").read_text() == "two\n"


def test_calls_without_a_name_and_a_terminal_share_what_cdd_has_read(quick: Run, put: Put, ws: Path) -> None:
    put({"a.txt": "one\n"})
    said = quick(*EDIT)[2]
    assert "try: toolroll call --dialect cdd read file_path=a.txt" in said, said
    assert quick("call", "-d", "cdd", "read", "file_path=a.txt")[0] == 0
    assert quick(*EDIT)[0] == 0
    assert (ws / "a.txt").read_text() == "two\n"


def test_a_latin_1_file_is_edited(quick: Run, put: Put, ws: Path) -> None:
    put({"a.txt": b"caf\xe9\n"})
    assert quick("call", "--session", "s", "read", "path=a.txt", "encoding=latin-1") == (0, "1\tcafé\n", "")
    assert quick("call", "--session", "s", "edit", "path=a.txt", "old=caf", "new=CAF")[0] == 0
    assert (ws / "a.txt").read_bytes() == b"CAF\xe9\n"


def test_sessions_are_listed_and_cleared(quick: Run, put: Put) -> None:
    put({"a.txt": "one\n"})
    assert quick("sessions") == (0, "There are no sessions here.\n", "")
    for name in ("one", "two"):
        quick("call", "--session", name, "read", "path=a.txt")
    rows = json.loads(quick("sessions", "--json")[1])
    assert [(row["name"], row["folder"], row["files"]) for row in rows] == [("two", ".", 1), ("one", ".", 1)]
    assert quick("sessions", "three")[2].startswith("toolroll: There is no session 'three'.")
    assert quick("sessions", "-C", "nowhere")[2].startswith("toolroll: Cannot open the workspace 'nowhere'")
    assert quick("sessions", "--clear", "one") == (0, "Cleared: one.\n", "")
    assert quick("sessions")[1].startswith("two  last used ")
    quick("sessions", "--clear")
    assert quick("sessions") == (0, "There are no sessions here.\n", "")


def test_a_damaged_session_is_one_sentence_and_the_call_works(quick: Run, put: Put, tmp_path: Path) -> None:
    put({"a.txt": "one\n"})
    read = ("call", "--session", "s", "read", "path=a.txt")
    quick(*read)
    (file,) = tmp_path.glob("state/toolroll/*/sessions/s.json")
    file.write_bytes(b"{broken")
    status, out, said = quick(*read)
    assert (status, out) == (0, "1\tone\n")
    assert said.startswith("note: The session 's' starts empty: its file was damaged, and is kept as ")
    assert said.count("\n") == 1
    assert quick(*read) == (0, "1\tone\n", "")


def test_a_session_needs_a_name(quick: Run) -> None:
    assert quick("call", "--session", "", "ls") == (
        2,
        "",
        "toolroll: The session has no name. Give one with --session NAME.\n",
    )


def test_calls_from_one_terminal_are_one_session(ws: Path, put: Put, env: dict[str, str]) -> None:
    put({"a.txt": "one\n"})

    def run(terminal: int, *words: str) -> int:
        def take() -> None:
            os.setsid()
            if terminal >= 0:
                fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

        return subprocess.run(
            [sys.executable, "-m", "toolroll", *words],
            cwd=ws,
            env=env,
            preexec_fn=take,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            pass_fds=[terminal] if terminal >= 0 else [],
            timeout=60,
            check=False,
        ).returncode

    read = ("call", "-d", "cdd", "read", "file_path=a.txt")
    pairs = [pty.openpty(), pty.openpty()]
    try:
        one, two = pairs[0][1], pairs[1][1]
        assert run(-1, *read) == 0
        assert run(two, *EDIT) == 1
        assert run(one, *read) == 0
        assert run(two, *EDIT) == 1
        assert run(one, *EDIT) == 0
    finally:
        for pair in pairs:
            os.close(pair[0])
            os.close(pair[1])


@pytest.mark.parametrize("words", [("sessions", ""), ("call", "--ses")])
def test_completion_knows_them(quick: Run, put: Put, words: tuple[str, ...]) -> None:
    put({"a.txt": "one\n"})
    quick("call", "--session", "mine", "read", "path=a.txt")
    assert quick("__complete", *words)[1].startswith(("mine\t", "--session\t"))
