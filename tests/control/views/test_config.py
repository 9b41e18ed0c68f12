"""Settings as the console shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolroll import Kit, ToolError
from toolroll.control.views import show


def test_settings_with_their_origins_and_without_secrets(
    open_kit: Callable[..., Kit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "config" / "toolroll" / "toolroll.toml"
    file.parent.mkdir(parents=True)
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    file.write_text(
        f'mode = "thinking"\n[environment]\nset = {{CI = "1", API_KEY = "abc"}}\n'
        f'[[hook]]\nevent = "after"\ncommand = "notify --token {token}"\n'
    )
    kit = open_kit(limits={"jobs": 3})
    text = show(kit, "config", {})["text"]
    lines = text.splitlines()
    assert f'mode = "thinking"  # {file}' in lines
    assert f'environment.set = {{"CI":"1","API_KEY":"(hidden)"}}  # {file}' in lines
    assert "limits.jobs = 3  # this process" in lines
    assert "wide = false  # default" in lines
    assert "notify --token" in text
    assert token not in text
    file.write_text("mode = 3")
    with pytest.raises(ToolError, match=r"toolroll\.toml"):
        show(kit, "config", {})
