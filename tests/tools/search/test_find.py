"""Find files by name."""

import os

import pytest


@pytest.fixture(autouse=True)
def files(put, ws):
    put({
        "a.go": "1", "pkg/b.go": "22", "pkg/deep/c.go": "3", "pkg/deep/d.txt": "4", ".hid/e.go": "5", ".github/w.yml": "6",
        "node_modules/y.go": "7", ".gitignore": "node_modules/\n",
    })  # fmt: skip
    for age, name in enumerate(("pkg/b.go", "pkg/deep/c.go", "a.go", "pkg/deep/d.txt")):
        os.utime(ws / name, (1_000_000 - age, 1_000_000 - age))
    (ws / "empty").mkdir()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"pattern": "**/*.go"}, "pkg/b.go\npkg/deep/c.go\na.go"),
        ({"pattern": "*.go"}, "pkg/b.go\npkg/deep/c.go\na.go"),
        ({"pattern": "pkg/**/*.go"}, "pkg/b.go\npkg/deep/c.go"),
        ({"pattern": "*.{go,txt}", "path": "pkg/deep"}, "pkg/deep/c.go\npkg/deep/d.txt"),
        ({"pattern": "**/*.go", "sort": "path"}, "a.go\npkg/b.go\npkg/deep/c.go"),
        ({"pattern": "**/*.go", "sort": "size"}, "pkg/b.go\na.go\npkg/deep/c.go"),
        ({"pattern": "deep", "type": "directory"}, "pkg/deep/"),
        ({"pattern": "empty", "type": "both"}, "empty/"),
        ({"pattern": ".github/**"}, ".github/w.yml"),
        ({"pattern": "e.go", "hidden": True}, ".hid/e.go"),
        ({"pattern": "y.go", "ignored": True}, "node_modules/y.go"),
        ({"pattern": "*.go", "path": "node_modules"}, "node_modules/y.go"),
    ],
)
def test_found(kit, arguments, text):
    assert kit.call("find", arguments).text == text


def test_an_absolute_pattern_inside_the_workspace(kit, ws):
    assert kit.call("find", {"pattern": f"{ws}/pkg/*.go"}).text == "pkg/b.go"


def test_an_empty_answer_tells_what_was_passed_over(kit):
    result = kit.call("find", {"pattern": "y.go"})
    assert "No files found." in result.text
    assert "1 in ignored files" in result.text
    again = kit.call(result.meta["next"]["name"], result.meta["next"]["arguments"])
    assert again.text == "node_modules/y.go"


def test_a_limit_is_told_and_the_rest_kept(kit, put):
    put({f"m/f{n}.txt": "" for n in range(150)})
    result = kit.call("find", {"pattern": "m/*.txt"})
    assert (len(result.data["entries"]), result.data["total"]) == (100, 150)
    assert "100 of 150 shown (limit reached)." in result.text
    assert len(kit.call("read", {"path": result.meta["spill"]}).data["content"].split("\n")) == 150


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"pattern": "../*"}, "SecurityError"),
        ({"pattern": "/etc/*"}, "SecurityError"),
        ({"pattern": "pkg/../../*"}, "SecurityError"),
        ({"pattern": "*", "path": "none"}, "NotFound"),
        ({"pattern": "*", "path": "a.go"}, "ValidationError"),
        ({"pattern": "[a"}, "ValidationError"),
        ({"pattern": "*", "type": "planet"}, "ValidationError"),
    ],
)
def test_bad_questions(kit, arguments, code):
    assert kit.call("find", arguments).error.code == code


def test_a_name_with_brackets_is_found_as_it_is_written(kit, put):
    put({"app/[id]/page.tsx": "", "app/[user-id]/page.tsx": "", "app/i/page.tsx": ""})
    found = kit.call("find", {"pattern": "app/[id]/page.tsx", "sort": "path"})
    assert found.text == "app/[id]/page.tsx\napp/i/page.tsx"
    assert kit.call("find", {"pattern": "app/[user-id]/*"}).text == "app/[user-id]/page.tsx"


@pytest.mark.parametrize("known", [False, True], ids=["walk", "index"])
def test_a_link_to_a_file_is_found_and_one_that_leads_nowhere_is_named(kit, ws, known):
    (ws / "link.go").symlink_to("pkg/b.go")
    (ws / "pkg/up.go").symlink_to("../a.go")
    (ws / "out.go").symlink_to("/etc/passwd")
    (ws / "dead.go").symlink_to("none")
    (ws / "folder.go").symlink_to("pkg")
    if known:
        assert kit._services.search.files.wait_until_ready(10)
    found = kit.call("find", {"pattern": "*.go", "sort": "path", "exclude": ["c.go"]})
    shown, note = found.text.splitlines()[:-1], found.text.splitlines()[-1]
    assert shown == ["a.go", "link.go", "pkg/b.go", "pkg/up.go"]
    assert (found.data["total"], found.data["entries"][1]["kind"]) == (4, "link")
    assert "2 links left out" in note
    assert {"dead.go", "out.go"} <= set(note.strip("().").replace(",", "").split())
    below = kit.call("find", {"pattern": "up*", "path": "pkg"})
    assert below.text == "pkg/up.go"
    first = kit.call("find", {"pattern": "*.go", "limit": 1, "sort": "modified"})
    assert (first.data["entries"][0]["kind"], first.data["total"]) == ("link", 5)
    assert sorted(kit.call("read", {"path": first.meta["spill"]}).data["content"].split("\n")) == [
        *("a.go", "link.go", "pkg/b.go", "pkg/deep/c.go", "pkg/up.go")
    ]


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("deep", "pkg/deep/"),
        ("A.go", "a.go"),
        ("deep/*.go", "pkg/deep/c.go"),
        ("eep", "pkg/deep/"),
        ("B.GO", "pkg/b.go"),
    ],
)
def test_an_empty_answer_names_what_is_alike(kit, pattern, near):
    assert f"Names like it: {near}." in kit.call("find", {"pattern": pattern}).text


def test_no_name_is_alike(kit):
    assert "like it" not in kit.call("find", {"pattern": "nothing-of-that-kind"}).text
