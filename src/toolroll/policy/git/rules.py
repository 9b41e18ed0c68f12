"""The verbs and options of git that destroy work, and those that reach beyond the repository, with examples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class GitRule:
    """Something that is denied. The tests hold every example against the judge."""

    verbs: str
    """Separated by "|"; "stash drop" is a verb of `stash`."""
    options: str
    """Any of these makes it so; without any, the verb alone does."""
    reason: str
    examples: tuple[str, ...]
    unless: str = ""
    """Options that make it harmless after all."""
    also: str = ""
    """Options of which one must be there too."""
    fine: tuple[str, ...] = ()
    """Look alike, and are not denied."""
    final: bool = False
    """It destroys what git keeps lost work by: neither a commit nor a file of the working tree brings it back."""

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.verbs.split("|"))

    @cached_property
    def wanted(self) -> frozenset[str]:
        return frozenset(self.options.split())

    @cached_property
    def harmless(self) -> frozenset[str]:
        return frozenset(self.unless.split())

    @cached_property
    def with_one_of(self) -> frozenset[str]:
        return frozenset(self.also.split())


_DRY = "-n --dry-run"
_SHOWS = (
    "diff|diff-files|diff-index|diff-tree|log|show|whatchanged|reflog|stash|range-diff|format-patch|rev-list|shortlog"
)

DESTRUCTIVE: tuple[GitRule, ...] = (
    GitRule("push|send-pack|http-push", "-f --force --force-with-lease --force-if-includes --mirror",
        "overwrites what others may have pushed",
        ("push -f", "push -qf", "push --forc origin main", "push origin main --force-with-lease=main", "push --mirror"),
        unless=_DRY, fine=("push origin force", "push -o --force origin", "push --dry-run --force"), final=True),
    GitRule("push|send-pack|http-push", "-d -D --delete --prune", "deletes branches or tags of the remote",
        ("push origin --delete main", "push -d origin v1", "push --prune origin", "push origin --del main"),
        unless=_DRY, fine=("push origin delete",), final=True),
    GitRule("fetch|pull", "-f --force -u --update-head-ok", "overwrites local branches",
        ("fetch --force origin main:main", "pull -f"), unless="--dry-run",
        fine=("fetch origin main:main", "fetch --all")),
    GitRule("fetch|pull|remote update", "-p -P --prune --prune-tags",
        "deletes references that the remote no longer has",
        ("fetch -p", "fetch --prune-tags origin", "remote update --prune"), unless="--dry-run",
        fine=("fetch --progress", "fetch --dry-run -p")),
    GitRule("pull", "-r --rebase", "rewrites local commits", ("pull --rebase", "pull -r", "pull --reba=merges"),
        fine=("pull --rebase=false", "pull --ff-only")),
    GitRule("rebase", "", "rewrites history", ("rebase main", "rebase -i HEAD~3", "rebase --continue"),
        unless="--show-current-patch --quit", fine=("rebase --show-current-patch",)),
    GitRule("filter-branch|filter-repo|fast-import", "", "rewrites history",
        ("filter-branch --all", "filter-repo --force")),
    GitRule("commit", "--amend", "rewrites the last commit", ("commit --amend --no-edit", "commit --amen -m x"),
        unless="--dry-run", fine=("commit -m --amend", "commit -am 'no --amend'", "commit --all -m x")),
    GitRule("reset", "--hard --merge --keep", "throws uncommitted work or commits away",
        ("reset --hard", "reset -q --har", "reset --merge HEAD~1"), fine=("reset -- --hard", "reset -q HEAD a.py")),
    GitRule("clean", "", "deletes files that are in no commit", ("clean -fd", "clean -d -f", "clean -xdf", "clean"),
        unless=_DRY, fine=("clean -nd", "clean --dry-run -x")),
    GitRule("checkout|switch", "-f --force --discard-changes", "throws uncommitted work away",
        ("checkout -f", "checkout -qf main", "switch --discard main"), fine=("checkout -b force-x", "switch main")),
    GitRule("checkout|switch|worktree add", "-B -C --force-create", "moves a branch, so that its commits may be lost",
        ("checkout -B main", "switch -C main", "switch --force-c x", "worktree add -B x wt"), fine=("switch -c B",)),
    GitRule("checkout", "-p --patch --ours --theirs -2 -3 --no-overlay --pathspec-from-file",
        "overwrites files of the working tree", ("checkout --theirs a.py", "checkout -p", "checkout -2 a.py")),
    GitRule("restore", "", "overwrites files of the working tree", ("restore a.py", "restore --source=HEAD~1 ."),
        unless="-S --staged", fine=("restore --staged a.py", "restore -S .")),
    GitRule("restore", "-W --worktree -p --patch", "overwrites files of the working tree",
        ("restore -SW a.py", "restore --staged --work a.py")),
    GitRule("checkout-index", "-f --force", "overwrites files of the working tree", ("checkout-index -f -a",)),
    GitRule("read-tree", "", "overwrites the index, and files with -u",
        ("read-tree --reset -u HEAD~1", "read-tree HEAD"), unless=_DRY),
    GitRule("merge-file", "", "overwrites a file", ("merge-file a b c",), unless="-p --stdout",
        fine=("merge-file -p a b c",)),
    GitRule("branch", "-D -M -C -f --force", "moves or deletes a branch, merged or not",
        ("branch -D x", "branch -fd x", "branch -M x y", "branch -f main HEAD~5", "branch --delete --force x"),
        fine=("branch -d x", "branch feature/force", "branch --format=%(refname)")),
    GitRule("branch", "-r --remotes", "deletes what is known of a remote branch, merged or not",
        ("branch -dr origin/x",), also="-d --delete", fine=("branch -r", "branch -d x")),
    GitRule("tag", "-d --delete -f --force", "moves or deletes a tag", ("tag -d v1", "tag -f v1", "tag --del v1"),
        fine=("tag v1 -m -f", "tag --format=%(refname)")),
    GitRule("stash drop|stash clear", "", "throws stashed work away",
        ("stash drop", "stash clear", "stash drop stash@{1}"),
        fine=("stash push -m drop", "stash list", "stash save clear"), final=True),
    GitRule("merge|cherry-pick|revert|am|notes merge", "--abort --skip", "throws the work in progress away",
        ("cherry-pick --abort", "merge --abor", "am --skip"), fine=("merge --quit", "cherry-pick --continue")),
    GitRule("reflog expire|reflog delete|reflog drop", "", "destroys the record that lost commits are found by",
        ("reflog expire --expire=now --all", "reflog delete HEAD@{1}"), unless=_DRY, fine=("reflog show",),
        final=True),
    GitRule("prune|worktree prune|lfs prune", "", "deletes what nothing refers to any more",
        ("prune", "lfs prune --force"), unless=_DRY, fine=("prune -n",), final=True),
    GitRule("gc", "--prune", "deletes what nothing refers to any more", ("gc --prune=now", "gc --aggressive --prune"),
        fine=("gc", "gc --auto", "gc --no-prune", "gc --prune=never"), final=True),
    GitRule("repack", "-a", "deletes what nothing refers to any more", ("repack -ad", "repack -a -d"), also="-d"),
    GitRule("update-ref|fetch-pack", "", "moves references without any check", ("update-ref refs/heads/main HEAD~9",)),
    GitRule("replace", "", "shows other objects in place of the real ones", ("replace -d x", "replace a b"),
        unless="-l --list", fine=("replace -l",)),
    GitRule("symbolic-ref", "-d --delete", "deletes a reference", ("symbolic-ref -d HEAD",)),
    GitRule("rm|mv", "-f --force", "loses uncommitted work, or the file in the target's place",
        ("rm -rf src", "mv -f a b"), unless="-n --dry-run --cached", fine=("rm --cached a", "rm -r src", "rm -- -f")),
    GitRule("remote remove|remote rm|remote prune", "", "deletes a remote or what is known of its branches",
        ("remote remove origin", "remote rm x", "remote prune origin"), unless=_DRY),
    GitRule("worktree remove|worktree move|worktree add", "-f --force",
        "deletes or replaces a working tree with its changes", ("worktree remove --force x", "worktree remove -ff x"),
        fine=("worktree list", "worktree remove x")),
    GitRule("submodule deinit|submodule update|submodule add", "-f --force", "deletes changes in submodules",
        ("submodule deinit -f --all", "submodule update --init --force"), fine=("submodule update --init",)),
    GitRule("notes remove|notes prune|rerere clear|rerere forget|lfs migrate", "", "deletes what was recorded",
        ("notes remove HEAD", "rerere clear", "lfs migrate import"), unless=_DRY),
    GitRule("notes add|notes copy", "-f --force", "overwrites a note", ("notes add -f -m x",),
        fine=("notes add -m -f",)),
)  # fmt: skip
"""Work would be lost, here or on a remote. A caller may be allowed this by name."""

PUBLISHING: tuple[GitRule, ...] = (
    GitRule("push|send-pack|http-push|lfs push", "", "sends commits to a remote, where others see them",
        ("push", "push origin main", "lfs push origin main"), unless=_DRY, fine=("push --dry-run", "fetch")),
)  # fmt: skip
"""What no undo takes back, although nothing is lost here."""

FOREIGN: tuple[GitRule, ...] = (
    GitRule(_SHOWS, "--output", "writes a file",
        ("diff --output=x", "show --output /tmp/x", "log --outpu=x", "stash show --output=x"),
        fine=("diff HEAD -- --output=x", "diff --output-indicator-new=+", "log --grep=--output=x")),
    GitRule(f"{_SHOWS}|grep|blame|cat-file", "--ext-diff --textconv --filters", "runs the programs that are configured",
        ("diff --ext-diff", "show --textconv HEAD", "diff --ext", "cat-file --filters HEAD:a"),
        fine=("diff --no-ext-diff", "diff --text", "grep --text x")),
    GitRule(f"{_SHOWS}|merge|pull", "--show-signature --verify-signatures",
        "runs the program that is configured to check", ("log --show-signature",)),
    GitRule("diff|grep", "--no-index", "reads any file",
        ("diff --no-index a /etc/passwd", "diff --no-ind a b", "grep --no-index x"),
        fine=("check-ignore --no-index x",)),
    GitRule("grep", "-O --open-files-in-pager", "runs a program",
        ("grep -Otouch x", "grep --open-files-in-pager=touch x"), fine=("grep -e -O", "grep -n -- -O")),
    GitRule("clone|fetch|pull|ls-remote|fetch-pack|push|send-pack|archive", "--upload-pack --receive-pack --exec",
        "names a program to run",
        ("fetch --upload-pack=touch", "push --exec=touch .", "clone --upload touch h:x", "ls-remote --exec=x h:x"),
        fine=("ls-remote --exit-code origin",)),
    GitRule("clone", "-u -c --config --template --separate-git-dir --bundle-uri",
        "names a program, configuration or other place",
        ("clone -u touch h:x", "clone -c core.pager=x h:x", "clone --templ=/tmp/t h:x", "clone --conf a.b=x h:x"),
        fine=("clone https://example.com/c.git",)),
    GitRule("init", "--template --separate-git-dir", "brings hooks from elsewhere, or writes elsewhere",
        ("init --template=/tmp/t", "init --separate-git-dir=x"), fine=("init -b main",)),
    GitRule("config", "-e --edit", "opens an editor", ("config -e", "config --global --edit")),
    GitRule("rebase", "-x --exec", "runs a program after each commit", ("rebase -x touch HEAD~1",)),
    GitRule("bisect run|bisect visualize|bisect view|submodule foreach|hook"
        " run|for-each-repo|merge-index|merge-one-file", "", "runs a program",
        ("bisect run touch x", "submodule --quiet foreach pwd", "hook run pre-commit"), fine=("bisect log",)),
    GitRule("difftool|mergetool|gui|gitk|citool|instaweb|gitweb|web--browse|help",
        "-t -x -w -i --tool --extcmd --web --info", "opens another program", ("difftool -x touch -y", "help -w log"),
        fine=("help",)),
    GitRule("difftool|mergetool|gui|gitk|citool|instaweb|gitweb|web--browse", "", "opens another program",
        ("instaweb", "mergetool", "gui")),
    GitRule("upload-pack|upload-archive|receive-pack|daemon|http-backend|shell|cvsserver|fsmonitor--daemon", "",
        "starts a server", ("upload-pack .", "daemon --export-all")),
    GitRule("svn|p4|cvsimport|cvsexportcommit|archimport|quiltimport|send-email|imap-send|scalar", "",
        "hands over to another program", ("svn fetch", "send-email x.patch")),
    GitRule("credential|credential-store|credential-cache|credential-cache--daemon|credential-osxkeychain", "",
        "hands out stored passwords", ("credential fill",)),
    GitRule("maintenance start|maintenance stop|maintenance register|maintenance unregister", "",
        "changes what this machine runs by itself", ("maintenance start",), fine=("maintenance run",)),
    GitRule("remote set-url", "", "sends later pushes elsewhere", ("remote set-url origin https://example.com/x",),
        fine=("remote get-url origin",)),
    GitRule("apply", "--unsafe-paths --build-fake-ancestor", "writes outside the working tree",
        ("apply --unsafe-paths p.diff", "apply --unsafe p.diff"), fine=("apply --check p.diff",)),
    GitRule("fast-export", "--export-marks --import-marks --import-marks-if-exists",
        "reads or writes a file of its own", ("fast-export --export-marks=x --all",), fine=("fast-export --all",)),
    GitRule("lfs install|lfs uninstall|lfs filter-process|lfs smudge|lfs clean", "", "changes what git runs",
        ("lfs install --force",)),
)  # fmt: skip
"""Git would run a program, or read or write elsewhere. No caller is allowed this."""
