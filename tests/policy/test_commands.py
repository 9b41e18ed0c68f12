"""The command policy as its users see it: verdicts, parts and reasons, presets, rules of the user, and grants."""

import json
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.values import assert_values
from toolroll.policy import commands as module
from toolroll.policy.commands import (
    PRESETS,
    STANDARD,
    TERMINAL,
    CommandRules,
    JudgedPart,
    Judgement,
    Rule,
    judge,
    judge_argv,
    judge_input,
)
from toolroll.policy.shell.examples import parse_rules

TABLES = Path(__file__).parent / "shell" / "verdicts"


def table(name):
    """The rows of a table: one command a line, and a heading."""
    return (TABLES / f"{name}.txt").read_text().splitlines()[1:]


def others(texts, *wanted, rules=STANDARD):
    """The texts that are judged in another way."""
    return {text: found for text in texts if (found := judge(text, rules).decision) not in wanted}


# Texts of several lines; the tables hold those of one.

BANNED_LINES = [
    "ls\n\ncurl x",
    "ls \\\n; curl x",
    "cu\\\nrl x",
    "cat <<EOF > f\nhi\nEOF\ncurl x",
    "cat <<EOF > f; curl x\nhi\nEOF",
    "cat <<'EOF' && curl x\nhi\nEOF",
    "cat <<EOF\n`curl x`\nEOF",
    "cat <<-EOF\n\t$(curl x)\n\tEOF",
    "cat <<A <<B\na\nA\nb\nB\ncurl x",
    "if true\nthen\n  curl x\nfi",
    "for i in 1 2\ndo\n curl $i\ndone",
    "f() {\n curl x\n}\nf",
    "echo 'a\nb'; curl x",
    "while read x; do curl $x; done <<E\na\nE",
    "bash <<E\ncurl x\nE",
    "bash <<'E'\ncurl x\nE",
    "bash -c '\ncurl x\n'",
    "echo a\\\n| xargs curl",
    "cat <<EOF | bash\ncurl x\nEOF",
    "x=$(cat <<'E'\nit's\nE\n)\ncurl x",
    "git commit -m \"$(cat <<'EOF'\nmsg's\nEOF\n)\" && curl x",
    "\t\n curl x",
    "ls # c\ncurl x",
    "ls # \\\ncurl x",
    "cat <<'E'\nfoo\\\nE\ncurl x\nE",
    'echo "<<E"\ncurl x',
    "(( x << 2 ))\ncurl x",
    "echo $((1<<2))\ncurl x",
    "echo ${x:-<<E}\ncurl x",
    "cat <<E1 && curl x\na\nE1",
    "cat <<E\nx\nE\ncurl x",
    "cat <<E;curl x\nE",
    "cat <<'E'\n\\\nE\ncurl x",
    'cat <<"E" | tee >(curl x)\na\nE',
    "cat <<E\na\n E\nE\ncurl x",
    "cat <<E\nE\ncurl x # <<F",
    "x='<<E'\ncurl x",
    "let 'x=1<<2'\ncurl x",
    "[[ a < b ]]\ncurl x",
    "cat <<E\n$(cat <<F\nx\nF\n)\nE\ncurl x",
    "echo \"$(cat <<'E'\n)\nE\n)\"; curl x",
    "function f { curl $1; }\nf a",
    "for x in a b\ndo\ncurl $x\ndone",
    "echo a |\n curl -d @- x",
    "echo a &&\n\n curl x",
    "(\n curl x\n)",
    "{\ncurl x\n}",
    "curl x <<E\na\nE",
    "ls || # or\ncurl x",
]
HARMLESS_LINES = [
    "cat <<EOF > file.sh\n#!/bin/bash\ncurl x\nsudo y\nEOF\nchmod +x file.sh",
    "cat > a.md <<'EOF'\n```bash\nsudo apt install x\n`curl x`\n$(wget y)\n```\nEOF",
    "python3 - <<'EOF'\nimport os; os.system('curl')\nEOF",
    "git commit -m \"$(cat <<'EOF'\nuse curl; `sudo x` $(wget)\n\nit's\nEOF\n)\"",
    "cat <<'A' > x; ls\nrm -rf /\nA\nls",
    "tee a <<EOF >/dev/null\nssh x\nEOF",
    "cat <<EOF\ncurl \\$(curl x) \\`curl\\`\nEOF",
    "python3 <<EOF\nprint('curl')\nEOF",
    "cat << EOF >> a\ncurl\nEOF\n",
    "cat <<  'END OF' > a\ncurl\nEND OF\nls",
    "node <<'JS'\nrequire('x').curl()\nJS",
    "psql <<SQL\nDROP TABLE curl;\nSQL",
    "while read l; do echo $l; done <<'E'\ncurl x\nE",
    "cat <<E | grep curl\ncurl x\nE",
    "sed -i 's/a/curl/' <<E\nE",
    "(cat <<E\ncurl x\nE\n)",
    "f() { cat <<E\ncurl x\nE\n}; f",
    "x=$(cat <<E\ncurl x\nE\n)",
    "if true; then cat <<E\ncurl x\nE\nfi",
    "cat <<-E\n\tcurl x\n\tE\nls",
    "cat 3<<E 4<<'F'\ncurl\nE\ncurl\nF\nls",
    "cat <<E # c\ncurl\nE",
    "cat <<\\E\n$(curl)\nE",
    "cat <<E1 && cat <<E2\ncurl\nE1\nwget\nE2",
    'echo "<<E"\ncat a',
    "echo '<<E'\nls",
    "(( x << 2 ))\nls",
    "echo $((1<<2))\nls",
    "echo ${x:-<<E}\nls",
]
READING_LINES = [
    "ls -la \\\n  src",
    "cat <<'EOF'\ncurl x | sh\nEOF",
    "cat <<EOF\nhello\nEOF",
    "grep x <<'E'\ncurl\nE",
    "cat <<'A'; ls\ncurl x\nA\npwd",
    "sort <<E | uniq\nb\na\nE",
    "ls\nls\n",
    "\n\nls\n",
    "ls -la \\\n  docs",
    "# list\nls",
    "ls && # then\ncat a",
    "echo 'multi\nline'",
    'echo "multi\nline"',
]


def test_a_banned_program_is_refused_wherever_the_shell_would_run_it():
    assert others(table("banned") + BANNED_LINES, "deny") == {}


def test_destruction_is_refused_under_every_preset():
    downloads = [text for text in table("destructive") if "curl" in text or "wget" in text]
    for rules in PRESETS.values():
        assert others(table("destructive"), "deny", rules=rules) == {}, rules.name
    assert len(downloads) == 6


def test_harmless_and_routine_commands_are_never_refused():
    assert others(table("harmless") + HARMLESS_LINES, "allow", "ask") == {}


def test_reading_needs_no_question():
    assert others(table("reading") + READING_LINES, "allow") == {}


ODD = ["ls\u00a0-la", "ls\u200b", "ls \x1b[0m", "ls\x0c-la", "ls\r\n", "echo \u202e", "ls\0", "ls \ud800", "ls\u3000a"]


def test_what_is_not_certain_is_asked():
    assert others(table("unsure") + ODD, "ask") == {}


def test_the_naive_ways_fail_on_the_same_tables():
    """The control: looking for words, or at the first word, is wrong in both directions."""
    words = ("curl", "wget", "ssh", "sudo", "apt", "mount", "service", "ip", "su", "nc")
    assert len([text for text in table("harmless") if any(word in text for word in words)]) > 100
    assert len([text for text in table("banned") if text.split()[0] not in words]) > 200
    assert [text for text in table("banned") if not any(word in text for word in words)] != []


def test_nothing_but_a_comment_runs_nothing():
    assert judge("# rm -rf /") == Judgement("allow", "", ())
    assert judge("") == Judgement("allow", "", ())


def test_the_parts_of_a_text():
    assert judge("cd src && timeout 5 make test > log; cat $x").parts == (
        JudgedPart(None, "> log", "ask", "'> log' needs approval: it writes to a file."),
        JudgedPart(("cd", "src"), "cd src", "allow"),
        JudgedPart(("timeout", "5", "make", "test"), "timeout 5 make test", "allow", where="src"),
        JudgedPart(
            ("make", "test"),
            "make test",
            "ask",
            "'make test' needs approval: 'make' is not one of the read-only programs.",
            where="src",
        ),
        JudgedPart(
            None,
            "cat $x",
            "ask",
            "'cat $x' needs approval: this cat command may change something.",
            where="src",
        ),
    )


def test_a_client_of_the_web_is_refused_with_the_setting_that_allows_it():
    for text in ("curl https://example.org/a", "wget -q http://me:x@example.org:80"):
        assert judge(text, PRESETS["native"]).reason.endswith(
            "is not allowed: it reaches other machines; read web pages with `fetch`. To let commands reach it, "
            'the user sets network = "example.org" in toolroll.toml, or --network.'
        ), text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ls; curl x", "'curl' is not allowed: it reaches other machines; read web pages with `fetch`."),
        ("sudo ls", "'sudo' is not allowed: it raises privileges; run the command without it."),
        (
            "brew install x",
            "'brew' is not allowed: it changes the packages of the machine; ask the user to install what is missing.",
        ),
        (
            "cd .. && rm -rf *",
            "'rm -rf *' is refused: it would destroy more than the work at hand; name the files that are to go.",
        ),
        ("ls > /etc/x", "'> /etc/x' is refused: it would change the system; keep to the workspace."),
        ("$x", "'$x' needs approval: the program is computed when it runs. Name the program plainly."),
        ("ls (", "'ls (' needs approval: it cannot be read as shell text."),
        ("ls \x1b[0m", "'ls \\x1b[0m' needs approval: it holds control characters or invisible ones."),
        ("echo $(ls)", "'echo $(ls)' needs approval: this echo command may change something."),
        (
            "for i in 1; do ls; done",
            "'for i in 1; do ls; done' does more than run plain commands, so it needs approval.",
        ),
        ("PATH=. ls", "'PATH=.' needs approval: a variable can change what programs do."),
        ("f() { curl x; }", "It stands in the function 'f', which is not called here."),
        (":(){ :|:& };:", "':(){ :|:& }' is refused: it would start itself over and over until the machine stops."),
    ],
)
def test_the_reason_says_what_and_what_to_do(text, reason):
    assert judge(text).reason == reason


def test_a_long_text_is_shown_short():
    assert judge("make " + "x" * 500).reason.startswith("'make xxxxx")
    assert len(judge("make " + "x" * 500).reason) < 200


# Presets.


def rows_alone(rules):
    """Every row as a policy of its own, with its examples of both kinds."""
    for row in rules.banned:
        yield CommandRules("one", (row,)), row.denies, row.passes, "deny"
    for row in rules.destructive:
        yield CommandRules("one", destructive=(row,)), row.denies, row.passes, "deny"
    for row in rules.read:
        yield CommandRules("one", read=(row,)), row.allows, row.asks, "allow"


@pytest.mark.parametrize("name", PRESETS)
def test_every_row_keeps_its_own_examples(name):
    for alone, fitting, others, decision in rows_alone(PRESETS[name]):
        assert [text for text in fitting if judge(text, alone).decision != decision] == []
        assert [text for text in others if judge(text, alone).decision == decision] == []


def test_every_row_has_examples_of_both_kinds():
    for rules in PRESETS.values():
        rows = [*rules.destructive, *rules.banned]
        assert [row.programs for row in rows if not row.denies or not row.passes] == []
        assert [row.programs for row in rules.read if not row.allows or not row.asks] == []


PRESET_ROWS = [
    # text, standard (as native), cdd, coding-agent, koopa, plain, terminal
    ("ls -la", "allow", "allow", "allow", "allow", "allow", "allow"),
    ("printf x", "allow", "allow", "allow", "allow", "allow", "ask"),
    ("timeout 5 ls", "allow", "allow", "allow", "allow", "allow", "ask"),
    ("sh -c 'ls'", "allow", "allow", "allow", "allow", "allow", "ask"),
    ("find . -exec cat {} +", "allow", "allow", "allow", "allow", "allow", "allow"),
    ("git diff --stat", "allow", "allow", "allow", "allow", "allow", "allow"),
    ("git commit -m x", "ask", "ask", "ask", "ask", "ask", "ask"),
    ("git push", "ask", "ask", "ask", "ask", "ask", "ask"),
    ("make", "ask", "ask", "ask", "ask", "ask", "ask"),
    ("curl x", "deny", "deny", "ask", "ask", "ask", "deny"),
    ("curl x | sh", "deny", "deny", "deny", "deny", "deny", "deny"),
    ("sudo ls", "deny", "deny", "ask", "deny", "ask", "deny"),
    ("rm -rf build", "ask", "ask", "ask", "deny", "ask", "ask"),
    ("rm -rf /", "deny", "deny", "deny", "deny", "deny", "deny"),
    ("dd if=a of=b", "ask", "ask", "ask", "deny", "ask", "ask"),
    ("dd if=a of=/dev/sda", "deny", "deny", "deny", "deny", "deny", "deny"),
    ("mkfs.ext4 a.img", "deny", "deny", "ask", "deny", "ask", "deny"),
    ("mkfs.ext4 /dev/sda", "deny", "deny", "deny", "deny", "deny", "deny"),
    ("format c:", "deny", "deny", "deny", "deny", "deny", "deny"),
    ("reboot", "deny", "deny", "deny", "deny", "deny", "deny"),
    ("apt install x", "deny", "deny", "ask", "ask", "ask", "deny"),
    ("chmod -R 777 /", "deny", "deny", "deny", "deny", "deny", "deny"),
    ("cat a > b", "ask", "ask", "ask", "ask", "ask", "ask"),
]


@pytest.mark.parametrize("row", PRESET_ROWS, ids=lambda row: row[0])
def test_presets(row):
    text, *wanted = row
    assert [judge(text, rules).decision for rules in PRESETS.values()] == [*wanted, wanted[0]]


def test_the_terminal_knows_its_22_programs_and_git_alone():
    assert {name for row in TERMINAL.read for name in row.programs} == set(
        "ls dir tree cat head tail find grep wc sort uniq cut awk sed pwd cd file stat du df echo which git".split()  # noqa: SIM905
    )
    assert PRESETS["terminal"] is TERMINAL
    assert PRESETS["standard"] is STANDARD


# Without a shell.


@pytest.mark.parametrize(
    ("argv", "decision"),
    [
        (["ls", "-la"], "allow"),
        (["echo", "$(curl x)", ";", "rm -rf /"], "allow"),
        (["cat", "*"], "allow"),
        (["ls;curl"], "ask"),
        (["make"], "ask"),
        (["curl", "x"], "deny"),
        (["/usr/bin/curl"], "deny"),
        (["env", "A=1", "curl"], "deny"),
        (["bash", "-c", "ls; curl x"], "deny"),
        (["bash", "-c", "ls"], "allow"),
        (["rm", "-rf", "/"], "deny"),
        (["rm", "-rf", "~"], "ask"),  # no shell, so it is a file of that name
        (["find", ".", "-delete"], "ask"),
        (["find", ".", "-exec", "curl", "{}", ";"], "deny"),
        (["a\0b"], "ask"),
        (["echo", "a\nb"], "allow"),
        ([], "ask"),
        ([""], "ask"),
    ],
)
def test_argv(argv, decision):
    assert judge_argv(argv).decision == decision


# Rules of the user.

OWN = parse_rules(
    tomllib.loads("""
    [[rule]]
    decision = "deny"
    command = "git push"
    reason = "The user pushes."
    match = ["git push -f", "cd x && git push"]
    not_match = ["git pull"]

    [[rule]]
    decision = "allow"
    command = ["git", "*"]

    [[rule]]
    decision = "allow"
    command = "curl"

    [[rule]]
    decision = "ask"
    command = "cat secret"

    [[rule]]
    decision = "allow"
    command = "rm"

    [[rule]]
    decision = "allow"
    command = "make"
    exact = true

    [[rule]]
    decision = "deny"
    path = "*.pem"

    [[rule]]
    decision = "ask"
    effect = "network"
    """)["rule"]
)


def test_rules_are_read_from_a_file():
    assert OWN[0] == Rule(
        "deny",
        ("git", "push"),
        reason="The user pushes.",
        match=("git push -f", "cd x && git push"),
        not_match=("git pull",),
    )
    assert OWN[1] == Rule("allow", ("git", "*"))
    assert OWN[-2:] == (Rule("deny", path="*.pem"), Rule("ask", effect="network"))


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("git status", "allow"),
        ("git", "allow"),
        (
            "git commit -m \"$(cat <<'E'\nit's\nE\n)\"",
            "allow",
        ),  # an allow of the user holds in texts that are not plain
        ("git push", "deny"),  # the strictest rule wins
        ("/usr/bin/git push x", "deny"),
        ("bash -c 'git push'", "deny"),
        ("git status; git push", "deny"),
        ("git $x", "ask"),  # it might be git push
        ("$x push", "ask"),
        ("./git status", "ask"),  # not the git that was meant
        ("./git push", "deny"),
        ("git() { ls; }; git status", "ask"),
        ("PATH=. git status", "ask"),
        ("git status > log", "ask"),
        ("curl x", "allow"),  # before the ban list
        ("curl x | sh", "deny"),  # never before what destroys
        ("wget x", "deny"),
        ("rm a", "allow"),
        ("rm -rf build", "allow"),
        ("rm -rf /", "deny"),
        ("cat a", "allow"),
        ("cat secret", "ask"),
        ("cat s*", "ask"),
        ("cat -n secret", "allow"),
        ("xargs cat", "ask"),
        ("make", "allow"),
        ("make deploy", "ask"),
        ("ls", "allow"),
        ("npm test", "ask"),
    ],
)
def test_rules_of_the_user_come_first(text, decision):
    assert judge(text, replace(STANDARD, user=OWN)).decision == decision


def test_the_reason_of_a_rule_is_told():
    rules = replace(STANDARD, user=(*OWN, Rule("deny", ("*",))))
    reason = "Denied by a rule in toolroll.toml: *."
    assert judge("git push", rules).reason == "The user pushes."
    assert judge("ls", rules) == Judgement("deny", reason, (JudgedPart(("ls",), "ls", "deny", reason, by_rule=True),))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, r"Rules are given as \[\[rule\]\] tables"),
        (["x"], r"Rules are given as \[\[rule\]\] tables"),
        (
            [{"decision": "deny", "command": "a"}, {"decision": "no", "command": "a"}],
            "rule 2: decision is 'no', it must be",
        ),
        ([{"command": "a"}], "rule 1: decision is None"),
        ([{"decision": "deny"}], "rule 1: it needs a command, a path or an effect"),
        ([{"decision": "deny", "command": ""}], "rule 1: the command is empty"),
        ([{"decision": "deny", "command": "a 'b"}], 'rule 1: the command "a \'b" cannot be split into words'),
        ([{"decision": "deny", "command": [1]}], "rule 1: Expected `str`, got `int` - at `\\$.command"),
        ([{"decision": "deny", "command": 1}], "rule 1: Expected `str | array`, got `int` - at `\\$.command`"),
        ([{"decision": "deny", "comand": "a"}], "rule 1: Object contains unknown field `comand`"),
        ([{"decision": "deny", "path": 1}], "rule 1: Expected `str | null`, got `int` - at `\\$.path`"),
        ([{"decision": "deny", "effect": ""}], "rule 1: Expected `str` of length >= 1 - at `\\$.effect`"),
        (
            [{"decision": "deny", "command": "a", "match": "a b"}],
            "rule 1: Expected `array`, got `str` - at `\\$.match`",
        ),
        (
            [{"decision": "deny", "command": "a", "exact": "yes"}],
            "rule 1: Expected `bool`, got `str` - at `\\$.exact`",
        ),
        (
            [{"decision": "deny", "command": "git push", "match": ["git pull"]}],
            "rule 1: the example 'git pull' must match",
        ),
        (
            [{"decision": "deny", "command": "git", "not_match": ["git x"]}],
            "rule 1: the example 'git x' must not match",
        ),
        ([{"decision": "deny", "path": "x", "match": ["a"]}], "rule 1: examples need a command"),
    ],
)
def test_a_wrong_rule_is_named(data, message):
    with pytest.raises(ValueError, match=message):
        parse_rules(data)


def test_no_rules_are_no_rules():
    assert parse_rules([]) == ()


# Limits, speed, and any text at all.


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "$(" * 50_000,
        "a?" * 7_900,
        "x=(" * 30_000,
        "<" * 50_000,
        "${" * 20_000,
        "f()" * 20_000,
        "`" * 50_001,
        "{ " * 40_000,
        '"$(' * 20_000,
        "[[ " * 30_000,
        "echo " + "A" * 100_000,
        "# " * 200_000,
        "\0" * 15_000,
        "|".join(["cat"] * 20_000),
        "eval " * 20_000,
        "env " * 20_000 + "ls",
        "bash -c " * 5_000,
        "a=(b" * 400 + "# ",
        "@(>" * 600,
        "cat <<E\n" + "$(ls)\n" * 5_000 + "E",
        "( " * 500 + "curl x" + " )" * 500,
    ],
    ids=lambda text: text[:12].strip(),
)
def test_hostile_texts_are_asked_in_good_time(text):
    start = time.perf_counter()
    assert judge(text).decision == "ask"
    assert time.perf_counter() - start < 30


def test_long_and_deep_but_plain_texts_are_still_understood():
    assert judge("; ".join(f"echo {number}" for number in range(300)) + "; curl x").decision == "deny"
    assert judge(" && ".join(["ls"] * 300)).decision == "allow"
    assert judge("( " * 20 + "curl x" + " )" * 20).decision == "deny"
    assert judge("cat <<'E' > a\n" + "curl (((\n" * 20_000 + "E\ncurl x").decision == "deny"
    assert judge("cat <<'E'\n" + "curl (((\n" * 20_000 + "E").decision == "allow"
    assert judge("\\\n" * 90_000 + "curl x").decision == "deny"


def test_a_judgement_costs_little():
    start = time.perf_counter()
    for _ in range(100):
        judge("cd src && grep -rn foo . | sort | uniq -c | head -20")
    assert time.perf_counter() - start < 30  # about 0.05 s on an idle machine


PIECES = st.sampled_from(
    [
        *"abc ;|&()<>{}$`'\"\\\n\t*?[]~#!=-/:",
        *[
            "curl",
            "ls",
            "rm -rf /",
            "$(",
            "<<E",
            "<<<",
            "2>&1",
            "bash -c ",
            "eval ",
            "xargs ",
            "if ",
            "then ",
            "fi",
            "for x in ",
        ],
        *[
            "do ",
            "done",
            "case x in ",
            "esac",
            "f() {",
            "time ",
            "coproc ",
            "trap ",
            "env ",
            "\x00",
            "sed ",
            "awk ",
            "E\n",
        ],
        *["find . -exec ", "{} \\;", "${x:-", "$'", "\u00a0", "\ud800", "é", "sort ", "-o", "user=(", "[[ "],
    ]
)


@pytest.mark.parametrize("wide", ["\U00103a46", "\U000da8ec=", "\U0001f642", "\uffff", "\u4e2d", "\u0100"])
def test_characters_that_the_grammar_looks_up_beyond_its_tables(wide):
    for _ in range(50):
        assert judge(f"echo {{{wide}").decision in ("allow", "ask")
    assert judge(f"echo '{{{wide}}}'; sudo ls").decision == "deny"
    assert judge(f"{wide}() {{ {wide}|{wide} & }}; {wide}").decision != "allow"


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=30).map("".join)))
def test_any_text_gets_a_judgement(text):
    found = judge(text)
    assert found.decision in ("allow", "ask", "deny")
    assert (found.reason == "") is (found.decision == "allow")
    order = ["allow", "ask", "deny"]
    assert found.decision == max((part.decision for part in found.parts), key=order.index, default="allow")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=20), PIECES), max_size=6))
def test_any_words_get_a_judgement(argv):
    assert judge_argv(argv).decision in ("allow", "ask", "deny")


def test_the_grammar_is_loaded_when_it_is_first_needed():
    code = (
        "import sys, json; from toolroll.policy import commands as c; a = 'tree_sitter' in sys.modules;"
        " c.judge('ls'); print(json.dumps([a, 'tree_sitter' in sys.modules, 'subprocess' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, True, False]


def test_input_of_a_running_program_is_asked_about_and_the_user_s_rules_hold():
    rules = CommandRules(
        "mine",
        user=(
            Rule("deny", ("git", "push"), reason="people push"),
            Rule("ask", ("make",)),
            Rule("allow", ("ls",)),
        ),
    )
    asked = "Input for 'bash' needs approval: what reads it may run it."
    found = judge_input("ls; make all; true", "'bash'", rules)
    assert (found.decision, found.reason) == ("ask", asked)
    assert [(part.words, part.decision) for part in found.parts] == [(("make", "all"), "ask")]
    found = judge_input("make; git push", "'bash'", rules)
    assert (found.decision, found.reason) == ("deny", "people push")
    assert [part.decision for part in found.parts] == ["ask", "deny"]
    found = judge_input("ls", "'bash'", rules)
    assert (found.decision, found.reason, found.parts) == ("ask", asked, ())


def test_a_function_hides_the_program_of_its_name_also_in_its_own_body():
    found = judge("ls() { ls; }; ls")
    assert [(part.decision, part.reason) for part in found.parts[:2]] == [
        ("ask", "'ls' is a function of the text itself.")
    ] * 2
    assert judge("ls; ls() { pwd; }").parts[0].decision == "allow"


def test_what_follows_a_closed_descriptor_is_a_word_of_the_command():
    assert judge("rm -rf >&- /").decision == "deny"
    assert judge("ls 2>&- a").decision == "allow"


@pytest.mark.parametrize(
    ("text", "rules", "firm"),
    [
        ("git stash drop", STANDARD, True),
        ("git branch -D x", STANDARD, False),
        ("git branch -D x", PRESETS["coding-agent"], True),
        ("git stash drop", replace(STANDARD, git_losses="none"), False),
    ],
)
def test_what_git_loses_for_good_is_asked_about_whatever_else_is_allowed(text, rules, firm):
    (part,) = judge(text, rules).parts
    assert (part.decision, part.firm) == ("ask", firm)


def test_an_empty_value_and_one_that_is_plain_change_nothing():
    values = ("LANG=", "LANG=C.UTF-8", "PAGER=cat", "LANG=$x", "LANG='a b'", "PAGER=", "PAGER=less", "PATH=x")
    allowed = [value for value in values if judge(f"{value} ls").decision == "allow"]
    assert allowed == ["LANG=", "LANG=C.UTF-8", "PAGER=cat"]


def test_values_stay_as_they_are():
    assert_values(module)
