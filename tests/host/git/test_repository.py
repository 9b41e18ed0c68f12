"""No program that a repository names is run, whatever form of the git tool is called.

A shell is there for a remote that is a folder; also there no marker appears, neither in the workspace nor outside.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from toolroll.host.sandbox.choose import probe_tiers
from toolroll.policy.rules import Policy
from toolroll.text.git.plans import PLANS

PROGRAM_KEY = re.compile(
    r"(?:command|cmd|program|helper|driver|external|textconv|editor|pager|askpass|clean|smudge|process|fsmonitor|hook"
    r"|gitproxy|difffilter|uploadpack|receivepack|vcs|update|viewer|browser|\.path|pager\..*|alias\..*|twohead|octopus)$",
    re.IGNORECASE,
)
DATA_KEY = re.compile(
    r"^(?:include|receive\.|rerere|advice|color|rebase|fsck|http|column)|fsmonitorhook|dbdriver|cachetextconv"
    r"|skipDefaultUpdate|<condition>|update(?:Refs|ServerInfo)$",
    re.IGNORECASE,
)
NAMES = {
    "<driver>": "x",
    "<name>": "far",
    "<tool>": "x",
    "<cmd>": "log",
    "<format>": "openpgp",
    "alias.*": "alias.merge-x",
}
MORE = """
[extensions] worktreeConfig = true
[commit] gpgSign = true
[tag] gpgSign = true
[log] showSignature = true
[merge] verifySignatures = true
[submodule] recurse = true
[diff] submodule = diff
[status] submoduleSummary = true
[gc] auto = 1
[protocol] allow = always
[include] path = ../evil.cfg
[includeIf "onbranch:b*"] path = ../evil.cfg
[trailer "x"] command = MARKER
[hook "x"] command = MARKER
    event = pre-commit
[filter "y"] process = MARKER
[credential "https://localhost"] helper = !MARKER
[imap] tunnel = MARKER
[sendemail] smtpServer = MARKER
[instaweb] httpd = MARKER
[init] templateDir = ../template
[url "ext::MARKER "] insteadOf = evil:
[remote "rewritten"] url = evil:x
[remote "outside"] url = ext::MARKER x
[branch "main"] mergeOptions = -s MARKER
"""
HOOKS = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "post-index-change",
]
CALLS = [
    "status", "diff", "log", "show", "blame files=a.x", "conflicts", "branch", "stash sub=list", "tag", "worktree",
    "! add files=a.x", "! add", "add files=plain", "commit message=m", "stash sub=drop", "TOUCH", "stash sub=save", "stash sub=pop",
    "stash sub=save", "branch sub=create name=b1", "TOUCH", "branch sub=switch name=b1", "branch sub=switch name=main",
    "branch sub=delete name=b1", "tag sub=create name=t message=m", "tag sub=delete name=t",
    "worktree sub=create name=w2 files=w", "worktree sub=delete files=w", "TOUCH", "restore files=.",
    "restore sub=staged files=.", "reset", "reset sub=soft", "reset sub=hard",
    "merge ref=other", "conflicts", "resolve sub=ours files=a.x", "resolve content=x files=a.y",
    "resolve sub=theirs files=plain", "merge sub=continue", "reset sub=hard ref=HEAD~1",
    "merge ref=other", "merge sub=abort",
    "rebase ref=other", "resolve sub=theirs", "rebase sub=continue", "reset sub=hard ref=ORIG_HEAD",
    "rebase ref=other", "rebase sub=skip", "rebase sub=abort",
    "cherry-pick ref=other", "resolve sub=theirs", "cherry-pick sub=continue", "reset sub=hard ref=HEAD~1",
    "cherry-pick ref=other", "cherry-pick sub=skip", "cherry-pick ref=other", "cherry-pick sub=abort",
    "revert ref=HEAD", "revert ref=other", "revert sub=skip", "revert ref=other", "revert sub=abort",
    "revert ref=other", "resolve sub=theirs", "revert sub=continue",
    "fetch remote=far", "pull remote=far ref=main", "pull sub=rebase remote=far ref=main",
    "! fetch remote=legacy", "! fetch remote=foreign", "! fetch remote=branches", "! fetch remote=rewritten",
    "! push remote=outside name=main", "push remote=far name=main", "push sub=delete remote=far name=w",
    "PLANT rebase", "! rebase sub=continue", "! rebase sub=skip", "! rebase sub=abort", "PLANT pick",
    "! cherry-pick sub=continue", "! cherry-pick sub=skip", "! cherry-pick sub=abort",
]  # fmt: skip

# One call of each kind: what is run in each test run. The whole list is for `make soak`.
QUICK = [
    "status", "diff", "! add files=a.x", "add files=plain", "commit message=m", "stash sub=save", "stash sub=pop",
    "stash sub=save", "branch sub=create name=b1", "branch sub=switch name=b1", "branch sub=switch name=main",
    "merge ref=other", "resolve sub=theirs", "merge sub=continue", "fetch remote=far", "push remote=far name=main",
    "! fetch remote=rewritten", "PLANT rebase", "! rebase sub=continue",
]  # fmt: skip

PLAIN = (
    "status", "diff --ext-diff", "diff --no-ext-diff", "-c commit.gpgSign=false commit -a -m m", "commit -m n",
    "fetch far", "push far HEAD:x", "fetch legacy", "fetch foreign", "fetch branches",
    "-c protocol.ext.allow=always fetch rewritten", "merge -s x other", "add a.y", "-p log",
    "reset --hard", "-c commit.gpgSign=false -c merge.verifySignatures=false merge other", "checkout -f other",
)  # fmt: skip
EXPECTED = [
    "-git-post-index-change",
    "-git-pre-commit",
    "-git-pre-push",
    "-git-reference-transaction",
    "far-alternateRefsCommand",
    "far-pre-receive",
    "filter-x-clean",
    "filter-x-smudge",
    "branches",
    "legacy",
    "more",
    "of-the-working-tree",
    "remote-far-receivepack",
    "remote-far-uploadpack",
    "sub-fsmonitor",
]

OTHERS = ("bubblewrap", "none")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def run(folder, *words, check=True):
    own = ["-c", "user.name=Ann", "-c", "user.email=ann@localhost", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *own, *words], cwd=folder, check=check, capture_output=True, text=True, timeout=60)
    return done.stdout


def begin(folder):
    """Branches that conflict, a remote in a folder, a submodule, a change and a stash."""
    folder.mkdir(exist_ok=True)
    run(folder, "init", "-q", "-b", "main", "--template=")
    for number, words in enumerate((["-b", "other"], ["main"], ["-b", "w"])):
        change(folder, number)
        run(folder, "add", ".")
        run(folder, "commit", "-q", "-m", f"number {number}")
        run(folder, "checkout", "-q", *words)
    run(folder, "checkout", "-q", "main")
    run(folder, "init", "-q", "--bare", "-b", "main", "--template=", "far")
    run(folder, "push", "-q", "./far", "main~1:refs/heads/main", "main~1:refs/heads/w")
    run(folder, "submodule", "add", "-q", str(folder / "far"), "sub")
    run(folder, "commit", "-q", "-m", "with a submodule")
    (folder / "plain").write_text("stashed\n")
    run(folder, "stash")
    change(folder, "changed")


def begin_in(ws, where):
    """That repository at the top of the workspace, further down, as a submodule, or as a linked working tree."""
    folder = ws / where
    if where != "tree":
        begin(folder)
    if where == "sub":
        run(ws, "init", "-q", "--template=")
        run(ws, "submodule", "add", "-q", f"{folder}/.git", "sub")
        run(ws, "submodule", "absorbgitdirs")
    if where == "tree":
        begin(ws / "origin")
        run(ws / "origin", "checkout", "-q", "-f", "--detach")
        run(ws / "origin", "worktree", "add", "-q", "../tree", "main")
        shutil.copytree(ws / "origin/far", folder / "far")
        run(folder, "submodule", "update", "-q", "--init")
        change(folder, "changed")
    return folder


def own_folders(folder):
    """Where a working tree keeps its own files, and where those that all of them share are."""
    names = run(folder, "rev-parse", "--absolute-git-dir", "--git-common-dir").split("\n")
    return folder / names[0], (folder / names[1]).resolve()


def change(folder, content):
    for name in ("a.x", "a.y", "plain"):
        (folder / name).write_text(f"{content}\n")


def traces(folder):
    return folder / "traces", Path(os.environ["HOME"]).parent / "outside"


def program(folder, name):
    """A program that leaves a trace of its own outside the workspace, and one in it."""
    path = folder / "programs" / re.sub(r"\W", "-", name)
    path.parent.mkdir(exist_ok=True)
    for one in traces(folder):
        one.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n" + "".join(f": > '{one}/{path.name}'\n" for one in traces(folder)) + "exit 0\n")
    path.chmod(0o755)
    return path


def make_hostile(folder):
    """Put a program of its own behind every setting that names one, and every file that git runs or reads commands of."""
    own, common = own_folders(folder)
    keys = subprocess.run(["git", "help", "--config"], check=True, capture_output=True, text=True).stdout.split()
    keys = [key for key in keys if PROGRAM_KEY.search(key) and not DATA_KEY.search(key)]
    assert {"core.fsmonitor", "filter.<driver>.clean", "remote.<name>.uploadpack", "core.alternateRefsCommand"} < set(
        keys
    )
    text = MORE.replace("MARKER", str(program(folder, "more")))
    for named in keys:
        key = named
        for before, name in NAMES.items():
            key = key.replace(before, name)
        section, _, last = key.rpartition(".")
        above, _, inner = section.partition(".")
        inner = "foreign" if last == "vcs" else inner
        title = f'{above} "{inner}"' if inner else above
        shell = "!" if above in ("alias", "submodule") else ""
        behind = "; git upload-pack" if last == "uploadpack" else "; git receive-pack" if last == "receivepack" else ""
        text += f'[{title}] {last} = "{shell}{program(folder, key)}{behind}"\n'
    (folder / "evil.cfg").write_text(f'[diff "y"] textconv = {program(folder, "included")}\n')
    with open(common / "config", "a") as file:
        file.write(f'[remote "far"]\nurl = ./far\nfetch = +refs/heads/*:refs/remotes/far/*\n{text}')
    for name, repository in {"-git": common, "sub": own / "modules/sub", "far": folder / "far"}.items():
        for hook in HOOKS:
            (repository / "hooks").mkdir(exist_ok=True)
            shutil.copy(program(folder, f"{name}-{hook}"), repository / "hooks" / hook)
    for repository in (own / "modules/sub", folder / "far"):
        with open(repository / "config", "a") as file:
            for key in ("fsmonitor", "alternateRefsCommand", "sshCommand"):
                file.write(f"[core] {key} = {program(folder, f'{repository.name}-{key}')}\n")
    (folder / "far/objects/info/alternates").write_text(f"{common}/objects\n")
    (own / "config.worktree").write_text(f"[core] fsmonitor = {program(folder, 'of the working tree')}\n")
    (common / "info").mkdir(exist_ok=True)
    (common / "info/attributes").write_text("*.x filter=x diff=x merge=x\n*.y filter=y diff=y\n")
    (common / "info/exclude").write_text("programs\ntraces\nevil.cfg\nfar\ntemplate\n")
    for name, text in {"remotes/legacy": "URL: ext::{}\nPull: main\n", "branches/branches": "ext::{}\n"}.items():
        (common / name).parent.mkdir(exist_ok=True)
        (common / name).write_text(text.format(program(folder, os.path.basename(name))))
    (folder / "template/hooks").mkdir(parents=True)
    shutil.copy(program(folder, "template"), folder / "template/hooks/post-checkout")


def plant(folder, what):
    """A rebase or cherry-pick that nobody began."""
    own, line = own_folders(folder)[0], f"exec {program(folder, f'exec of {what}')}\n"
    head = (own / "HEAD").read_text()
    if what == "pick":
        files = {"sequencer/todo": line, "sequencer/head": head, "sequencer/opts": "[options] strategy = x\n"}
    else:
        files = {"head-name": head, "onto": head, "orig-head": head, "git-rebase-todo": line, "interactive": ""}
        files = {f"rebase-merge/{name}": text for name, text in files.items()}
    for name, text in files.items():
        (own / name).parent.mkdir(exist_ok=True)
        (own / name).write_text(text)


def settings(folder):
    """What makes git run programs or look elsewhere."""
    names = "config", "config.worktree", "hooks/*", "info/*", "objects/info/*", "remotes/*", "branches/*"
    own = [*own_folders(folder), *(own_folders(folder)[0] / "modules").glob("*")]
    return {str(path): path.read_bytes() for one in own for name in names for path in one.glob(name)}


def test_programs_of_the_repository_run_by_plain_git(tmp_path):
    """The control of the tests below."""
    folder = tmp_path / "ws"
    begin(folder)
    make_hostile(folder)
    for words in PLAIN:
        run(folder, *words.split(), check=False)
    plant(folder, "rebase")
    run(folder, "rebase", "--continue", check=False)
    ran = {path.name for path in (tmp_path / "outside").iterdir()}
    assert ran >= set(EXPECTED), sorted(set(EXPECTED) - ran)


PLACES = ["", "nested", "sub", "tree"]
WHOLE = [(sandbox, where) for sandbox in ("landlock", "bubblewrap", "none") for where in PLACES]
FORMS = [("landlock", "", QUICK), *(pytest.param(*one, CALLS, marks=pytest.mark.soak) for one in WHOLE)]


@pytest.mark.parametrize(("sandbox", "where", "calls"), FORMS)
def test_no_form_of_the_git_tool_runs_a_program_of_the_repository(open_kit, ws, sandbox, where, calls):
    if not any(one.tier == sandbox and one.works for one in probe_tiers()):
        pytest.skip(f"no {sandbox} here")
    folder = begin_in(ws, where)
    make_hostile(folder)
    forms, before = set(), settings(folder)
    kit = open_kit(policy=Policy(sandbox=sandbox, allow_destructive=True))
    for number, text in enumerate(calls):
        refused, (action, *more) = text.startswith("!"), text.removeprefix("!").split()
        if action == "PLANT":
            plant(folder, more[0])
        if action == "TOUCH":
            change(folder, number)
        if action.isupper():
            continue
        given = dict(one.split("=", 1) for one in more)
        if where and action == "worktree":
            continue  # of the outermost repository only
        files = [f"{where}/{one}".strip("/") for one in given.get("files", "").split() or [""] if one or where]
        arguments = {"action": action, "force": True, **given, "files": files}
        result = kit.call("git", arguments)
        assert (result.status == "error") == refused, (arguments, result.text)
        forms.add((action, given.get("sub", "list")))
        ran = [path.name for one in traces(folder) for path in one.iterdir()]
        assert ran == [], arguments
    assert calls is QUICK or forms >= {form for form in PLANS if form[0] != "worktree" or not where}
    assert settings(folder) == before


@pytest.mark.parametrize(
    "tool", ["tests", *(pytest.param(one, marks=pytest.mark.soak) for one in ("lint", "diagnostics"))]
)
def test_no_other_tool_runs_such_a_program(open_kit, ws, confined, tool):
    begin(ws)
    make_hostile(ws)
    (ws / "test_it.py").write_text("def test_it(): pass\n")
    open_kit(policy=Policy(sandbox=confined)).call(tool, {})
    assert [path.name for one in traces(ws) for path in one.iterdir()] == []
