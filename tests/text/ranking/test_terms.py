import pytest

from toolroll.text.ranking import terms as words

TERMS = [
    ("word", ("word",)),
    ("snake_case_name", ("snake", "case", "name", "snakecasename")),
    ("camelCaseName", ("camel", "case", "name", "camelcasename")),
    ("HTTPServer", ("http", "server", "httpserver")),
    ("parseURL", ("parse", "url", "parseurl")),
    ("__init__", ("init",)),
    ("utf8", ("utf", "utf8")),
    ("MAX_SIZE", ("max", "size", "maxsize")),
    ("x", ()),
    ("größe", ("größe",)),
    ("Größe_max", ("größe", "max", "größemax")),
    ("文件系统", ("文件", "件系", "系统", "文件系统")),
    ("y" * 81, ()),
]


@pytest.mark.parametrize(("word", "terms"), TERMS, ids=[row[0][:20] for row in TERMS])
def test_a_word_is_split_where_names_are_written_together(word, terms):
    assert words.split_terms(word) == terms


def test_a_text_is_counted_by_its_terms():
    assert words.count_terms("def read_file(path): return open(path)  # 12 3.5") == {
        "def": 1,
        "read": 1,
        "file": 1,
        "readfile": 1,
        "path": 2,
        "return": 1,
        "open": 1,
    }


def test_a_question_leaves_out_what_tells_nothing_and_adds_other_forms():
    assert words.weigh_question("Fixed the parsing of branches") == {
        "parsing": 1.0,
        "parsings": 0.3,
        "pars": 0.3,
        "branches": 1.0,
        "branch": 0.3,
        "branchs": 0.3,
    }


def test_words_that_tell_nothing_are_asked_for_if_there_are_no_others():
    assert words.weigh_question("fix the error").keys() >= {"fix", "the", "error"}


def test_the_first_line_of_a_question_counts_more():
    asked = words.weigh_question("lexer\n\nThe parser, the parser, and the lexer.")
    assert asked["lexer"] > asked["parser"] == pytest.approx(2**0.5)


def test_names_of_the_program_count_as_much_as_the_first_line():
    asked = words.weigh_question("lexer\n\nThe parser calls next_token.")
    assert asked["nexttoken"] == asked["lexer"] > asked["parser"] == asked["token"] == 1.0


@pytest.mark.parametrize("text", ["", "  \n", "...", "12 + 3"])
def test_a_question_without_words_asks_nothing(text):
    assert words.weigh_question(text) == {}


def test_a_pasted_file_is_asked_for_in_part():
    assert len(words.weigh_question(" ".join(f"word{'abcdefghij'[n % 10]}x{n}y" for n in range(9000)))) < 3000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/a/b.py and b.py.", ["src/a/b.py", "b.py"]),
        ("in toolroll.host.code.repo_map, surely", ["toolroll.host.code.repo_map"]),
        ("no file at all", []),
        ("./run.sh (or `a/b.c`), a.py:12: error", ["run.sh", "a/b.c", "a.py"]),
        ("a" * 300_000 + ".", []),
        ("." * 300_000, []),
    ],
)
def test_what_looks_like_a_path_is_a_mention(text, found):
    assert words.find_mentions(text) == found


def test_the_parts_of_a_name_are_those_of_its_words():
    assert words.split_name("sort_keys-oldFirst2") == {"sort", "keys", "old", "first", "2"}
    assert words.split_name("") == set()
