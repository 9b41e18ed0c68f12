"""The trials of `tests/host/sandbox/test_probes.py`, and such with file operations, through a sandbox adapter."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.host.sandbox.test_probes import MUST_NOT, SECRET, Ground, untouched


def find_escapes(
    here: Ground, run: Callable[[str], str], read: Callable[[str], Any], write: Callable[[str, bytes], Any]
) -> set[str]:
    """Which trials had their effect. `run` gives what a command printed; `read` and `write` may raise."""
    words = "".join(f"export {name}={value}\n" for name, value in here.words().items())
    happened = {trial for trial, (script, effect) in MUST_NOT.items() if effect(here, run(words + script))}
    secret = f"{here.home}/.ssh/id"
    run(f"ln -s {here.folder} /tmp/up; ln -s {here.folder} up")
    ways = ("..", "up", "/tmp/up", f"/proc/self/root{here.folder}", f"/tmp/..{here.folder}", f"{here.ws}/..")
    for path in (secret, "key", f"{here.ws}/key", *(f"{way}/home/.ssh/id" for way in ways)):
        with suppress(Exception):
            happened |= {f"read {path}"} if SECRET.encode() in read(path) else set()
    for path in (
        here.home / ".bashrc",
        "out/b",
        here.ws / "out" / "d",
        here.tmp,
        *(f"{way}/sibling/c" for way in ways),
    ):
        with suppress(Exception):
            write(str(path), b"x")
    if list(here.sibling.iterdir()) or here.tmp.exists() or not untouched(here.home / ".bashrc"):
        happened.add("write a file")
    return happened
