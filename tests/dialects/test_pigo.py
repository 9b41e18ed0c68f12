"""pigo: what its document says, beyond names."""

import os

import pytest

from toolroll import tool
from toolroll.schema import Checker


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
    assert kit.call("ls", {"path": ".", "all": True}).text == "[file] .h\n[dir] d\n[file] f.txt\n[link] l"


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


def test_links_do_not_lead_out(kit, ws, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/s.txt").write_text("SECRETWORD\n")
    (ws / "folder").symlink_to(tmp_path / "out")
    (ws / "file").symlink_to(tmp_path / "out/s.txt")
    calls = [
        ("read", {"path": "folder/s.txt"}),
        ("read", {"path": "file"}),
        ("write", {"path": "folder/new.txt", "content": "x"}),
        ("edit", {"path": "file", "old_string": "SECRETWORD", "new_string": "x"}),
        ("grep", {"pattern": "SECRET", "path": "folder"}),
        ("find", {"pattern": "*", "path": "folder"}),
        ("ls", {"path": "folder"}),
    ]
    results = [kit.call(name, arguments) for name, arguments in calls]
    assert [one.ok or "SECRETWORD" in one.text for one in results] == [False] * len(calls)
    assert os.listdir(tmp_path / "out") == ["s.txt"]


def test_values_that_mean_one_thing_only_are_converted_and_others_refused(kit, put):
    put({"a.txt": "one\ntwo\n"})
    result = kit.call("read", {"path": "a.txt", "offset": "2"})
    assert (result.text, result.meta["coerced"]) == ("2\ttwo", ["offset: str read as int"])
    wrong = [{}, {"path": 5.5}, {"path": "a.txt", "offset": "two"}, {"path": "a.txt", "limit": 0}]
    assert [kit.call("read", arguments).error.code for arguments in wrong] == ["ValidationError"] * len(wrong)


def test_a_schema_validates_arguments_by_itself(kit):
    schema = kit.registry.get("read").schema
    wrong = [{}, {"path": 5}, {"path": "a", "offset": 0}]
    assert [bool(Checker(schema).faults(arguments)) for arguments in wrong] == [True] * len(wrong)
    assert Checker(schema).faults({"path": "a", "offset": 1}) == kit.registry.validate("read", {"path": "a"}) == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "1\tone\n2\ttwo\n3\t" + "x" * 500 + "... [100 more]"),
        ({"offset": 2, "limit": 1}, "2\ttwo"),
    ],
)
def test_lines_are_numbered_from_one_and_cut_at_500(kit, put, arguments, text):
    put({"a.txt": "one\ntwo\n" + "x" * 600 + "\n"})
    assert kit.call("read", {"path": "a.txt", **arguments}).text.startswith(text)


@pytest.mark.parametrize(
    ("arguments", "code", "content"),
    [
        ({"old_string": "two", "new_string": "2"}, None, "one 2 one\n"),
        ({"old_string": "one", "new_string": "1"}, "Conflict", "one two one\n"),
        ({"old_string": "one", "new_string": "1", "all": True}, None, "1 two 1\n"),
        ({"old_string": "none", "new_string": "1"}, "NotFound", "one two one\n"),
        ({"old_string": "One", "new_string": "1"}, "NotFound", "one two one\n"),
    ],
)
def test_an_exact_text_is_replaced(kit, put, ws, arguments, code, content):
    put({"a.txt": "one two one\n"})
    error = kit.call("edit", {"path": "a.txt", **arguments}).error
    assert (error and error.code, (ws / "a.txt").read_text()) == (code, content)


def test_commands_run_in_bash(kit):
    assert kit.call("bash", {"command": "[[ $BASH == */bash && $BASH_VERSION ]] && echo {1..3}"}).text == "1 2 3"
    assert kit.registry.get("bash").schema["properties"]["timeout"]["default"] == 120


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "a.go\n2:needle\nb.txt\n1:needle"),
        ({"include": "*.go"}, "a.go\n2:needle"),
        ({"path": "a.go", "context_lines": 1}, "a.go\n1-one\n2:needle\n3-three"),
    ],
)
def test_grep_filters_and_gives_context(kit, put, arguments, text):
    put({"a.go": "one\nneedle\nthree\n", "b.txt": "needle\n"})
    assert sorted(kit.call("grep", {"pattern": "ne+dle", **arguments}).text.split("\n")) == sorted(text.split("\n"))


def test_find_gives_the_same_whether_fd_is_installed_or_not(kit, put, tmp_path, monkeypatch):
    put({"src/a.go": "", "src/x/b.go": "", "c.go/d": ""})
    before = [kit.call("find", {"pattern": "*.go", "type": kind}).text for kind in ("file", "directory", "both")]
    assert [sorted(text.split("\n")) for text in before] == [
        ["src/a.go", "src/x/b.go"],
        ["c.go/"],
        ["c.go/", "src/a.go", "src/x/b.go"],
    ]
    for name in ("fd", "fdfind"):
        (tmp_path / name).write_text("#!/bin/sh\necho wrong\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    after = [kit.call("find", {"pattern": "*.go", "type": kind}).text for kind in ("file", "directory", "both")]
    assert after == before


def test_a_thousand_entries_are_shown(kit, put):
    put({f"d/f{number:04}": "" for number in range(1001)})
    for name, arguments in (("find", {"pattern": "d/*"}), ("ls", {"path": "d"})):
        lines = kit.call(name, arguments).text.split("\n")
        entries = [line for line in lines if line.startswith(("d/f", "[file] f"))]
        assert (len(entries), len(lines) <= 1002) == (1000, True)


def test_errors_are_results_whatever_raises_them(kit):
    """Also those of a tool of one's own; another call of the same answer is carried out."""

    @tool
    def boom(why: str) -> str:
        """Fail."""
        raise ValueError(why)

    @tool
    def full() -> str:
        """Fail as a full disk does."""
        raise OSError(28, "No space left on device")

    kit.register(boom)
    kit.register(full)
    results = [kit.call("boom", {"why": "bad input"}), kit.call("full"), kit.call("nope"), kit.call("boom", "{")]
    assert [one.error.code for one in results] == ["ExecutionError", "IOError", "NotFound", "ValidationError"]
    assert "ValueError: bad input" in results[0].text
    calls = [("boom", '{"why": "x"}'), ("ls", '{"path": "."}')]
    made = [{"id": name, "function": {"name": name, "arguments": given}} for name, given in calls]
    fault, listed = (one["content"] for one in kit.execute(made))
    assert ("ValueError: x" in fault, listed) == (True, "(empty)")


def test_what_the_approver_of_a_call_raises_is_no_error_of_the_tool(open_kit):
    def stop(_request):
        raise LookupError("later")

    with pytest.raises(LookupError, match="later"):
        open_kit("pigo", policy="ask").call("bash", {"command": "touch x"}, approve=stop)
