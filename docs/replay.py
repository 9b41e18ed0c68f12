"""Runs the commands that a page of the manual shows, so that what it shows is what really happens.

`python docs/replay.py` runs those of README.md again, pastes what they print and draws docs/run.svg.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
PICTURE = HERE / "run.svg"
COLUMNS = 112
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_STEP = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_REMOTE_FONT = re.compile(r"\s*@font-face \{\{.*?\}\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and what it prints on both streams."""

    command: str
    output: str


def steps(page: str) -> list[Step]:
    """What the page shows: the commands of its console blocks, with their output."""
    return [Step(*step.groups()) for block in _BLOCK.finditer(page) for step in _STEP.finditer(block[1])]


def play(commands: Sequence[str], home: Path, *, colours: bool = False) -> Iterator[Step]:
    """Run the commands in turn in the folder `demo` of an empty `home`, whose path is shown as ~."""
    demo, programs = home / "demo", home / "bin"
    demo.mkdir()
    programs.mkdir()
    program = programs / "toolroll"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m toolroll "$@"\n')
    program.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    env |= {"PATH": f"{programs}:{env['PATH']}", "XDG_STATE_HOME": str(home / "state"), "LC_ALL": "C.UTF-8"}
    if colours:
        env |= {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "xterm"}
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=demo,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        yield Step(command, done.stdout.decode().replace(str(home), "~"))


def pasted(page: str, played: Sequence[Step]) -> str:
    """The page with the outputs of these steps in the place of its own."""
    following = iter(played)

    def renewed(_: re.Match[str]) -> str:
        step = next(following)
        return f"$ {step.command}\n{step.output}"

    return _BLOCK.sub(lambda block: block[0].replace(block[1], _STEP.sub(renewed, block[1])), page)


def draw(played: Sequence[Step]) -> str:
    """The steps as a picture of a terminal. The font is the reader's own: nothing is fetched."""
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console
    from rich.text import Text

    with open(os.devnull, "w") as nowhere:
        console = Console(file=nowhere, record=True, width=COLUMNS, force_terminal=True, highlight=False)
        for step in played:
            console.print(Text.assemble(("$ ", "bold green"), (step.command, "bold")))
            console.print(Text.from_ansi(step.output))
        code = _REMOTE_FONT.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code, ", "")
        code = code.replace("<svg ", '<svg xml:space="preserve" ', 1)  # some viewers drop blanks otherwise
        return console.export_svg(title="toolroll", code_format=code, unique_id="run")


def main() -> int:
    """Renew the README's transcript and the picture of it."""
    page = README.read_text(encoding="utf-8")
    commands = [step.command for step in steps(page)]
    with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as coloured:
        README.write_text(pasted(page, list(play(commands, Path(plain)))), encoding="utf-8")
        picture = draw(list(play(commands, Path(coloured), colours=True)))
    PICTURE.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
