"""The trees that are searched: real ones from source distributions, and a made one of any size."""

from __future__ import annotations

import hashlib
import io
import os
import random
import shutil
import sysconfig
import tarfile
import tomllib
import urllib.request
from pathlib import Path

from bench.peers import HOME, UnavailableError, uv

FOLDER = HOME / "corpora"
# Name, version and the sha256 of the source distribution.
SOURCES = {
    "flask": ("3.1.2", "bf656c15c80190ed628ad08cdfd3aaa35beb087855e2f494910aa3774cc4fd87"),
    "django": ("5.2.8", "23254866a5bb9a2cfa6004e8b809ec6246eba4b58a7589bc2772f1bcc8456c7f"),
}
DEPTH = (10, 10)  # folders in the first and in the second level of the made tree
OLDEST = 1_600_000_000


def trees(names: tuple[str, ...], files: int) -> dict[str, Path]:
    """The named real trees and the made one. Without a download, the installed packages stand in for them."""
    found: dict[str, Path] = {}
    try:
        found = {name: real(name) for name in names}
    except (UnavailableError, OSError) as error:
        print(f"No source distributions ({error}); the installed packages are searched instead.")
        found["site-packages"] = Path(sysconfig.get_path("purelib"))
    return found | {f"synthetic, {files:,} files": synthetic(files)}


def real(name: str) -> Path:
    """A source tree, downloaded once."""
    version, digest = SOURCES[name]
    folder = FOLDER / f"{name}-{version}"
    if not folder.exists():
        data = download(name, version, digest)
        part = FOLDER / f"{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(data)) as packed:
            packed.extractall(part, filter="data")
        (part / folder.name).rename(folder)
        part.rmdir()
    return folder


def download(name: str, version: str, digest: str) -> bytes:
    """The source distribution from the index that uv uses. Nothing of it is run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted, lock = FOLDER / f"{name}.in", FOLDER / f"pylock.{name}.toml"
    wanted.write_text(f"{name}=={version}\n")
    uv("pip", "compile", "--no-deps", "--format", "pylock.toml", str(wanted), "--output-file", str(lock))
    address = tomllib.loads(lock.read_text())["packages"][0]["sdist"]["url"]
    with urllib.request.urlopen(address, timeout=60) as answer:
        data: bytes = answer.read()
    if hashlib.sha256(data).hexdigest() != digest:
        raise UnavailableError(f"{name}-{version} is not the file it was")
    return data


def synthetic(files: int) -> Path:
    """A tree of so many small Python files, the same on every machine, each with its own age."""
    folder = FOLDER / f"synthetic-{files}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        chance = random.Random(files)
        for number in range(files):
            path = part / f"part{number % DEPTH[0]}" / f"area{number // DEPTH[0] % DEPTH[1]}"
            path.mkdir(parents=True, exist_ok=True)
            path /= f"module{number}.{'py' if number % 4 else 'txt'}"
            path.write_text(_module(number, chance))
            age = OLDEST + chance.randrange(10**8)
            os.utime(path, (age, age))
        part.rename(folder)
    return folder


def _module(number: int, chance: random.Random) -> str:
    """About 3 KB that hold what the searches look for: often, seldom or never."""
    lines = [f'"""Module {number}."""', "", f"class Thing{number}:"]
    for method in range(chance.randrange(8, 24)):
        lines += [
            f"    def {chance.choice(('make', 'take', 'show'))}_{method}(self, amount):",
            f"        self.amount_{method} = amount * {chance.randrange(10_000)}",
            f"        return self.amount_{method}",
            "",
        ]
    if number % 50 == 0:
        lines += ["    def get_size(self):", "        raise NotImplementedError", ""]
    if number % 70 == 0:
        lines += ["    def check(self):", '        raise ValueError("not here")', ""]
    return "\n".join(lines)
