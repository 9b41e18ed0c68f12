"""Files that other programs run by themselves: an editor, an agent, a shell or a CI system, without being asked to.

A write to one of them runs code outside every sandbox later. A pure table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolroll.policy import paths


@dataclass(frozen=True, slots=True)
class AutoRun:
    """One row: a file, or a folder with all that is in it, at any depth of the workspace."""

    path: str
    """A folder ends in a slash; `*` before the last name stands for any beginning of it."""
    by: str
    """The program that runs it."""

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.rstrip("/").split("/"))


_PATHS: dict[str, str] = {
    "Claude Code": ".claude/",
    "MCP clients": ".mcp.json",
    "Cursor": ".cursor/",
    "Codex": ".codex/",
    "Gemini CLI": ".gemini/",
    "opencode": ".opencode/ .opencode.json opencode.json opencode.jsonc",
    "Windsurf": ".windsurf/",
    "Continue": ".continue/",
    "Kiro": ".kiro/",
    "aider": ".aider.conf.yml",
    "VS Code": ".vscode/tasks.json .vscode/settings.json .vscode/launch.json .vscode/mcp.json *.code-workspace",
    "JetBrains IDEs": ".idea/runConfigurations/ .idea/workspace.xml .run/",
    "Zed": ".zed/",
    "Helix": ".helix/",
    "Vim": ".exrc .vimrc",
    "Neovim": ".nvimrc .nvim.lua",
    "Emacs": ".dir-locals.el",
    "dev containers": ".devcontainer/ .devcontainer.json",
    "gdb": ".gdbinit",
    "LLDB": ".lldbinit",
    "pdb": ".pdbrc .pdbrc.py",
    "Ruby consoles": ".irbrc .pryrc",
    "R": ".Rprofile",
    "Cargo": ".cargo/config.toml .cargo/config",
    "Yarn": ".yarnrc.yml .yarnrc",
    "npm": ".npmrc",
    "pnpm": ".pnpmfile.cjs .pnpmfile.mjs",
    "Maven": ".mvn/",
    "Bazel": ".bazelrc",
    "git, by submodules": ".gitmodules",
    "direnv": ".envrc .direnv/",
    "mise": ".mise.toml mise.toml",
    "git, by husky": ".husky/",
    "git, by core.hooksPath": ".githooks/",
    "git, by pre-commit": ".pre-commit-config.yaml",
    "git, by lefthook": "lefthook.yml lefthook.yaml lefthook-local.yml .lefthook.yml .lefthook/",
    "GitHub Actions": ".github/workflows/ .github/actions/",
    "Gitea Actions": ".gitea/workflows/",
    "Forgejo Actions": ".forgejo/workflows/",
    "GitLab CI": ".gitlab-ci.yml",
    "CircleCI": ".circleci/",
}
TABLE = tuple(AutoRun(path, by) for by, paths in _PATHS.items() for path in paths.split())

REPOSITORY = AutoRun(".git/", "git")
"""The row of a nested repository, which is recognised by the contents of a folder and not by its name."""
_IN_REPOSITORY = frozenset("HEAD config config.worktree commondir objects refs hooks info".lower().split())


def _short(name: str) -> str:
    """The 8.3 name of ".vscode" is "VSCODE~1"."""
    return f"{name.lower().lstrip('.')[:6]}~1"


_BY_NAME: dict[str, list[AutoRun]] = {}
for _row in TABLE:
    for _name in {_row.parts[0].lower(), _short(_row.parts[0])}:
        _BY_NAME.setdefault(_name, []).append(_row)
_BY_ENDING = [(row.path.removeprefix("*"), row) for row in TABLE if row.path.startswith("*")]


readings = lru_cache(maxsize=4096)(paths.readings)


def runs_by_itself(parts: Sequence[str]) -> AutoRun | None:
    """The row that a path belongs to, or None. A folder above a file of the table belongs to its row too."""
    for start, part in enumerate(parts):
        for name in readings(part):
            for row in _BY_NAME.get(name, ()):
                rest = zip(parts[start + 1 :], row.parts[1:], strict=False)
                if all(wanted.lower() in readings(one) for one, wanted in rest):
                    return row
            for ending, row in _BY_ENDING:
                if name.endswith(ending):
                    return row
    return None


def could_be_repository(parts: Sequence[str]) -> list[int]:
    """How many leading parts name a folder that a write here could make, or change as, a bare repository."""
    return [depth for depth, part in enumerate(parts) if part.lower() in _IN_REPOSITORY]
