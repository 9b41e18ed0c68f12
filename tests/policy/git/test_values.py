"""Values that become words of a git command."""

import pytest

from toolroll.policy.git import check_value
from toolroll.result import ErrorCode, ToolError

GOOD = [
    ("ref", ["HEAD", "HEAD~1", "v1.0^{commit}", "HEAD@{yesterday}", "HEAD@{2 days ago}", "main..side", "main...a-b", ":/fix", "HEAD:a b.py", "@"]),
    ("branch", ["main", "feature/clean-f", "a-b_c.d", "v1.2", "ünï", "a@b", "x/y/z", "lock"]),
    ("path", ["a.py", "-x.py", "--odd.py", "src/--odd.py", "a b", "./:x", "src/../a", ".", "@", "é"]),
    ("message", ["--amend", "a\nb\n--force", "-m x", "'single'", "git clean -fd"]),
]  # fmt: skip
BAD = [
    ("ref", ["", " ", "-f", "--output=x", "HEAD..--output=x", "HEAD...-x", "HEAD\n--output=x", "a\0b", "a\tb", "-D main", "-O/tmp/x"]),
    ("branch", ["", "-f", "--force", "../../x", "x.lock", "a/x.lock/b", ".x", "a/.b", "a..b", "a b", "a~", "a^", "a:b", "a?", "a*", "a[", "a\\b"]),
    ("branch", ["a/", "/a", "a//b", "a.", "@", "a@{1}", "HEAD", "a\n", "a\x7f", "-D main"]),
    ("path", ["", "/etc/passwd", "../x", "src/../../x", ":(exclude)x", ":/", ":!x", "a\0", "a\n--force"]),
    ("message", ["", " \n", "a\0b"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in GOOD for value in values])
def test_good_values_pass(kind, value):
    check_value("x", value, kind)


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in BAD for value in values])
def test_bad_values_say_so(kind, value):
    with pytest.raises(ToolError) as caught:
        check_value("what", value, kind)
    assert caught.value.code == ErrorCode.VALIDATION
    assert caught.value.message.startswith(f"`what`: {value!r} ")


def test_a_ref_is_the_default():
    with pytest.raises(ToolError, match="starts like an option"):
        check_value("ref", "--output=x")
