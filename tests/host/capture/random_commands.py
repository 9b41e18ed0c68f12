"""Do to a tree what commands may do to it; also as a program, with a seed and a number of steps, in the present folder."""

import os
import random
import shutil
import sys
from contextlib import suppress
from pathlib import Path

NAMES = ["a.py", "b", "c d.txt", "-e", "é", "new\nline", "x.bin", "deep", os.fsdecode(b"\xff"), ".hidden", "'q\"", "z"]


class RandomCommands:
    """Does to a tree what commands may do to it."""

    def __init__(self, ws: Path, rng: random.Random) -> None:
        self.ws, self.rng = ws, rng

    def paths(self, folders: bool = False) -> list[Path]:
        found = []
        for folder, inner, files in os.walk(self.ws):
            inner[:] = [one for one in inner if one != ".git"]
            found += [Path(folder, one) for one in (inner if folders else files)]
        return sorted(found)

    def fresh(self) -> Path:
        folders = [self.ws, *self.paths(folders=True)]
        return self.rng.choice(folders) / self.rng.choice(NAMES)

    def data(self) -> bytes:
        return self.rng.choice([b"", b"line\n" * self.rng.randrange(9), self.rng.randbytes(99), b"\0" * 5000])

    def run(self, count: int) -> None:
        steps = [self.write, self.write, self.append, self.truncate, self.rename, self.remove, self.remove_folder]
        steps += [self.make_folder, self.link, self.mode, self.attribute, self.sparse, self.replace, self.hard_link]
        for _ in range(count):
            with suppress(OSError, IndexError, shutil.Error):  # as a command's own failures
                self.rng.choice(steps)()

    def some(self) -> Path:
        return self.rng.choice(self.paths())

    def write(self) -> None:
        self.fresh().write_bytes(self.data())

    def append(self) -> None:
        with self.some().open("ab") as file:
            file.write(self.data())

    def truncate(self) -> None:
        os.truncate(self.some(), self.rng.randrange(20))

    def rename(self) -> None:
        os.rename(self.rng.choice(self.paths() + self.paths(folders=True)), self.fresh())

    def remove(self) -> None:
        self.some().unlink()

    def remove_folder(self) -> None:
        shutil.rmtree(self.rng.choice(self.paths(folders=True)))

    def make_folder(self) -> None:
        self.fresh().mkdir(mode=self.rng.choice([0o755, 0o700, 0o555]))

    def link(self) -> None:
        os.symlink(self.rng.choice(NAMES), self.fresh())

    def mode(self) -> None:
        path = self.rng.choice(self.paths() + self.paths(folders=True))
        if not path.is_symlink():
            path.chmod(self.rng.choice([0o755, 0o700, 0o500] if path.is_dir() else [0o755, 0o600, 0o444]))

    def attribute(self) -> None:
        path = self.rng.choice(self.paths() + self.paths(folders=True))
        os.setxattr(path, "user.note", self.rng.randbytes(5), follow_symlinks=False)

    def sparse(self) -> None:
        with self.fresh().open("wb") as file:
            file.seek(70_000)
            file.write(b"end")

    def replace(self) -> None:
        path = self.some()
        draft = path.with_name("draft")
        draft.write_bytes(self.data())
        os.replace(draft, path)

    def hard_link(self) -> None:
        os.link(self.some(), self.fresh(), follow_symlinks=False)


if __name__ == "__main__":
    RandomCommands(Path.cwd(), random.Random(int(sys.argv[1]))).run(int(sys.argv[2]))
