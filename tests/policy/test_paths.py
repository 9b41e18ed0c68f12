"""Paths as text: what is read out of them, and which names no tool may write."""

import pytest

from tests.values import assert_values
from toolroll.policy import paths
from toolroll.result import ErrorCode, ToolError

ROOT = "/home/me/ws"


@pytest.mark.parametrize(
    ("path", "parts", "is_dir"),
    [
        ("a.txt", ("a.txt",), False),
        ("sub//./b.txt", ("sub", "b.txt"), False),
        ("sub/", ("sub",), True),
        ("sub/.", ("sub",), True),
        ("sub/..", ("sub", ".."), True),
        (".", (), True),
        ("./", (), True),
        ("..", ("..",), True),
        ("sub/../a.txt", ("sub", "..", "a.txt"), False),
        ("/home/me/ws", (), True),
        ("/home/me/ws/", (), True),
        ("//home/./me//ws/a.txt", ("a.txt",), False),
        ("/home/me/ws/../x", ("..", "x"), False),
        ("..foo", ("..foo",), False),
        ("~", ("~",), False),
        ("a\\b", ("a\\b",), False),
        ("new\nline", ("new\nline",), False),
        (" ", (" ",), False),
        ("é😀", ("é😀",), False),
        ("file:///etc/passwd", ("file:", "etc", "passwd"), False),
    ],
)
def test_a_path_is_read_by_components(path, parts, is_dir):
    assert paths.parts(path, ROOT) == paths.Relative(parts, is_dir)


def test_every_absolute_path_is_beneath_a_workspace_at_the_top():
    assert paths.parts("/etc/passwd", "/") == paths.Relative(("etc", "passwd"), False)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "/home/me/ws-evil/x",
        "/home/me/wsx",
        "/home/me",
        "/home/x/../me/ws/a",
    ],
)
def test_an_absolute_path_elsewhere_is_refused_and_the_workspace_named(path):
    with pytest.raises(ToolError) as caught:
        paths.parts(path, ROOT)
    assert caught.value.code is ErrorCode.SECURITY
    assert caught.value.message == (
        f"{path!r} is outside the workspace '/home/me/ws'. Use a path relative to the workspace."
    )


@pytest.mark.parametrize(
    ("path", "code", "word"),
    [
        ("", ErrorCode.VALIDATION, "required"),
        ("a\0b", ErrorCode.SECURITY, "NUL"),
        ("/etc/passwd\0.png", ErrorCode.SECURITY, "NUL"),
        ("a\ud800", ErrorCode.VALIDATION, "surrogates"),
        ("\udcff", ErrorCode.VALIDATION, "surrogates"),
    ],
)
def test_what_is_no_path_at_all(path, code, word):
    with pytest.raises(ToolError, match=word) as caught:
        paths.parts(path, ROOT)
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("path", "text", "where"),
    [(".", ".", "./"), ("a//b", "a/b", "a/b"), ("a/b/", "a/b", "a/b/"), (ROOT + "/a", "a", "a")],
)
def test_the_text_is_for_reading_and_the_slash_for_the_kernel(path, text, where):
    relative = paths.parts(path, ROOT)
    assert (relative.text, relative.where) == (text, where)


@pytest.mark.parametrize(
    ("path", "target", "beyond"),
    [
        ("a/l", "x", paths.Relative(("a", "x"), False)),
        ("a/l", "../x/./y", paths.Relative(("a", "..", "x", "y"), False)),
        ("a/l", "x/", paths.Relative(("a", "x"), True)),
        ("a/l/", "x", paths.Relative(("a", "x"), True)),
        ("l", ".", paths.Relative((), True)),
    ],
)
def test_a_link_is_followed_in_its_own_folder(path, target, beyond):
    assert paths.parts(path, ROOT).beyond(target) == beyond


@pytest.mark.parametrize(
    "name",
    [
        *(".git", ".GIT", ".Git", ".hg", ".svn", ".SVN", ".jj"),
        *(".git.", ".git ", ".git. .", "git~1", "GIT~1", "hg~1"),
        *(".g\u200cit", "\ufeff.git", ".git\u200b", ".gi\u202et", ".\u017fvn"),
        *(".git:x", ".git::$INDEX_ALLOCATION", ".git\\config", "a\\.git"),
    ],
)
def test_version_control_is_protected_under_any_spelling(name):
    assert paths.find_protected((name,)) == name
    assert paths.find_protected(("sub", name, "hooks", "pre-commit")) == name


@pytest.mark.parametrize(
    "name",
    [
        *("git", ".gitignore", ".github", ".gitattributes", ".git-blame-ignore-revs", ".gitmodules"),
        *("x.git", "git~", "git~11", "..git", "hg", ".hgignore", "...", " ", ":", "\\", "\u200b"),
    ],
)
def test_names_that_only_look_like_version_control_are_free(name):
    assert paths.find_protected(("a", name, "b")) is None


def test_other_names_can_be_protected_and_compose():
    assert paths.find_protected(("x", "cafe\u0301"), ["caf\u00e9"]) == "cafe\u0301"
    assert paths.find_protected((".git",), ["caf\u00e9"]) is None


@pytest.mark.parametrize(
    ("path", "climbs"),
    [
        ("a", False),
        (".", False),
        ("a/..", False),
        ("a/../b", False),
        ("..", True),
        ("a/../..", True),
        ("a/b/../../..", True),
    ],
)
def test_a_path_climbs_when_it_leads_above_its_start(path, climbs):
    assert paths.climbs(path) is climbs


def test_values_stay_as_they_are():
    assert_values(paths)
