"""Git commands judged by their words, and the judge held against git itself."""

import itertools
import os
import random
import re
import shlex
import subprocess

import pytest

from tests.values import assert_values
from toolroll.policy import git
from toolroll.policy.git import verdict as module
from toolroll.policy.git.verbs import CHANGES, READS
from toolroll.policy.git.words import parse_option_spec

RULES = (*git.DESTRUCTIVE, *git.FOREIGN)


def decision(text, **options):
    return git.judge(shlex.split(text), **options).decision


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.verbs[:20]} {rule.options[:20]}")
def test_a_rule_holds_for_its_examples_and_only_for_them(rule):
    denied = {text: git.judge(shlex.split(text)) for text in rule.examples}
    assert {text: one.decision for text, one in denied.items()} == dict.fromkeys(rule.examples, "deny")
    assert any(rule.reason in one.reason for one in denied.values())
    assert [text for text in rule.fine if decision(text) == "deny"] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.verbs[:20]} {rule.options[:20]}")
def test_a_rule_holds_for_all_its_verbs_and_options(rule):
    also = rule.also.split()[:1]
    for verb in rule.names:
        for option in rule.wanted or {""}:
            words = [*verb.split(), *also, *option.split()]
            assert git.judge(words).decision == "deny", words
            assert git.judge(["git", *words]).decision == "deny", words


ROWS = [
    ("allow", "status log:-p log:--oneline_-10 diff diff:--stat_HEAD~1 show:HEAD branch branch:-a tag:-l_v* stash:list"),
    ("allow", "blame:-L_1,10_a.py ls-files rev-parse:HEAD describe:--tags remote:-v reflog worktree:list grep:-n_x clean:-n"),
    ("allow", "log:--grep=--force log:--author=rebase diff:HEAD_--_--output=x show:HEAD:a.py branch:--contains_HEAD"),
    ("allow", "--no-pager:log --version help version shortlog:-sn symbolic-ref:HEAD cat-file:-p_HEAD diff:main...feature"),
    ("ask", "add:a.py add:-A commit:-m_x commit:-am_x checkout:main checkout:-b_x switch:-c_x merge:x push push:-u_origin_x"),
    ("ask", "fetch pull pull:--ff-only stash stash:pop stash:-u tag:v1 branch:x branch:-d_x branch:-m_a_b revert:HEAD am:x.patch"),
    ("ask", "checkout:v1.2 checkout:release/1.x checkout:- checkout:--orphan_x checkout:-b_x_origin/main reset:a.py reset"),
    ("ask", "reset:HEAD_a.py reset:--_a.py reset:-q restore:--staged_a.py rm:a.py mv:a_b gc init clone:https://example.com/a.git"),
    ("ask", "clone:git@example.com:a.git clone:h:x_folder config:user.name config:--get_user.name config:user.email_a@b.c config:-l"),
    ("ask", "var:GIT_EDITOR log:--help log:--unheard-of unheard-of log:--format=%G? reflog:HEAD remote:add_x_https://example.com/x"),
    ("ask", "-C_sub:status archive:HEAD archive:-o_x.tar_HEAD bundle:create_x.bundle_--all worktree:add_wt fsck:--lost-found"),
    ("ask", "apply:p.diff apply:--directory=sub_p.diff submodule:update_--init merge:-s_ours_x push:origin_HEAD:main push:origin_:"),
    ("ask", "fetch:origin_+refs/heads/*:refs/remotes/origin/* log:-n_--output=x grep:-e_-O notes:show sparse-checkout:list for-each-ref:--format=%(signature)"),
    ("deny", "push:origin_+main push:origin_:main push:origin_+: fetch:origin_+main:main checkout:. checkout:--_a.py checkout:HEAD_a.py"),
    ("deny", "checkout:a.py checkout:src/ checkout:./x checkout:*.py checkout:.gitignore checkout:HEAD~1_--_. reset:HEAD~1 reset:--soft_HEAD^"),
    ("deny", "reset:origin/main reset:0123abcd reset:main symbolic-ref:HEAD_refs/heads/x config:core.pager_x config:set_core.pager_x"),
    ("deny", "config:--global_user.name_x config:--unset_user.x config:alias.x_!sh config:--file_/etc/x_--list config:unset_core.x config:edit"),
    ("deny", "add:../x add:/etc/passwd add:src/../../x mv:a_../b diff:/etc/passwd_/dev/null diff:../a_b hash-object:-w_/etc/passwd"),
    ("deny", "commit:-F_/etc/passwd tag:-F/etc/passwd_v1 grep:-f_/etc/passwd ls-files:-X_/etc/passwd blame:-S_/etc/x_a archive:-o_.git/hooks/x_HEAD"),
    ("deny", "blame:--contents=/etc/passwd_a blame:--cont_/etc/passwd_a diff:-O/etc/x format-patch:-o_/tmp/x bundle:create_/tmp/x_--all"),
    ("deny", "clone:x_/tmp/y clone:h:x_../y clone:/etc/x clone:file:///etc clone:--_../x worktree:add_../x push:/tmp/x ls-remote:/tmp/x init:/tmp"),
    ("deny", "clone:ext::sh fetch:fd::17 remote:add_x_ext::sh submodule:add_ext::sh archive:--remote=ext::sh_HEAD push:--repo=ext::x clone:foo::bar"),
    ("deny", "remote:add_x_/tmp/x remote:add_-t_main_x_../y archive:--remote=/tmp/x_HEAD push:--repo=../x submodule:set-url_a_/tmp/x http-push:-D_u_b"),
    ("deny", "commit-tree:x_-F_/etc/passwd mailsplit:-o/tmp_x"),
    ("deny", "clone:ssh://-oProxyCommand=x/y clone:--_-oProxyCommand=x:y fetch:ssh://u@-x/y merge:-s_evil_x pull:--strategy=evil cherry-pick:--strategy_x_y"),
    ("deny", "-c_a=b:status -ca=b:status --git-dir=/x:status --work-tree=/:log --exec-path=/x:log -C_..:status -C_/etc:log --paginate:log -p:log"),
    ("deny", "--bare:log --config-env=a=b:log --namespace=x:log --unheard-of:log remote-ext:x submodule--helper:x credential:fill"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "text"), [(expected, text) for expected, many in ROWS for text in many.split(" ")]
)
def test_commands_are_judged(expected, text):
    first, _, rest = text.partition(":")
    words = [*first.split("_"), *(rest.split("_") if rest else [])]
    verdict = git.judge(words)
    assert (verdict.decision, verdict.reason != "") == (expected, expected != "allow")


def test_a_message_is_never_read_as_a_command():
    for message in ("--amend", "a\nb\n--force", "git clean -fd", "-m x", "push --force"):
        assert git.judge(["commit", "-m", message]).decision == "ask"
        assert git.judge(["commit", f"-am{message}"]).decision == "ask"
        assert git.judge(["commit", f"--message={message}"]).decision == "ask"
        assert git.judge(["tag", "-a", "v1", "-m", message]).decision == "ask"


def test_the_reason_tells_the_verb():
    assert git.judge(["git", "push", "-qf"]).reason == "`git push` overwrites what others may have pushed."
    assert git.judge(["git", "stash", "drop"]).reason == "`git stash drop` throws stashed work away."
    assert git.judge(["a\0b"]).reason == "A word holds a NUL byte."


def test_destroying_may_be_allowed_by_name_but_never_reaching_out():
    for rule in git.DESTRUCTIVE:
        for text in rule.examples:
            assert decision(text, destructive=True) == "ask", text
    for text in ("push origin +main", "checkout .", "reset HEAD~1"):
        assert decision(text, destructive=True) == "ask", text
    for rule in git.FOREIGN:
        for text in rule.examples:
            assert decision(text, destructive=True) == "deny", text


def test_a_loss_is_found_behind_the_options_of_git_itself():
    for before in ("", "-C sub ", "-c a=b ", "--git-dir x --no-pager ", "--work-tree=/ "):
        assert git.find_loss(shlex.split(f"git {before}stash drop")) == "`git stash drop` throws stashed work away."
    for text in (
        "git",
        "git -C",
        "git stash pop",
        "git log --output=x",
        "git commit -m 'stash drop'",
        "git checkout main",
    ):
        assert git.find_loss(shlex.split(text)) is None, text
    assert git.find_loss(["git", "rebase", "main"]) == "`git rebase` rewrites history."
    assert git.find_loss(["git", "rebase", "main"], final=True) is None
    assert git.find_loss(["git", "stash", "clear"], final=True) == "`git stash clear` throws stashed work away."


def test_nothing_at_all_is_only_help():
    assert (decision(""), decision("git"), decision("/usr/bin/git")) == ("allow", "allow", "allow")


# The judge against git itself.

ENV = {
    "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "false", "GIT_PAGER": "cat", "GIT_ALLOW_PROTOCOL": "file", "LC_ALL": "C",
    **{f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}  # fmt: skip


def run(folder, *words):
    options = {"cwd": folder, "env": {**ENV, "HOME": str(folder)}, "stdin": subprocess.DEVNULL, "capture_output": True}
    return subprocess.run(["git", *words], **options, timeout=20, check=False)


@pytest.fixture
def repository(tmp_path):
    def make(name):
        folder = tmp_path / name / "repo"
        folder.mkdir(parents=True)
        run(folder, "init", "-q", "-b", "main")
        for content in ("1\n", "1\n2\n", "1\n2\n3\n"):
            (folder / "a.txt").write_text(content)
            (folder / "b.txt").write_text(content * 2)
            run(folder, "add", ".")
            run(folder, "commit", "-q", "-m", f"commit {len(content)}")
        run(folder, "branch", "side", "HEAD~1")
        run(folder, "tag", "v1", "HEAD~2")
        (folder / "a.txt").write_text("stashed\n")
        run(folder, "stash")
        (folder / "a.txt").write_text("changed\n")
        (folder / "b.txt").write_text("staged\n")
        run(folder, "add", "b.txt")
        (folder / "new.txt").write_text("untracked\n")
        assert run(folder, "stash", "list").stdout.count(b"\n") == 1
        return folder

    return make


def state(folder):
    """Every file around and in the repository; the index by what it holds, since looking may refresh it."""
    found = {"index": run(folder, "ls-files", "-s").stdout}
    for path in sorted(folder.parent.rglob("*")):
        if path.is_file() and path.name != "index":
            found[str(path.relative_to(folder.parent))] = path.read_bytes()
    return found


DANGERS = [
    "--output=x",
    "--outpu=../x",
    "-f",
    "-D",
    "-d",
    "-fd",
    "--hard",
    "--force",
    "--prune=now",
    "-o",
    "-B",
    "-m",
    "--ext-diff",
    "-x",
]
NAMES = [
    "HEAD",
    "HEAD~1",
    "main",
    "side",
    "v1",
    "a.txt",
    "b.txt",
    "new.txt",
    "x",
    "-",
    "stash@{0}",
    "HEAD:a.txt",
    "main..side",
    "--",
    "5",
    ".",
]
VALUES = ["1", "a", "HEAD", "--output=y", "a.txt", "1,2:a.txt", "%H", "-f", "side", "now"]


def commands(chance):
    """Words of git that look like reading, with dangers among them."""
    verbs = sorted(READS)
    while True:
        verb = chance.choice(verbs)
        known = parse_option_spec(READS[verb])
        words = verb.split()
        for _ in range(chance.randrange(4)):
            pick = chance.random()
            if pick < 0.5 and known.kinds:
                name = chance.choice(sorted(known.kinds))
                words.append(name)
                if known.kinds[name] in (":", "@"):
                    value = chance.choice(VALUES)
                    words[-1:] = (
                        [name, value]
                        if chance.random() < 0.5
                        else [f"{name}={value}" if name[:2] == "--" else name + value]
                    )
            else:
                words.append(chance.choice(DANGERS if pick > 0.85 else NAMES))
        yield words


def changing(folder, judged, count, seed):
    """Run so many commands that `judged` accepts; yield those after which the repository was not as before."""
    chance, before = random.Random(seed), state(folder)
    accepted = (words for words in commands(chance) if judged(words))
    for words in itertools.islice(accepted, count):
        run(folder, *words)
        if (after := state(folder)) != before:
            yield " ".join(words)
            before = after


def allowed(words):
    return git.judge(words).decision == "allow"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("count", [pytest.param(150, id="some"), pytest.param(3000, id="many", marks=pytest.mark.slow)])
def test_what_is_allowed_changes_nothing(repository, count):
    assert list(changing(repository("judged"), allowed, count, seed=4)) == []


def test_the_verb_alone_would_not_tell(repository):
    """The control: of the same commands, some that begin with a reading verb do change the repository."""
    assert any(changing(repository("naive"), lambda words: not {"-i", "--stdin"} & set(words), 150, seed=4))


def usage(verb):
    """Option to kind, as git's own help tells it."""
    text = subprocess.run(["git", *verb.split(), "-h"], env=ENV, cwd="/", capture_output=True, text=True, check=False)
    found = {}
    for line in (text.stdout + text.stderr).splitlines():
        match = re.match(r"    ((?:-\w, )?(?:--(?:\[no-\])?)?-?[\w-]+)(\[=?[<(.].*|(?: [<(\[{.].*)?)", line)
        if match is None or not line.startswith("    -"):
            continue
        kind = "?" if match[2].startswith("[") else ":" if match[2] else ""
        for name in match[1].split(", "):
            found[name.replace("[no-]", "")] = kind
    return found


@pytest.mark.parametrize("verb", sorted({**READS, **CHANGES}.keys() - {"rev-list"}))  # its help is no table
def test_options_take_values_as_git_says(verb):
    """An option wrongly thought to take a value would hide the word behind it."""
    ours = parse_option_spec(READS.get(verb) or CHANGES.get(verb, "")).kinds
    theirs = usage(verb)
    both = {name: kind.replace("@", ":") for name, kind in ours.items() if name in theirs}
    assert both == {name: theirs[name] for name in both}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("add a", "`git add` changes the repository."),
        ("submodule init", "`git submodule init` changes the repository."),
        ("no-such-verb", "`git no-such-verb` is not known to only look."),
        ("add --help", "`git add` may open its manual."),
        ("log --no-such-option", "`git log --no-such-option` is not known to only look."),
        ("log --format=%GS", "`git log --format` is not known to only look."),
        ("branch new", "`git branch` with a name changes the repository."),
        ("-C sub status", "`git -C` may lead into a repository of its own."),
    ],
)
def test_a_question_says_why_it_is_one(text, reason):
    assert (decision(text), git.judge(shlex.split(text)).reason) == ("ask", reason)


def test_values_stay_as_they_are():
    assert_values(module)
