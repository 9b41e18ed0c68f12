"""The first pass: what the grammar reads wrongly is rewritten, and all else stays in its place."""

import pytest

from tests.policy.shell.parse.found import assert_found
from tests.values import assert_values
from toolroll.policy.shell.parse import normalise as module
from toolroll.policy.shell.parse.normalise import HereDocument, PreparedText, prepare, substitutions


@pytest.mark.parametrize(
    ("text", "code", "here"),
    [
        ("ls -l", "ls -l", {}),
        ("cat <<E\nx\nE\nls", "cat <__\n \n \nls", {4: HereDocument("x\n")}),
        ("cat <<'E'; ls\nx\nE", "cat <____; ls\n \n ", {4: HereDocument("x\n", quoted=True)}),
        ("cat <<-\tE\n\tx\n\tE\nls", "cat <____\n  \n  \nls", {4: HereDocument("\tx\n")}),
        (
            "cat <<A <<\\B\na\nA\nb\nB\n",
            "cat <__ <___\n \n \n \n \n",
            {4: HereDocument("a\n"), 8: HereDocument("b\n", quoted=True)},
        ),
        ("cat <<E", "cat <__", {4: HereDocument("")}),
        ("cat <<< x", "cat <   x", {4: HereDocument(None)}),
        ("cat <> x", "cat >  x", {}),
        ("{fd}>x ls", "    >x ls", {}),
        ("time -p ls", "        ls", {}),
        ("! ls && ! { pwd; }", "  ls &&   { pwd; }", {}),
        ("coproc ls", "       ls", {}),
        ("coproc A { ls; }", "         { ls; }", {}),
        ("function f { coproc ls; }", "function f {        ls; }", {}),
        ("if time ls; then :; fi", "if      ls; then :; fi", {}),
        ("echo time ! coproc", "echo time ! coproc", {}),
        ("case time in time) ls;; esac", "case time in time) ls;; esac", {}),
        ("echo '<<E' \"<<E\" # <<E", "echo '<<E' \"<<E\" # <<E", {}),
        ("echo $((1<<2)) ${x:-<<E}", "echo $((1<<2)) ${x:-<<E}", {}),
        ("(( x << 2 ))\nls", "(( x << 2 ))\nls", {}),
        ("cu\\\nrl x", "curl x", {}),
        ("echo 'a\\\nb'", "echo 'a\\\nb'", {}),
        ("ls # a \\\npwd", "ls # a \\\npwd", {}),
        ("cat <<'E'\na\\\nE\nls", "cat <____\n  \n \nls", {4: HereDocument("a\\\n", quoted=True)}),
        ("cat <<E\na\\\nE\nls\nE", "cat <__\n  \n  \n ", {4: HereDocument("aE\nls\n")}),
        ("cat <<E\na\\\\\nE\nls", "cat <__\n   \n \nls", {4: HereDocument("a\\\\\n")}),
        ("cat <<E\na\\\\\\\nE\nE\nls", "cat <__\n    \n \nls", {4: HereDocument("a\\\\E\n")}),
        *(
            (f"echo {word} <<E\nx\nE", f"echo {word} <__\n \n ", {6 + len(word): HereDocument("x\n")})
            for word in (
                '"a$b"',
                '"${x}y"',
                '"$(a)$"',
                '"\\""',
                '"`a`"',
                "${x}y",
                '${a"}"b}',
                "${a:-${b}}",
                "${a:-$(b)}",
                "`a\\`b`",
                "$'a\\'b'",
                '$"a"',
                "$(a (b))",
                "$((1<<2))",
            )
        ),
        ('echo "$(case x in a) ls;; esac)" <<E\nE', 'echo "$(case x in a) ls;; esac)" <<E\nE', {}),
        ('cat <<E "$(case x)"\nx\nE', 'cat <<E "$(case x)"\nx\nE', {}),
    ],
)
def test_prepare(text, code, here):
    assert prepare(text) == PreparedText(code, here)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("plain $x \\$(a) \\`b\\`", []),
        ("a $(b) c `d` ${e:-$(f)}", ["$(b)", "`d`", "${e:-$(f)}"]),
        ("it's $(b)", ["$(b)"]),
        ("$(a", None),
        ("`a", None),
    ],
)
def test_substitutions(body, found):
    assert substitutions(body) == found


def test_all_that_is_found_in_many_texts():
    assert_found()


def test_values_stay_as_they_are():
    assert_values(module, "PreparedText")
