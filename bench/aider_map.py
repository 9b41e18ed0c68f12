"""aider's repo map, from its own environment. Run as a program: requests in, answers out, a line of JSON each.

`{"map": words, "files": [...], "fresh": true}` makes a map of 2,048 tokens, if fresh without what earlier ones kept;
`{"rank": words, "named": [...], "files": [...]}` gives files, the best first. Both tell the seconds that it took.
Tokens are counted as a quarter of the characters, which costs less than the tokenizers that aider uses.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any


class Aider:
    """The program below, running beside us on one tree until the end of the block."""

    script = __file__

    def __init__(self, python: Path, tree: Path, *arguments: str) -> None:
        import subprocess

        self.cpu = 0.0
        """The seconds that all requests took."""
        self._process = subprocess.Popen(
            [str(python), self.script, str(tree), *arguments],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Aider:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, **asked: Any) -> dict[str, Any]:
        """The answer to a request; RuntimeError if there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{Path(self.script).name} ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        self.cpu += answer["cpu"]
        return answer


class Quiet:
    """What aider reads files with and talks to."""

    def read_text(self, path: str, **_: Any) -> str | None:
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            return None

    def tool_output(self, *said: str, **how: Any) -> None:
        """Nobody listens."""

    tool_warning = tool_error = tool_output


class Model:
    """What aider counts tokens with."""

    def token_count(self, text: str) -> int:
        return len(text) // 4


class Maps:
    """Maps of one tree, by one `RepoMap` until a new one is asked for."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._made: Any = None

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked.get("fresh"):
            self._made = None
            for kept in Path(self._root).glob(".aider.tags.cache.*"):
                shutil.rmtree(kept)
        files = [str(Path(self._root, path)) for path in asked["files"]]
        cpu, wall = time.process_time(), time.perf_counter()
        found = self._ranked(asked, files) if "rank" in asked else self._mapped(asked, files)
        return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "found": found}

    def _ranked(self, asked: dict[str, Any], files: list[str]) -> list[str]:
        tags = self._map().get_ranked_tags([], files, set(asked["named"]), set(asked["rank"]))
        return list(dict.fromkeys(tag[0] for tag in tags))

    def _mapped(self, asked: dict[str, Any], files: list[str]) -> str:
        made: str | None = self._map().get_repo_map([], files, mentioned_idents=set(asked["map"]))
        if not made:
            raise RuntimeError("there is no map")
        return made

    def _map(self) -> Any:
        from aider.repomap import RepoMap

        if self._made is None:
            self._made = RepoMap(2048, self._root, Model(), Quiet(), map_mul_no_files=1, refresh="always")
        return self._made


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr  # aider prints
    maps = Maps(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(maps.answer(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
