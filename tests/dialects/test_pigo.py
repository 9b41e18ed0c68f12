"""pigo: what its document says, beyond names."""

import pytest


@pytest.fixture
def kit(open_kit):
    return open_kit("pigo")


def test_new_files_are_0644_and_old_modes_stay(kit, put, ws):
    put({"run.sh": "old"})
    (ws / "run.sh").chmod(0o750)
    kit.call("write", {"path": "run.sh", "content": "new"})
    kit.call("write", {"path": "x/y.txt", "content": "new"})
    assert [(ws / name).stat().st_mode & 0o777 for name in ("run.sh", "x/y.txt")] == [0o750, 0o644]


def test_more_than_ten_megabytes_are_refused(kit, put):
    put({"big.txt": "x" * (10 * 1024 * 1024 + 1)})
    assert kit.call("read", {"path": "big.txt", "limit": 1}).error.code == "TooLarge"


def test_without_a_limit_all_lines_are_read(kit, put):
    put({"a.txt": "x\n" * 2500})
    assert kit.call("read", {"path": "a.txt"}).text.endswith("\n2500\tx")


def test_entries_are_marked(kit, put, ws):
    put({"f.txt": "1", "d/x": "1", ".h": "1"})
    (ws / "l").symlink_to("f.txt")
    assert kit.call("ls", {"path": "."}).text == "[dir] d\n[file] f.txt\n[link] l\n(1 hidden not shown)"


def test_find_finds_files_and_folders_by_default(kit, put):
    put({"src/x/a.go": "1"})
    assert set(kit.call("find", {"pattern": "src/**"}).text.split("\n")) == {"src/x/", "src/x/a.go"}


def test_grep_is_cut_at_fifty_kilobytes(kit, put):
    put({"a.txt": "needle and some more words\n" * 5000})
    result = kit.call("grep", {"pattern": "needle"})
    assert len(result.text) <= 50_200
    assert result.text.startswith("a.txt\n1:needle")
    assert result.meta["spill"]


@pytest.mark.parametrize("path", ["/etc/hostname", "../x", "/"])
def test_the_boundary_is_everywhere(kit, path):
    calls = [
        ("read", {"path": path}),
        ("write", {"path": path + "/x", "content": "x"}),
        ("edit", {"path": path, "old_string": "a", "new_string": "b"}),
        ("grep", {"pattern": "root", "path": path}),
        ("find", {"pattern": "*", "path": path}),
        ("ls", {"path": path}),
    ]
    assert [kit.call(name, arguments).error.code for name, arguments in calls] == ["SecurityError"] * len(calls)


def test_a_command_gets_no_secret_and_nothing_of_the_model(open_kit, monkeypatch):
    given = {"OPENAI_BASE_URL": "https://secret.example", "SECRET_TOKEN": "shh", "PIGO_TEST_SAFE": "visible"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert (
        open_kit("pigo").call("bash", {"command": "env | grep -E 'OPENAI|SECRET|PIGO'"}).text
        == "PIGO_TEST_SAFE=visible"
    )
