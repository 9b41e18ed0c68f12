"""sed and awk programs that only print, judged by what the real programs do."""

import subprocess

import pytest

from toolroll.policy.shell.read_only.scripts import awk_reads, sed_reads

SED = {
    True: [
        *[
            "p",
            "1,5p",
            "$d",
            "/a/,/b/p",
            "s/a/b/",
            "s/a/b/gi2p",
            "s|a|b|;s#c#d#",
            "/x/!d",
            "y/abc/xyz/",
            "1~2p",
            "10q",
            "=",
            "",
            "n;d",
        ],
        *[
            ":a;N;$!ba;s/\\n/ /g",
            "/a/{s/b/c/;p}",
            "a hello",
            "1i\thello",
            "s/[^0-9]//g",
            "s/[[:space:]]*$//",
            "\\,a,p",
            "#c\np",
            "/a/I,+2p",
        ],
        *["s/a\\/b/c/", "s/x/y\\\nz/", "l 5", "$!N;P;D"],
    ],
    False: [
        *[
            "w out",
            "1w out",
            "$!W out",
            "s/a/b/w out",
            "s/a/b/gw out",
            "e",
            "1e touch x",
            "s/a/touch x/e",
            "s/a/b/ge",
            "r x",
            "R x",
        ],
        *[
            "p;w out",
            "p\nw out",
            "{p;w out\n}",
            "a x\nw out",
            "a\\\nx",
            "s/[/]w out/x/",
            "s/a/b",
            "k",
            "/a",
            "s\na\nb\n",
            "saaba",
            "p w out",
        ],
        *["s/[]/]w out/x/", "}w out", "!w out", "y/a/b/w out", "s/a/b/\\w out", "#\nw out"],
    ],
}
AWK = {
    True: [
        *[
            "{print}",
            "/a/",
            "/a|b/{print $1}",
            "$2 > 1",
            "$2 > 1 {print $1}",
            "{if ($2>1) print $1}",
            "NR>1",
            "{print $1/2}",
            "{a[$1]++}",
        ],
        *[
            '{print "a > b | c"}',
            "END{print n}",
            "a || b",
            '{gsub(/a|b/,""); print}',
            "!s[$0]++",
            "{print a[1]/2} # x > y",
            "/[0-9]+/",
        ],
    ],
    False: [
        *[
            '{print > "out"}',
            '{print >> "out"}',
            '{print | "sh"}',
            "{print $1 > $2}",
            'BEGIN{system("touch x")}',
            '{"date" | getline}',
        ],
        *[
            '{getline < "x"}',
            "{print (1>2)}",
            '@load "x"',
            '{printf "%s", $1 > "out"}',
            '{print |& "x"}',
            'BEGIN{print 1 / 2 > "out"}',
        ],
        *[
            '{print /"/ > "out" /"/}',
            '{ if (1) /"/; print "x" > "f" ; /"/ }',
            '{return /"/; print > "x"; /"/}',
            '{print \\\n > "x"}',
            '"a',
        ],
        *['BEGIN{print "x" > "/inet/tcp/0/h/1"}', "{x = /[/]/}", '{print "a" / 2 > "out"}'],
    ],
}


@pytest.mark.parametrize("wanted", [True, False])
def test_sed(wanted):
    assert [script for script in SED[wanted] if sed_reads(script) is not wanted] == []


@pytest.mark.parametrize("wanted", [True, False])
def test_awk(wanted):
    assert [program for program in AWK[wanted] if awk_reads(program) is not wanted] == []


@pytest.mark.parametrize(("argv", "scripts"), [(["sed"], SED), (["awk"], AWK)], ids=["sed", "awk"])
def test_the_real_programs_agree(tmp_path, argv, scripts):
    """What is said to read changes nothing; of the rest, enough really writes (the control)."""
    (tmp_path / "in").write_text("a b\na 2\n")

    def writes(script):
        subprocess.run(
            [*argv, script, "in"], cwd=tmp_path, capture_output=True, timeout=20, stdin=subprocess.DEVNULL, check=False
        )
        made = [file for file in tmp_path.iterdir() if file.name != "in"]
        for file in made:
            file.unlink()
        return bool(made)

    assert [script for script in scripts[True] if writes(script)] == []
    assert sum(writes(script) for script in scripts[False]) >= 4
