"""What an approver's "always" should remember for one command: a rule no broader than what was seen."""

from __future__ import annotations

from toolroll.policy.shell.judging import Part
from toolroll.policy.shell.reading import FOLDERS
from toolroll.policy.shell.rows import Rule
from toolroll.policy.shell.words import names
from toolroll.policy.shell.wrappers import SHELLS, wrapper

ARITY: dict[str, int] = {
    **dict.fromkeys(
        names(
            "git cargo go pip pip3 docker podman make npm pnpm yarn bun kubectl helm terraform gh brew apt poetry uv"
            " dotnet gradle mvn mix rustup deno composer bundle rake gem conda hatch pdm just task nox tox cmake bazel"
        ),
        2,
    ),
    **dict.fromkeys(names("pytest ruff mypy eslint tsc prettier black isort flake8 pylint jest vitest ctest ninja"), 1),
    "npm run": 3,
    "pnpm run": 3,
    "yarn run": 3,
    "bun run": 3,
    "npm exec": 0,
    "uv run": 3,
    "uv pip": 3,
    "poetry run": 3,
    "docker compose": 3,
    "docker image": 3,
    "docker container": 3,
    "git stash": 3,
    "git remote": 3,
    "git worktree": 3,
    "git submodule": 3,
    "git config": 0,
    "go run": 0,
    "go generate": 0,
    "docker run": 0,
    "docker exec": 0,
    "kubectl exec": 0,
    "deno run": 0,
    "deno eval": 0,
    "bundle exec": 3,
    "cargo run": 2,
}
"""How many words name what a program does; 0: never as a prefix."""

NEVER = names(
    "rm rmdir unlink shred mv dd chmod chown python python3 node ruby perl php lua Rscript deno npx bunx pipx uvx"
    " osascript awk gawk sed find xargs eval exec source . ssh scp curl wget sudo su doas kill pkill killall tee"
    " git-shell export declare alias trap set unset parallel watch at batch crontab ed vim vi emacs nano gdb lldb"
    " expect"
)


def granted(part: Part) -> Rule | None:
    """The rule that lets this command pass next time, or None when no rule would be narrow enough."""
    words = part.words
    if part.decision != "ask" or not words:
        return None
    folder, slash, program = words[0].rpartition("/")
    if program in NEVER or program in SHELLS or _runs_others(words):
        return None
    if folder + slash not in FOLDERS:
        return _rule(words, exact=True)
    size = ARITY.get(" ".join((program, *words[1:2])), ARITY.get(program))
    if size == 0:
        return None
    if size is None or len(words) < size or any(word.startswith("-") for word in words[1:size]):
        return _rule((program, *words[1:]), exact=True)
    return _rule((program, *words[1:size]), exact=False)


def _runs_others(words: tuple[str, ...]) -> bool:
    row = wrapper(words[0].rpartition("/")[2])
    return row is not None and not row.verbs  # with verbs, what is run is a part of its own


def _rule(words: tuple[str, ...], exact: bool) -> Rule:
    return Rule("allow", words, reason="Approved before.", exact=exact)
