"""What is sent to a machine without toolroll."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from toolroll import ToolError
from toolroll.host.fleet.carried_app import load_app
from toolroll.host.fleet.node_start import python_tag


class Everything:
    """A machine that has every zip file."""

    def __contains__(self, name: object) -> bool:
        return True


def test_a_zip_file_that_is_there_is_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    name, data = load_app(python_tag(), Everything())
    assert (len(name), data) == (32, b"")
    assert load_app("cpython-312-linux-aarch64-glibc", Everything())[0] != name
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("tag", "why"),
    [
        ("cpython-312-darwin-arm64-other", "only for Linux"),
        ("nonsense", "only for Linux"),
        ("cpython-312-linux-riscv64-glibc", "uv is not installed here"),
    ],
)
def test_a_system_that_has_no_packages_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, why: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolError, match=rf"packages for its {tag} cannot be fetched \({why}\)"):
        load_app(tag, ())


@pytest.mark.soak
def test_it_has_what_the_agents_of_tasks_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with zipfile.ZipFile(io.BytesIO(load_app(python_tag(), ())[1])) as archive:
        archive.extractall(tmp_path / "app")
    code = "import anthropic, openai, toolroll.agent; print(openai.__file__)"
    words = [sys.executable, "-S", "-P", "-c", code]  # without the packages that are installed here
    done = subprocess.run(words, env={"PYTHONPATH": str(tmp_path / "app")}, capture_output=True, check=False, text=True)
    assert (done.stderr, done.stdout) == ("", f"{tmp_path / 'app' / 'openai' / '__init__.py'}\n")
