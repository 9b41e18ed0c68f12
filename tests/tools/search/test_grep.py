"""Search file contents, and never lie about what was searched."""

import os
from contextlib import closing
from dataclasses import replace

import pytest

from toolroll.host.search.search import Search
from toolroll.tools.search.grep import grep

pytestmark = pytest.mark.usefixtures("each_regex_engine")


@pytest.fixture(autouse=True)
def files(put, ws):
    put({
        "src/main.py": "import os\n\ndef main():\n    return os.name\n",
        "src/util.py": "def helper():\n    return 1\n",
        "README.md": "The def of main.\n",
        ".env": "main=1\n",
        ".gitignore": "build/\n",
        "build/out.py": "def main(): pass\n",
        "data.bin": b"main\0\1\2",
    })  # fmt: skip
    for age, name in enumerate(("README.md", "src/main.py", "src/util.py")):
        os.utime(ws / name, (1_000_000 - age, 1_000_000 - age))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"pattern": "def"},
            "README.md\n1:The def of main.\nsrc/main.py\n3:def main():\nsrc/util.py\n1:def helper():",
        ),
        ({"pattern": "def", "path": "src"}, "src/main.py\n3:def main():\nsrc/util.py\n1:def helper():"),
        ({"pattern": "def", "path": "src/util.py"}, "src/util.py\n1:def helper():"),
        ({"pattern": "def", "include": "*.py"}, "src/main.py\n3:def main():\nsrc/util.py\n1:def helper():"),
        ({"pattern": "def", "include": "*.{md,txt}"}, "README.md\n1:The def of main."),
        ({"pattern": "def", "exclude": "*.py"}, "README.md\n1:The def of main."),
        ({"pattern": "def", "include": "!*.py"}, "README.md\n1:The def of main."),
        ({"pattern": "os.", "literal": True}, "src/main.py\n4:    return os.name"),
        ({"pattern": "THE", "ignore_case": True}, "README.md\n1:The def of main."),
        ({"pattern": "return 1", "context": 1}, "src/util.py\n1-def helper():\n2:    return 1"),
        ({"pattern": "main", "path": "src", "before": 1}, "src/main.py\n2-\n3:def main():"),
        ({"pattern": "import", "context": 9, "after": 1}, "src/main.py\n1:import os\n2-"),
        ({"pattern": "o[sn]", "path": "src", "-o": True}, "src/main.py\n1:os\n4:os"),
        ({"pattern": "x*", "path": "src/util.py", "-o": True}, "No matches."),
        ({"pattern": "def", "type": "py", "include": "src/u*"}, "src/util.py\n1:def helper():"),
        ({"pattern": r"os\n\ndef", "multiline": True}, "src/main.py\n1:import os\n2:\n3:def main():"),
        ({"pattern": "def", "output": "files"}, "README.md\nsrc/main.py\nsrc/util.py"),
        ({"pattern": "def|return", "output": "count", "path": "src"}, "src/main.py: 2\nsrc/util.py: 2"),
        ({"pattern": "main=", "hidden": True}, ".env\n1:main=1"),
        ({"pattern": "main.*pass", "ignored": True}, "build/out.py\n1:def main(): pass"),
        ({"pattern": "main", "path": "build"}, "build/out.py\n1:def main(): pass"),
    ],
)
def test_matches(kit, arguments, text):
    assert kit.call("grep", arguments).text == text


def test_an_empty_answer_tells_what_was_not_searched_and_the_call_that_would(kit):
    result = kit.call("grep", {"pattern": "main(=|.*pass)"})
    assert result.ok
    assert "No matches." in result.text
    assert "Searched 4 files" in result.text
    assert "1 in ignored files" in result.text
    assert "1 in hidden files" in result.text
    again = kit.call(result.meta["next"]["name"], result.meta["next"]["arguments"])
    assert {row["path"] for row in again.data["rows"]} == {"build/out.py", ".env"}


def test_the_call_that_would_asks_the_same(kit, put):
    put({".h/x.txt": "call f( here\n"})
    asked = {"pattern": "F( h", "path": ".", "include": "*.txt", "literal": True, "ignore_case": True}
    result = kit.call("grep", asked)
    assert result.meta["next"] == {"name": "grep", "arguments": {**asked, "hidden": True}}
    assert kit.call("grep", result.meta["next"]["arguments"]).text == ".h/x.txt\n1:call f( here"


def test_a_match_in_a_binary_file_is_told(kit):
    result = kit.call("grep", {"pattern": "main", "path": ".", "include": "*.bin"})
    assert "in binary files" in result.text


def test_a_cut_answer_tells_the_total_and_keeps_the_rest(kit, put):
    put({"many.txt": "".join(f"needle {n}\n" for n in range(500))})
    result = kit.call("grep", {"pattern": "needle", "limit": 10})
    assert result.data["total"] == 500
    assert len(result.data["rows"]) == 10
    assert "10 of 500 matches in 1 file shown" in result.text
    handle = result.meta["spill"]
    assert kit.call("grep", {"pattern": "needle 499$", "path": handle}).text == f"{handle}\n501:500:needle 499"
    assert kit.call("read", {"path": handle, "offset": 501}).text == "501\t500:needle 499"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"pattern": "(unclosed"}, "ValidationError", "`literal`"),
        ({"pattern": r"(a)\1"}, "ValidationError", "back"),
        ({"pattern": "(?=x)"}, "ValidationError", "look"),
        ({"pattern": "x", "path": "none"}, "NotFound", "none"),
        ({"pattern": "x", "path": "../"}, "SecurityError", "outside"),
        ({"pattern": ""}, "ValidationError", "`pattern`"),
        ({"pattern": "x", "include": "[a"}, "ValidationError", "["),
        ({"pattern": "x", "include": "../*"}, "SecurityError", "outside"),
        ({"pattern": "x", "exclude": "!*.py"}, "ValidationError", "`include`"),
    ],
)
def test_bad_questions(kit, arguments, code, words):
    result = kit.call("grep", arguments)
    assert (result.error.code, words in result.text) == (code, True), result.text


@pytest.mark.parametrize(
    ("output", "text"), [("files", "README.md\nsrc/main.py"), ("count", "README.md: 1\nsrc/main.py: 1")]
)
def test_the_limit_holds_for_files_too(kit, output, text):
    result = kit.call("grep", {"pattern": "def", "output": output, "limit": 2})
    assert result.text.startswith(f"{text}\n(2 of 3 files shown (limit reached).)")
    assert (result.data["shown"], result.data["total"], result.data["files"]) == (2, 3, 3)
    assert "src/util.py" in kit.call("read", {"path": result.meta["spill"]}).text


def test_a_pattern_that_is_no_expression_offers_the_same_search_for_plain_text(kit):
    refused = kit.call("grep", {"pattern": "def main(", "include": "*.py", "path": "src"})
    (call,) = refused.error.suggest
    assert call.arguments == {"pattern": "def main(", "include": "*.py", "path": "src", "literal": True}
    assert "3:def main():" in kit.call(call.name, call.arguments).text


@pytest.mark.parametrize("pattern", ["def main():", "print(os.name(), main[0])", "main[0]"])
def test_an_empty_answer_says_what_the_pattern_finds_as_plain_text(kit, put, pattern):
    put({"src/more.txt": "print(os.name(), main[0])\n", "bin": b"\0def main():"})
    found = kit.call("grep", {"pattern": pattern})
    path = "src/main.py" if pattern == "def main():" else "src/more.txt"
    assert f"As plain text it is in 1 line of {path}: set `literal`." in found.text
    assert found.meta["next"] == {"name": "grep", "arguments": {"pattern": pattern, "literal": True, "path": "."}}


@pytest.mark.parametrize("pattern", ["zzz()", "os.*zzz", r"zzz\(\)", "zzz"])
def test_an_empty_answer_says_nothing_of_plain_text_that_is_not_there(kit, pattern):
    assert "plain text" not in kit.call("grep", {"pattern": pattern}).text


def test_matches_in_other_case_are_told(kit):
    result = kit.call("grep", {"pattern": "DEF HELPER"})
    assert "There are matches in other case: set `ignore_case`." in result.text
    assert kit.call(**result.meta["next"]).text == "src/util.py\n1:def helper():"
    assert "other case" not in kit.call("grep", {"pattern": "not there at all"}).text
    assert "other case" not in kit.call("grep", {"pattern": "NOT THERE", "ignore_case": True}).text


def test_from_another_working_directory(kit):
    assert kit.call("grep", {"pattern": "helper"}, cwd="src").text == "src/util.py\n1:def helper():"
    assert kit.call("grep", {"pattern": "helper", "path": "util.py"}, cwd="src").text == "src/util.py\n1:def helper():"


def test_of_a_large_tree_that_is_known_no_more_is_searched_than_is_shown(ctx, put, ws):
    put({f"many/f{n}.txt": "needle\n" * 5 for n in range(1500)})
    for n in range(1500):
        os.utime(ws / f"many/f{n}.txt", (n, n))
    put({"newest": b"needle\n\0"})
    with closing(Search(ctx.files.root, limits=ctx.limits, launcher=ctx.launcher, watch=True)) as search:
        search.find("*")
        assert search.files.wait_until_ready(60)
        found = grep.function(replace(ctx, search=search), pattern="ne", limit=10)
    assert (found.shown, found.status) == (10, "success")
    assert [row.path for row in found.rows] == ["many/f1499.txt"] * 5 + ["many/f1498.txt"] * 5
    assert found.note == "(10 of more than 135 matches in more than 27 files shown (limit reached).)"


def test_the_newest_of_very_many_matches_may_be_in_old_files(ctx, put, ws):
    put({f"new/f{n:03}.txt": "nothing\n" for n in range(260)})
    put({f"old/f{n:02}.txt": f"needle {n}\n" * 100 for n in range(40)})
    for n in range(40):
        os.utime(ws / f"old/f{n:02}.txt", (n, n))
    with closing(Search(ctx.files.root, limits=ctx.limits, launcher=ctx.launcher, watch=True)) as search:
        search.close()
        found = grep.function(replace(ctx, search=search), pattern="needle", limit=10)
    assert [row.path for row in found.rows] == ["old/f39.txt"] * 10
    assert found.note == "(10 of more than 308 matches in more than 28 files shown (limit reached).)"


def test_of_few_files_none_is_searched_that_is_too_big(ctx, put):
    put({"big.txt": "needle\n" * 100, "small.txt": "thread\n"})
    limits = replace(ctx.limits, search_bytes=200)
    with closing(Search(ctx.files.root, limits=limits, launcher=ctx.launcher)) as search:
        found = [grep.function(replace(ctx, search=search), pattern=word) for word in ("thread", "needle")]
    assert [str(one) for one in found] == ["small.txt\n1:thread", "No matches."]
    assert "1 too big" in found[1].note


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"offset": 1, "limit": 1}, "src/main.py\n3:def main():\n(1 of 3 matches in 3 files shown (limit reached).)"),
        ({"offset": 2, "output": "files"}, "src/util.py\n(1 of 3 files shown.)"),
        ({"offset": 9}, "No matches.\n(0 of 3 matches in 3 files shown (limit reached).)"),
    ],
)
def test_what_comes_behind_an_offset(kit, arguments, shown):
    assert kit.call("grep", {"pattern": "def", **arguments}).text.partition("\n[")[0] == shown


@pytest.mark.parametrize("known", [True, False])
def test_an_empty_answer_tells_of_documents(kit, put, known):
    put({"docs/a.txt": "one\n", "docs/b.pdf": b"%PDF-1.4\0x", "docs/c.bin": b"\0x"})
    if known:
        kit.call("find", {"pattern": "*"})
    said = (
        "(Searched 2 files; not searched: 1 document. Documents are searched where a glob names them, such as *.pdf.)"
    )
    assert kit.call("grep", {"pattern": "three", "path": "docs"}).text == f"No matches.\n{said}"
