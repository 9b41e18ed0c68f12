"""What twelve usual calls cost in real clients: characters that the model receives, against the text of the results.

`python -m tests.clients.twelve` prints the table of docs/mcp.md; it runs on a clone of this repository.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.clients.programs import PROGRAMS, ClientProgram, run
from tests.clients.scripted_model import serve_script
from toolroll import Kit

_ROOT = Path(__file__).parents[2]
CALLS = [(name, arguments) for name, arguments in json.loads(Path(__file__).with_suffix(".json").read_text())]


# On a busy machine the first map is not whole: it says so, and reads on with the next call.
WARMING = [("repo_map", {"query": "call"})] * 3


@dataclass(frozen=True)
class Cost:
    """Characters of the results of all calls."""

    text: int
    """The text alone, from the library."""
    received: int
    """What the model received."""
    frame: int
    """Of that, what the client itself writes around every result."""

    @property
    def ratio(self) -> float:
        """How much of what toolroll sends reaches the model, against the text."""
        return (self.received - self.frame) / self.text


def prepare(folder: Path) -> tuple[Path, list[str]]:
    """A clone of this repository, and the texts of the calls in it."""
    work = folder / "work"
    subprocess.run(["git", "clone", "--quiet", "--local", str(_ROOT), str(work)], check=True)
    with Kit(work, state_dir=folder / "state") as kit:
        return work, [kit.call(name, arguments).text for name, arguments in WARMING + CALLS][len(WARMING) :]


def measure(client: ClientProgram, work: Path, texts: list[str], home: Path) -> Cost:
    """Run the calls in a client."""
    with serve_script([[one] for one in WARMING + CALLS]) as model:
        printed = run(client, model.url, work, home)
    results = [one.text for one in model.last.results][len(WARMING) :]
    assert len(results) == len(CALLS), printed
    rest = [received.replace(text, "", 1) for received, text in zip(results, texts, strict=True)]
    frame = sum(len(one) for one in rest if re.fullmatch(client.frame, one))
    return Cost(sum(map(len, texts)), sum(map(len, results)), frame)


def main(names: list[str]) -> None:
    print(
        "| client | text | received | of it the client's own frame | ratio without the frame |\n|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        work, texts = prepare(Path(folder))
        costs = {name: measure(PROGRAMS[name], work, texts, Path(folder, name)) for name in names or PROGRAMS}
    for name, cost in costs.items():
        print(f"| {name} | {cost.text:,} | {cost.received:,} | {cost.frame:,} | {cost.ratio:.3f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
