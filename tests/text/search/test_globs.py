from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.result import ErrorCode, ToolError
from toolroll.text.search import globs

MATCHES = {
    "*.py": ("a.py, src/a.py, .py, src/.a.py, a\nb.py", "a.pyc, a.py/b, py"),
    "a": ("a, x/y/a", "ab, a/b, A"),
    "a?c": ("abc, x/a-c, aéc", "ac, abbc, a/c"),
    "src/*.ts": ("src/a.ts", "a.ts, src/x/a.ts, x/src/a.ts"),
    "src/**/*.ts": ("src/a.ts, src/x/y/a.ts", "a.ts, src.ts, x/src/a.ts"),
    "**/*.go": ("a.go, x/y/a.go", "a.god"),
    "**/test/*": ("test/a, x/test/a, x/y/test/a", "test, x/test, test/a/b"),
    "a/**/b/**/c": ("a/b/c, a/x/b/y/z/c, a/b/b/c/c", "a/c, a/x/c, b/c"),
    "a/**": ("a/b, a/b/c", "a, b/a/c"),
    "a/": ("a/b, a/b/c, x/a/b", "a, ab/c"),
    "/a/": ("a/b", "a, x/a/b"),
    "src/a/": ("src/a/b, src/a/b/c", "x/src/a/b"),
    "/a": ("a", "x/a"),
    "./a*": ("a, ab", "x/a, ba"),
    "**": ("a, a/b, .a", ""),
    ".": ("a, a/b", ""),
    "**/**": ("a, a/b", ""),
    "a**b": ("ab, axb", "a/b, ax/xb"),
    "*a*b*c": ("abc, xaxbxc, aabbcc", "acb, ab/c"),
    "[abc].x": ("a.x, c.x", "d.x, ab.x"),
    "[a-c]": ("a, b, c", "d, -"),
    "[!a-c]": ("d, -, é", "a, b"),
    "[^a]": ("b", "a"),
    "[]a]": ("], a", "b"),
    "[!]]": ("a", "]"),
    "[a-]": ("a, -", "b"),
    r"[\]\\]": (r"], \ ".strip(), "a"),
    "[*?]": ("*, ?", "a"),
    "/x[!a]y": ("xby", "xay, x/y"),
    "/x[.-0]y": ("x.y, x0y", "x/y"),
    "{a,b}": ("a, b, x/b", "c, ab, {a,b}"),
    "*.{ts,tsx}": ("a.ts, a.tsx", "a.js, a.t"),
    "{a,b{c,d}e}/x": ("a/x, bce/x, bde/x", "b/x, x"),
    "{src,test}/**": ("src/a, test/b/c", "src, x/src/a"),
    "{,x}y": ("y, xy", "x"),
    "{a}": ("a", "{a}"),
    r"\*.py": ("*.py", "a.py"),
    r"\{a,b\}": ("{a,b}", "a, b"),
    "a}b": ("a}b", ""),
    "a.b+c(d)$": ("a.b+c(d)$", "aab+c(d)$"),
    "-n": ("-n", "n"),
    "[[]x": ("[x", "x"),
    "x[{,}]y": ("x{y, x,y", "xy"),
    "app/[id]/page.tsx": ("app/[id]/page.tsx, app/i/page.tsx", "app/id/page.tsx, app/[id]x/page.tsx"),
    "[user-id]": ("[user-id], x/[user-id]", "u, user-id"),
    "[[...slug]]/*.ts": ("[[...slug]]/a.ts", "slug/a.ts"),
    r"\[id\]": ("[id]", "i"),
    "{[a],b}.x": ("a.x, [a].x, b.x", "[a], [b].x"),
}


def _paths(text: str) -> list[str]:
    return text.split(", ") if text else []


@pytest.mark.parametrize(("pattern", "paths"), [(pattern, found[0]) for pattern, found in MATCHES.items()])
def test_matches(pattern: str, paths: str) -> None:
    assert [path for path in _paths(paths) if not globs.compile(pattern).matches(path)] == []


@pytest.mark.parametrize(("pattern", "paths"), [(pattern, found[1]) for pattern, found in MATCHES.items()])
def test_does_not_match(pattern: str, paths: str) -> None:
    assert [path for path in _paths(paths) if globs.compile(pattern).matches(path)] == []


def test_case_can_be_left_out_of_account() -> None:
    assert globs.compile("*.PY", case=False).matches("x/a.py")
    assert globs.compile("[a-c]É/x", case=False).matches("Bé/X")


@pytest.mark.parametrize("pattern", MATCHES)
def test_a_pattern_about_names_can_be_asked_of_names_alone(pattern: str) -> None:
    matcher = globs.compile(pattern)
    by_name = matcher.by_name()
    assert (by_name is None) == bool(matcher.paths or not matcher.names)
    if by_name is not None:
        names = [path.rpartition("/")[2] for paths in MATCHES[pattern] for path in paths.split(", ")]
        assert [bool(by_name(name)) for name in names] == [matcher.matches(name) for name in names]


@pytest.mark.parametrize(
    ("name", "plain", "either"), [("a.py", True, True), ("A.PY", False, True), ("a.pyc", False, False)]
)
def test_a_name_may_be_asked_in_either_case(name: str, plain: bool, either: bool) -> None:
    asked = [globs.compile("*.py", case=case).by_name() for case in (True, False)]
    assert [bool(by_name and by_name(name)) for by_name in asked] == [plain, either]


@pytest.mark.parametrize(
    ("pattern", "dot"),
    [
        *((".env", True), ("**/.env*", True), (".github/**", True), ("{a,.b}", True), (r"\.x", True)),
        *(("*.env", False), ("a.b/c", False), ("./a", False), ("*", False), ("src/*.d", False)),
    ],
)
def test_a_pattern_that_names_a_dot_wants_hidden_things(pattern: str, dot: bool) -> None:
    assert globs.compile(pattern).names_dot is dot


@pytest.mark.parametrize(
    ("pattern", "leaves"),
    [
        *(
            ("../a", True),
            ("a/../../b", True),
            ("**/../x", True),
            ("/etc/*", True),
            ("{a,../b}", True),
            ("..", True),
        ),
        *(("a..b", False), ("./a", False), ("**", False), ("...", False)),
    ],
)
def test_escapes(pattern: str, leaves: bool) -> None:
    assert globs.escapes(pattern) is leaves


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "is empty"),
        ("a[b", r"'a\[b' has a '\[' without its '\]'"),
        ("[]", "without its"),
        ("[!]", "without its"),
        ("{a,b", "has a '{' without its '}'"),
        ("{a,{b}", "has a '{' without its '}'"),
        ("a\\", "ends in a backslash"),
        ("{0,1}" * 11, "more than 1000 patterns"),
        ("{" * 30 + "}" * 30, "nests braces"),
        ("a" * 5000, "longer than 4096"),
        ("{a,b,c,d,e,f,g,h}{a,b,c,d,e,f,g,h}" + "x" * 4000, "too long"),
    ],
)
def test_a_bad_pattern_says_what_is_wrong(pattern: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason) as caught:
        globs.compile(pattern)
    assert caught.value.code is ErrorCode.VALIDATION


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 500 + "b", "a" * 4000),
        ("**/a/" * 500 + "b", "a/" * 2000 + "c"),
        ("**/*a*/" * 300 + "b", "aa/" * 1300 + "c"),
        ("{" + ",".join("*a*a*a*" + str(n) for n in range(400)) + "}", "a" * 250),
        ("[!b]*" * 500 + "b", "a" * 4000),
        ("?" * 4000 + "b", "a" * 4000),
        ("[" * 4096, "x"),
        ("[" * 2000 + "]" * 2000, "x"),
    ],
)
def test_no_pattern_is_slow(pattern: str, path: str) -> None:
    with suppress(ToolError):  # to refuse it is an answer too
        assert not globs.compile(pattern).matches(path)


def _simple(pattern: list[str], path: list[str]) -> bool:
    """What the patterns mean, said as plainly as possible."""
    if not pattern:
        return not path
    if pattern == ["**"]:
        return bool(path)
    if pattern[0] == "**":
        return _simple(pattern[1:], path) or (bool(path) and _simple(pattern, path[1:]))
    return bool(path) and _segment(pattern[0], path[0]) and _simple(pattern[1:], path[1:])


def _segment(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return _segment(pattern[1:], name) or (bool(name) and _segment(pattern, name[1:]))
    return bool(name) and pattern[0] in ("?", name[0]) and _segment(pattern[1:], name[1:])


_SEGMENTS = st.just("**") | st.text("ab*?", min_size=1, max_size=6).filter(lambda text: "**" not in text)
_NAMES = st.text("ab", min_size=1, max_size=6)


@given(st.lists(_SEGMENTS, min_size=2, max_size=5), st.lists(_NAMES, min_size=1, max_size=6))
def test_the_regex_means_the_same_as_the_plain_definition(pattern: list[str], path: list[str]) -> None:
    assert globs.compile("/".join(pattern)).matches("/".join(path)) == _simple(pattern, path)


@pytest.mark.parametrize(
    ("include", "exclude", "wanted"),
    [
        ((), (), ["a.py", "src/a.py", "src/b.txt", "build/x/c.py"]),
        (("*.py",), (), ["a.py", "src/a.py", "build/x/c.py"]),
        (("*.py", "src/*"), (), ["a.py", "src/a.py", "src/b.txt", "build/x/c.py"]),
        ((), ("build",), ["a.py", "src/a.py", "src/b.txt"]),
        (("*.py",), ("src/", "/build/*"), ["a.py"]),
    ],
)
def test_filter(include: tuple[str, ...], exclude: tuple[str, ...], wanted: list[str]) -> None:
    chosen = globs.GlobFilter(tuple(map(globs.compile, include)), tuple(map(globs.compile, exclude)))
    paths = ["a.py", "src/a.py", "src/b.txt", "build/x/c.py"]
    assert [path for path in paths if chosen.wants(path)] == wanted


INSIDE = ["*.py", "a.py", "lib/*.py", "/lib/a.py", "lib/", "*/src/**", "**/src/*.py", "**/lib/*.py", "**", "{lib,src}/*.py",
    "src/*.py", "l?b/{a,b}.py", "lib/**/x/*.py", "lib"]  # fmt: skip


@pytest.mark.parametrize("pattern", INSIDE)
def test_a_pattern_says_the_same_from_a_folder_inside(pattern: str) -> None:
    paths = ["a.py", "b.py", "lib/a.py", "src/a.py", "src/x/c.py", "x/d.py", "y/src/e.py", "lib"]
    whole = globs.compile(pattern)
    inner = [globs.compile(one) for one in globs.inside(pattern, "lib")]
    found = [path for path in paths if any(one.matches(path) for one in inner)]
    assert found == [path for path in paths if whole.matches(f"lib/{path}")]


@pytest.mark.parametrize(
    ("pattern", "wide"),
    [("server", "**/*server*"), ("/server", "**/*server*"), ("*.py", "**/*.py"), ("a/b", "**/a/b"), ("/", "**/**")],
)
def test_a_wider_pattern_matches_at_any_depth_and_around_a_word(pattern: str, wide: str) -> None:
    assert globs.widen(pattern) == wide
