"""The bench's own environment: toolroll and its peers side by side on one interpreter, in .bench/venv."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata, util
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".bench"
VENV = HOME / "venv"
PYTHON = VENV / "bin" / "python"
PINS = (ROOT / "bench" / "requirements.txt", ROOT / "requirements" / "dev.txt")  # the last one wins

# The distribution of each peer, and the module that shows whether it is there.
PEERS = {
    "langchain-core": "langchain_core",
    "mcp": "mcp",
    "openai-agents": "agents",
    "pydantic-ai-slim": "pydantic_ai",
}


class UnavailableError(Exception):
    """The environment or a corpus cannot be had here; says why."""


def alone() -> IO[str]:
    """Waits until no other bench runs here: two at once would measure, and clear away, each other's work.

    The turn lasts until the file is closed, or until this process ends or becomes another program.
    """
    HOME.mkdir(exist_ok=True)
    turn = (HOME / "lock").open("w")
    try:
        fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another bench is running; waiting for its end.", flush=True)
        fcntl.flock(turn, fcntl.LOCK_EX)
    return turn


def inside() -> bool:
    """Whether this interpreter is the one of the bench's environment."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def environment() -> Path:
    """The interpreter of the environment, made on the first run and kept while the pins stay the same."""
    stamp = VENV / "stamp"
    if not (stamp.exists() and stamp.read_text() == _wanted()):
        shutil.rmtree(VENV, ignore_errors=True)
        _make()
        stamp.write_text(_wanted())
    return PYTHON


def own(name: str) -> Path:
    """The interpreter of a peer's own environment, whose pins are not ours; made when it is first asked for."""
    folder, pins = HOME / name, ROOT / "bench" / f"requirements-{name}.txt"
    stamp, wanted = folder / "stamp", hashlib.sha256(pins.read_bytes()).hexdigest()
    python = folder / "bin" / "python"
    if not (stamp.exists() and stamp.read_text() == wanted):
        print(f"Making .bench/{name}, its own environment.", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        uv("venv", "--python", sys.executable, str(folder))
        how = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", str(pins))
        uv("pip", "install", "--python", str(python), *how)
        stamp.write_text(wanted)
    return python


def present(name: str) -> bool:
    """Whether a peer can be measured."""
    return util.find_spec(PEERS[name]) is not None


def versions() -> dict[str, str]:
    """The version of toolroll and of every peer that is here."""
    found = {name: metadata.version(name) for name in PEERS if present(name)}
    return {"toolroll": metadata.version("toolroll")} | found


def ripgrep() -> str:
    """The program that toolroll uses too, so that both search with the same version."""
    program = shutil.which("rg", path=sysconfig.get_path("scripts")) or shutil.which("rg")
    if program is None:
        raise UnavailableError("there is no ripgrep")
    return program


def _wanted() -> str:
    parts = [sys.version.encode(), *(path.read_bytes() for path in PINS)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _make() -> None:
    print("Making .bench/venv: toolroll and its peers.", flush=True)
    uv("venv", "--python", sys.executable, str(VENV))
    install = ("pip", "install", "--python", str(PYTHON))
    for pins in PINS:
        uv(*install, "--require-hashes", "--only-binary", ":all:", "--requirement", str(pins))
    uv(*install, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def find_uv() -> str | None:
    """The uv of the development environment, else the one beside this Python, that of $UV, or the one on PATH.

    $UV names the one beside the Python that the bench was started with; the bench's own environment has none.
    """
    folders = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{sysconfig.get_path('scripts')}"
    return shutil.which("uv", path=folders) or shutil.which(os.environ.get("UV", "uv")) or shutil.which("uv")


def uv(*arguments: str) -> None:
    """Run uv."""
    program = find_uv()
    if program is None:
        raise UnavailableError("there is no uv; `make setup` brings it")
    done = subprocess.run([program, "--quiet", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.split("\n")  # of a chain of causes, the first and the last one tell most
        raise UnavailableError("; ".join(line.strip() for line in (said[0], *said[-2:]) if line.strip()))
