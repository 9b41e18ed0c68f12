"""`toolroll memory`."""

import pytest


@pytest.fixture
def told(quick, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "w").mkdir()

    def run(*words):
        return quick(*words, "-C", str(tmp_path / "w"))

    return run


def test_memories_are_written_edited_and_read_back(told, tmp_path):
    for text in ("The port is 80", "Tabs are preferred"):
        assert told("call", "memory", "action=add", "type=semantic", f"content={text}")[0] == 0
    file = tmp_path / "memories.md"
    assert told("memory", "export", str(file)) == (0, "", "")
    text = file.read_text().replace("Tabs", "Blanks")
    file.write_text(text + "- (0.9) New\n")
    assert told("memory", "import", str(file)) == (0, "1 added, 1 changed, 0 removed.\n", "")
    assert told("memory", "import", str(file))[1] == "1 added, 0 changed, 0 removed.\n"  # which is known already
    shown = told("memory")[1]
    assert shown.count("New") == 1
    assert "Blanks are preferred" in shown
    file.write_text("- **m1** The port is 80\n")
    assert told("memory", "import", str(file), "--prune")[1] == "0 added, 0 changed, 2 removed.\n"
    file.write_text("- **m77** x\n")
    status, out, err = told("memory", "import", str(file))
    assert (status, out) == (1, "")
    assert "There is no memory 'm77'" in err
    status, _, err = told("memory", "import", str(tmp_path / "none"))
    assert status == 2
    assert "cannot be read" in err
