"""When a session read and wrote files, as document 000 asks for it: five functions of `kit.records`."""

from datetime import UTC, datetime

import pytest

from toolroll import Kit, ToolError


def test_reads_and_writes_have_times_and_can_be_marked_and_cleared(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    with Kit(tmp_path, dialect="cdd") as kit:
        began = datetime.now(UTC)
        records = kit.records
        assert (records.last_read("a.txt"), records.last_written("a.txt")) == (None, None)
        kit.call("read", file_path := {"file_path": "a.txt"})
        read = records.last_read("a.txt")
        assert read is not None
        assert began <= read <= datetime.now(UTC)
        assert records.last_written("a.txt") is None
        assert kit.call("edit", file_path | {"old_string": "one", "new_string": "two"}).ok
        assert began <= read <= records.last_written("a.txt") == records.last_read(str(tmp_path / "a.txt"))

        records.clear()
        assert (records.last_read("a.txt"), records.all()) == (None, {})
        refused = kit.call("edit", file_path | {"old_string": "two", "new_string": "three"})
        assert "must be read first" in refused.text
        records.mark_read("a.txt")
        assert records.last_written("a.txt") is None
        assert kit.call("edit", file_path | {"old_string": "two", "new_string": "three"}).ok

        (tmp_path / "a.txt").write_text("by the program itself\n")
        assert "was modified" in kit.call("edit", file_path | {"old_string": "by", "new_string": "with"}).text
        records.mark_written("./a.txt")
        assert kit.call("edit", file_path | {"old_string": "by", "new_string": "with"}).ok
        with pytest.raises(ToolError, match="there is no 'none'"):
            records.mark_read("none")


def test_what_a_command_writes_to_a_file_that_was_read_has_a_time(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    with Kit(tmp_path) as kit:
        kit.call("read", {"path": "a.txt"})
        assert kit.call("bash", {"command": "echo two > a.txt"}).ok
        assert kit.records.last_written("a.txt") is not None
        kit.call("delete", {"path": "a.txt"})
        assert kit.records.last_read("a.txt") is None
