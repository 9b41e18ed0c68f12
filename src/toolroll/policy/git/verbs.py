"""What git's verbs take: which options have values, and which only look.

A word is an option; a letter alone stands for a short one. Behind it: ":" takes a value, "@" takes a path, "?" may
have a value attached, "!" does more than look, "#" stands for numbers as in `log -5`. Of verbs that change
something, only options with values are named, and those that begin like a dangerous one.
"""

from __future__ import annotations

_DIFF = """
p u s U? R r t z a b w W B? M? C? D l: S: G: O@ I: c m # --patch --no-patch --unified? --raw --patch-with-raw --stat?
--stat-width: --stat-name-width: --stat-count: --stat-graph-width: --compact-summary --numstat --shortstat
--dirstat? --cumulative --summary --name-only --name-status --color? --no-color --color-moved? --no-color-moved
--color-moved-ws: --word-diff? --word-diff-regex: --color-words? --no-renames --rename-empty --no-rename-empty
--check --ws-error-highlight: --full-index --binary --abbrev? --no-abbrev --break-rewrites? --find-renames?
--find-copies? --find-copies-harder --irreversible-delete --diff-filter: --pickaxe-all --pickaxe-regex
--relative? --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space
--ignore-blank-lines --ignore-matching-lines: --inter-hunk-context: --function-context --exit-code --quiet
--no-ext-diff --no-textconv --ignore-submodules? --src-prefix: --dst-prefix: --no-prefix --default-prefix
--line-prefix: --ita-invisible-in-index --minimal --patience --histogram --anchored: --diff-algorithm: --cc
--output-indicator-new: --output-indicator-old: --output-indicator-context: --rotate-to: --skip-to: --find-object:
--submodule? --indent-heuristic --no-indent-heuristic --combined-all-paths --max-depth:
"""
_WALK = """
n: g i E F P --max-count: --skip: --since: --after: --until: --before: --author: --committer: --grep: --grep-reflog:
--all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp
--merges --no-merges --min-parents: --max-parents: --first-parent --not --all --branches? --tags? --remotes? --glob:
--exclude: --reflog --walk-reflogs --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse
--simplify-merges --ancestry-path? --date-order --author-date-order --topo-order --reverse --date: --parents
--children --left-right --left-only --right-only --cherry --cherry-mark --cherry-pick --graph --no-graph --oneline
--pretty? --format: --abbrev-commit --no-abbrev-commit --encoding: --notes? --no-notes --relative-date --source
--decorate? --no-decorate --decorate-refs: --decorate-refs-exclude: --follow --log-size --use-mailmap --no-mailmap
--mailmap --full-diff --diff-merges: --no-diff-merges --no-walk? --do-walk --in-commit-order
"""
_LOG = f"{_DIFF} {_WALK} L:"
_REFS = (
    "--contains: --no-contains: --merged: --no-merged: --points-at: --sort: --format: --color? --no-color --ignore-case"
)
_MERGE = "s: X: S? --strategy: --strategy-option: --cleanup: --gpg-sign? --log?"
_PICK = "m: X: S? --mainline: --strategy: --strategy-option: --cleanup: --gpg-sign?"
_FETCH = """
j: o: --upload-pack: --jobs: --depth: --shallow-since: --shallow-exclude: --deepen: --refmap: --server-option:
--negotiation-tip: --filter: --recurse-submodules? --progress --prefetch --update-shallow --unshallow
"""
_APPLY = "p: C: --exclude: --include: --whitespace: --directory@ --build-fake-ancestor:"

READS: dict[str, str] = {
    "annotate": "",
    "blame": """b c t l s e w f n p C? M? L: S@ --incremental --root --show-stats --show-name --show-number --porcelain
        --line-porcelain --show-email --ignore-rev: --ignore-revs-file@ --color-lines --color-by-age --minimal
        --abbrev? --date: --contents@! --since: --first-parent --reverse""",
    "branch": f"""v q r a l i t? u:! d! D! m! M! c! C! f! --list --all --remotes --verbose --show-current --abbrev?
        --no-abbrev --column? --no-column {_REFS} --set-upstream-to:! --track? --quiet --delete! --move! --copy!
        --force! --unset-upstream! --edit-description! --create-reflog!""",
    "bundle verify": "q --quiet",
    "bundle list-heads": "",
    "cat-file": "e p t s --allow-unknown-type --use-mailmap --mailmap --batch?! --batch-check?! --batch-command?!",
    "check-attr": "a z --all --cached --stdin --source:",
    "check-ignore": "q v z n --quiet --verbose --stdin --non-matching --no-index",
    "check-mailmap": "--stdin",
    "check-ref-format": "--branch --normalize --allow-onelevel --no-allow-onelevel --refspec-pattern",
    "cherry": "v --abbrev?",
    "clean": "d x X e: f q n i! --dry-run --force --exclude: --quiet --interactive!",
    "count-objects": "v H --verbose --human-readable",
    "describe": """--contains --all --tags --long --first-parent --abbrev? --exact-match --candidates: --match:
        --exclude: --always --dirty? --broken? --debug""",
    "diff": f"{_DIFF} --cached --staged --merge-base --base --ours --theirs 1 2 3 0",
    "diff-files": f"{_DIFF} q",
    "diff-index": f"{_DIFF} --cached --merge-base",
    "diff-tree": f"{_DIFF} --root --no-commit-id --pretty? --format: v --always --merge-base",
    "for-each-ref": f"s p {_REFS} --shell --perl --python --tcl --count: --exclude:",
    "fsck": """v --verbose --unreachable --dangling --no-dangling --tags --root --cache --reflogs --no-reflogs --full
        --no-full --connectivity-only --strict --lost-found! --progress --no-progress --name-objects""",
    "grep": """v i w a I r E G F P n h H l L z o c p W q C: B: A: e: f@ m: # --cached --untracked --exclude-standard
        --no-exclude-standard --no-recursive --recursive --invert-match --ignore-case --word-regexp --text
        --max-depth: --extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number --column
        --full-name --files-with-matches --name-only --files-without-match --null --only-matching --count --color?
        --no-color --break --heading --context: --before-context: --after-context: --threads: --show-function
        --function-context --and --or --not --quiet --all-match --max-count: --no-textconv""",
    "log": _LOG,
    "ls-files": """z t v f c d m o i s k u x: X@ --cached --deleted --modified --others --ignored --stage --killed
        --directory --no-empty-directory --eol --unmerged --resolve-undo --exclude: --exclude-from@
        --exclude-per-directory@ --exclude-standard --full-name --recurse-submodules --error-unmatch --with-tree:
        --abbrev? --debug --deduplicate --sparse --format:""",
    "ls-tree": "d r t z l --long --name-only --name-status --object-only --full-name --full-tree --format: --abbrev?",
    "merge-base": "a --all --octopus --independent --is-ancestor --fork-point",
    "name-rev": "--name-only --tags --refs: --exclude: --all --undefined --always --annotate-stdin",
    "range-diff": f"{_DIFF} --creation-factor: --no-dual-color --left-only --right-only",
    "reflog": _LOG,
    "reflog exists": "",
    "reflog show": _LOG,
    "remote": "v --verbose",
    "remote get-url": "--push --all",
    "rev-list": f"{_WALK} r t z # --count --objects --timestamp --header --abbrev? --max-age: --min-age: --bisect",
    "rev-parse": """q h --verify --quiet --short? --abbrev-ref? --symbolic --symbolic-full-name --all --branches?
        --tags? --remotes? --glob: --exclude: --git-dir --git-common-dir --git-path: --show-toplevel --show-prefix
        --show-cdup --show-superproject-working-tree --is-inside-work-tree --is-inside-git-dir --is-bare-repository
        --is-shallow-repository --absolute-git-dir --shared-index-path --revs-only --no-revs --flags --no-flags
        --default: --not --since: --until: --local-env-vars --sq --path-format:
        --show-object-format? --show-ref-format""",
    "shortlog": f"{_WALK} n s e c w? --summary --numbered --email --committer --group:",
    "show": _LOG,
    "show-branch": """a r g? --all --remotes --color? --no-color --more? --list --no-name --current --sha1-name
        --merge-base --independent --topo-order --topics --sparse --date-order --reflog?""",
    "show-ref": "q d s? --head --heads --tags --branches --dereference --hash? --verify --abbrev? --quiet --exists",
    "stash list": _LOG,
    "stash show": f"{_DIFF} --include-untracked --only-untracked --no-include-untracked",
    "status": """v s b z u? M? --verbose --short --branch --show-stash --ahead-behind --no-ahead-behind --porcelain?
        --long --null --untracked-files? --ignored? --ignore-submodules? --column? --no-column --no-renames
        --find-renames? --renames""",
    "symbolic-ref": "q m: d! --quiet --short --no-recurse --delete!",
    "tag": f"""l i n? m:! F@! u:! a! s! d! f! v! e! --list --column? --no-column {_REFS} --message:! --file@!
        --annotate! --sign! --delete! --force! --verify! --edit! --local-user:! --cleanup:! --create-reflog!""",
    "verify-pack": "v s --verbose --stat-only",
    "version": "--build-options",
    "whatchanged": _LOG,
    "worktree list": "v z --porcelain --verbose --expire:",
}
"""Verbs that only look, with the options that keep them so. Any other option makes it a question."""

LISTS = {"branch": 0, "tag": 0, "remote": 0, "reflog": 0, "symbolic-ref": 1}
"""Verbs that only read with at most so many names, unless `--list` is given."""

CHANGES: dict[str, str] = {
    "add": "--chmod: --pathspec-from-file@",
    "am": f"{_APPLY} S? --quoted-cr: --patch-format: --resolvemsg: --gpg-sign? --empty: --show-current-patch?",
    "apply": _APPLY,
    "archive": "o@ --format: --prefix: --add-file@ --add-virtual-file: --output@ --remote: --exec:",
    "bugreport": "o@ s: --output-directory@ --suffix:",
    "checkout": "b: B: t? --conflict: --track? --orphan: --pathspec-from-file@ --recurse-submodules? --overlay",
    "checkout-index": "--prefix@ --stage: --temp",
    "cherry-pick": _PICK,
    "clone": """j: o: b: u: c: --jobs: --template: --reference@ --reference-if-able@ --origin: --branch:
        --upload-pack: --depth: --shallow-since: --shallow-exclude: --separate-git-dir: --config: --server-option:
        --filter: --bundle-uri: --recurse-submodules? --recursive? --shared --sparse""",
    "commit": """F@ m: c: C: t@ S? u? --file@ --author: --date: --message: --reedit-message: --reuse-message: --fixup:
        --squash: --trailer: --template@ --cleanup: --gpg-sign? --untracked-files? --pathspec-from-file@ --all
        --allow-empty --allow-empty-message""",
    "commit-tree": "p: m: F@ S? --gpg-sign?",
    "config": """f@ t: z l e --file@ --blob: --type: --default: --comment: --value: --url: --get --get-all --get-regexp
        --get-urlmatch --get-color --get-colorbool --list --global --system --local --worktree --add --replace-all
        --unset --unset-all --rename-section --remove-section --edit""",
    "diagnose": "o@ s: --output-directory@ --suffix: --mode:",
    "fetch": f"{_FETCH} --all --append --atomic",
    "format-patch": f"""{_DIFF} {_WALK} n o@ v: S? --output-directory@ --subject-prefix: --to: --cc: --from? --suffix:
        --base:""",
    "gc": "--prune? --no-prune --max-cruft-size:",
    "hash-object": "t: --path:",
    "init": "b: --template: --separate-git-dir: --initial-branch: --object-format: --shared?",
    "ls-remote": "o: --upload-pack: --exec: --sort: --server-option: --exit-code",
    "mailsplit": "o@ d: f:",
    "merge": f"{_MERGE} m: F@ --message: --file@ --into-name:",
    "notes": "m: F@ c: C: s: --ref: --message: --file@ --strategy: --separator?",
    "pull": f"{_FETCH} {_MERGE} j? r? --jobs? --rebase? --no-rebase --signoff? --progress --all --append",
    "push": """o: --repo: --receive-pack: --exec: --push-option: --recurse-submodules: --signed? --force-with-lease?
        --all --progress --porcelain""",
    "read-tree": "--prefix@ --index-output@ --exclude-per-directory:",
    "rebase": """C: x: s: X: S? r? --whitespace: --exec: --strategy: --strategy-option: --onto: --gpg-sign? --empty:
        --rebase-merges?""",
    "remote add": "t: m: --track: --master: --mirror?",
    "reset": "U: --unified: --pathspec-from-file@ --recurse-submodules?",
    "restore": "s: --source: --conflict: --pathspec-from-file@",
    "revert": _PICK,
    "rm": "--pathspec-from-file@",
    "send-pack": "--receive-pack: --exec: --push-option: --signed? --force-with-lease? --remote: --all --stdin",
    "stash": "m: U: --message: --unified: --pathspec-from-file@",
    "submodule": "b: j: --branch: --name: --reference@ --depth: --jobs:",
    "switch": "c: C: t? --create: --force-create: --conflict: --orphan: --track? --recurse-submodules?",
    "update-index": "--chmod: --cacheinfo: --index-version: --force-write-index",
    "worktree": "b: B: --reason: --expire:",
}
"""Verbs that change something: how their words are read, not what is allowed."""

GROUPS = frozenset({
    "bisect", "bundle", "commit-graph", "credential", "hook", "lfs", "maintenance", "multi-pack-index", "notes",
    "reflog", "remote", "rerere", "sparse-checkout", "stash", "submodule", "worktree",
})  # fmt: skip
"""Verbs whose first name is a verb of its own."""
