"""The structure of files: their languages and encodings, what is remembered, what is passed over and why."""

import os
import time

import pytest

from toolroll import ErrorCode, Token, ToolError
from toolroll.host.code.structure import Structure
from toolroll.host.search.query import Query

pytestmark = pytest.mark.usefixtures("shared_parsers")


@pytest.fixture
def structure(ctx):
    made = Structure(ctx.files, ctx.search, ctx.limits, ctx.launcher)
    yield made
    made.close()


def names(tags):
    return [tag.name for tag in tags.definitions]


SOURCE = "# größer\ndef naïve(a='ü'): return f(a)\n"
COOKIE = f"# coding: latin-1\n{SOURCE}"
# Bytes, and the line and column of the call of f.
ENCODINGS = [
    (SOURCE.encode(), (2, 26)),
    (b"\xef\xbb\xbf" + SOURCE.encode(), (2, 26)),
    (SOURCE.encode("utf-16"), (2, 26)),
    (SOURCE.replace("\n", "\r\n").encode(), (2, 26)),
    (SOURCE.encode("latin-1"), (2, 26)),
    (COOKIE.encode("latin-1"), (3, 26)),
]


@pytest.mark.parametrize(("data", "spot"), ENCODINGS)
def test_encodings(structure, put, data, spot):
    put({"a.py": data})
    found = structure.tags_of("a.py")
    assert names(found) == ["naïve"]
    assert [(use.line, use.column) for use in found.uses_of() if use.name == "f"] == [spot]
    assert structure.source_of("a.py").line_text(spot[0]) == "def naïve(a='ü'): return f(a)"


# What is there, the path asked for, and the error.
ERRORS = [
    ({"a.xyz": "x"}, "a.xyz", ErrorCode.UNSUPPORTED, "The language of 'a.xyz' is not known. There are: "),
    ({"LICENSE": "x"}, "LICENSE", ErrorCode.UNSUPPORTED, "The language of 'LICENSE' is not known"),
    ({"a.py": b"\x7fELF\0\0"}, "a.py", ErrorCode.UNSUPPORTED, "'a.py' cannot be read as text. It is a binary file"),
    ({"a.py": b"#" * (2 << 20) + b"\n"}, "a.py", ErrorCode.TOO_LARGE, "'a.py' is too large: 2097153 bytes"),
    ({"engine.py": ""}, "engin.py", ErrorCode.NOT_FOUND, "there is no 'engin.py'. Did you mean 'engine.py'"),
    (
        {"a.yaml": b"- " * 20_000},
        "a.yaml",
        ErrorCode.EXECUTION,
        "'a.yaml' crashed the parser: its structure is unknown",
    ),
    ({"a.py": ""}, "../a.py", ErrorCode.SECURITY, "outside"),
]


@pytest.mark.parametrize(
    ("files", "path", "code", "message"), ERRORS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_files_that_have_no_structure(structure, put, files, path, code, message):
    put(files)
    with pytest.raises(ToolError, match=message) as caught:
        structure.tags_of(path)
    assert caught.value.code == code


def test_a_hard_source_is_tried_once(structure, put):
    put({"a.yaml": b"- " * 20_000, "b.yaml": b"- " * 20_000})
    for path in ("a.yaml", "a.yaml", "b.yaml"):
        with pytest.raises(ToolError, match=f"'{path}' crashed the parser"):
            structure.tags_of(path)
    look = structure.find_pattern("a: $A")
    assert (look.found, look.skipped) == ([], {"too hard to parse": 2})


def test_kept_outputs_have_no_structure(ctx, structure):
    assert structure.resolve_path(ctx.files, "a.py") == "a.py"
    with pytest.raises(ToolError, match="is a kept output") as caught:
        structure.resolve_path(ctx.files, "spill:a.py")
    assert caught.value.code == ErrorCode.UNSUPPORTED


def test_empty_and_broken_files(structure, put):
    put({"empty.py": "", "broken.py": "def whole(): pass\nclass Open(\n"})
    assert names(structure.tags_of("empty.py")) == []
    broken = structure.tags_of("broken.py")
    assert (names(broken)[:1], broken.broken) == (["whole"], 2)


def settle():
    time.sleep(0.15)  # until then a file's times cannot tell whether it changes


def test_what_does_not_change_is_parsed_once(structure, put, ws):
    put({"a.py": "def a(): pass\n", "b.py": "def a(): pass\n"})
    settle()
    first = structure.tags_of("a.py")
    assert structure.tags_of("a.py") is first
    assert structure.tags_of("b.py") is first, "the same content"
    (ws / "a.py").touch()
    assert structure.tags_of("a.py") is first, "the same content still"


def test_what_changes_is_seen_even_if_its_size_and_time_stay(structure, put, ws):
    put({"a.py": "def old(): pass\n"})
    settle()
    assert names(structure.tags_of("a.py")) == ["old"]
    times = (ws / "a.py").stat()
    put({"a.py": "def new(): pass\n"})
    os.utime(ws / "a.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert (ws / "a.py").stat().st_mtime_ns == times.st_mtime_ns
    assert names(structure.tags_of("a.py")) == ["new"]


def test_quick_changes_are_seen(structure, put):
    for number in range(20):
        put({"a.py": f"def f{number:02}(): pass\n"})
        assert names(structure.tags_of("a.py")) == [f"f{number:02}"]


def test_a_link_is_as_new_as_what_it_names(structure, put, ws):
    put({"real.py": "def old(): pass\n"})
    (ws / "link.py").symlink_to("real.py")
    settle()
    assert names(structure.tags_of("link.py")) == ["old"]
    put({"real.py": "def new(): pass\n"})
    assert names(structure.tags_of("link.py")) == ["new"]


def test_no_link_leads_out(structure, put, ws, tmp_path):
    (tmp_path / "outside.py").write_text("def secret(): pass\n")
    (ws / "link.py").symlink_to(tmp_path / "outside.py")
    (ws / "folder").symlink_to(tmp_path)
    put({"a.py": "def mine(): pass\n"})
    for path in ("link.py", "folder/outside.py"):
        with pytest.raises(ToolError) as caught:
            structure.tags_of(path)
        assert caught.value.code == ErrorCode.SECURITY
    assert [path for path, _ in structure.scan().found] == ["a.py"]


TREE = {
    ".gitignore": "built/\n",
    "built/a.py": "def built(): pass\n",
    ".hidden/a.py": "def hidden(): pass\n",
    "a.py": "def a(): pass\n",
    "b.go": "package b\nfunc A() {}\n",
    "big.py": b"#" * (2 << 20) + b"\n",
    "bin/run": "#!/bin/sh\nf() { :; }\n",
    "c.xyz": "fun a() {}\n",
    "hard.yaml": b"- " * 20_000,
    "LICENSE": "no script\n",
    "note.md": "# a\n",
}


def test_a_tree(structure, put):
    put(TREE)
    look = structure.scan()
    assert [(path, names(tags)) for path, tags in look.found] == [
        ("a.py", ["a"]),
        ("b.go", ["A"]),
        ("bin/run", ["f"]),
        ("note.md", ["a"]),
    ]
    assert look.skipped == {"too large": 1, "too hard to parse": 1}
    assert str(look) == "Looked at 4 files; not at: 1 too hard to parse, 1 too large."
    assert look.stopped is False


def test_a_part_of_a_tree(structure, put):
    put(TREE)
    only_code = structure.scan(wanted=lambda language: language.code)
    assert [path for path, _ in only_code.found] == ["a.py", "b.go", "bin/run"]
    assert only_code.others == {"Markdown": 1, "YAML": 1}
    holding = structure.scan(holds=Query("a", literal=True, whole_word=True))
    assert [path for path, _ in holding.found] == ["a.py", "note.md"]
    assert holding.others == {".xyz": 1}
    assert [path for path, _ in structure.scan("bin").found] == ["bin/run"]
    assert [path for path, _ in structure.scan("built/a.py").found] == ["built/a.py"]


def test_when_nothing_is_found_it_says_what_was_searched(structure, put):
    put({"a.py": "x = 1\n", "b.py": "y = 1\n", ".gitignore": "c.py\n", "c.py": "zebra()\n"})
    look = structure.scan(holds=Query("zebra"))
    assert look.found == []
    assert (
        str(look) == "Searched 2 files; not searched: 1 hidden, 1 ignored. There are more matches: 1 in ignored files."
    )


def test_code_that_fits_a_pattern(structure, put):
    put({"a.py": "open(1, 2)\n", "b.js": "open(1)\n", "c.py": "# open(1)\n", "d.toml": "open = 1\n"})
    look = structure.find_pattern("open($$$)", holds=Query("open", literal=True))
    assert [(path, [match.text for match in matches]) for path, matches in look.found if matches] == [
        ("a.py", ["open(1, 2)"]),
        ("b.js", ["open(1)"]),
    ]
    assert look.others == {"TOML": 1}


def test_many_files_and_a_cancelled_call(structure, put):
    put({f"m{number:03}.py": f"def f{number:03}(): pass\n" for number in range(60)})
    look = structure.scan()
    assert [names(tags) for _, tags in look.found] == [[f"f{number:03}"] for number in range(60)]
    token = Token()
    token.cancel()
    with pytest.raises(ToolError) as caught:
        structure.scan(token=token)
    assert caught.value.code == ErrorCode.CANCELLED


def test_without_time_it_says_so(open_kit, put):
    put({f"m{number:03}.py": "x = 1\n" for number in range(20)})
    ctx = open_kit(limits={"answer_seconds": 0.000_001}).context()
    structure = Structure(ctx.files, ctx.search, ctx.limits, ctx.launcher)
    look = structure.scan()
    structure.close()
    assert look.stopped
    assert str(look).endswith("There was no time for all of them: give a narrower `path`.")


def test_names_that_are_near(structure, put):
    put({"a.py": "class Engine: pass\n"})
    assert structure.similar_names("Engin", ".") == ["Engine"]
    assert structure.similar_names("Egine", ".") == []
    structure.scan()
    assert structure.similar_names("Egine", ".") == ["Engine"], "known by then"


def test_a_tree_is_listed_as_it_is_now(structure, put, ws):
    def seen():
        return [path for path, _ in structure.scan().found]

    put({"a.py": "x = 1\n", "sub/b.py": "y = 1\n", "c.png": b"\x89PNG"})
    assert seen() == ["a.py", "sub/b.py"]
    put({"sub/new.py": "z = 1\n"})
    assert seen() == ["a.py", "sub/b.py", "sub/new.py"]
    (ws / "a.py").rename(ws / "sub" / "a.py")
    assert seen() == ["sub/a.py", "sub/b.py", "sub/new.py"]
    put({".ignore": "new.py\n"})
    assert seen() == ["sub/a.py", "sub/b.py"]
    assert structure.scan().others == {}


def test_definitions_alone_are_not_taken_for_all(structure, put):
    put({"a.py": "def a(): return b()\n"})
    settle()
    ((_, few),) = structure.scan(whole=False).found
    ((_, whole),) = structure.scan().found
    assert (few.definitions, list(few.uses_of())) == (whole.definitions, [])
    assert [use.name for use in whole.uses_of()] == ["b"]
    assert structure.scan(whole=False).found == [("a.py", whole)], "who knows more knows less too"


def test_a_tree_that_is_watched_is_told_as_it_is_now(structure, ctx, put, ws):
    def seen():
        return [(path, names(tags)) for path, tags in structure.scan(whole=False).found]

    put({"a.py": "def a(): pass\n", "sub/b.py": "def b(): pass\n", "c.png": b"\x89PNG"})
    settle()
    first = seen()
    assert ctx.search.files.wait_until_ready(50)
    assert seen() == first == [("a.py", ["a"]), ("sub/b.py", ["b"])]
    for number in range(5):  # quicker than the times of a file can tell
        put({"a.py": f"def a{number}(): pass\n"})
        assert seen()[0] == ("a.py", [f"a{number}"])
    settle()
    assert seen() == seen() == [("a.py", ["a4"]), ("sub/b.py", ["b"])]
    (ws / "sub").rename(ws / "other")
    assert seen() == [("a.py", ["a4"]), ("other/b.py", ["b"])]
    assert [path for path, _ in structure.scan("other").found] == ["other/b.py"]
