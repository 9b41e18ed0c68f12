"""Files that other programs run by themselves: an editor, an agent, a shell or a CI system, without being asked to.

A write to one of them runs code outside every sandbox later. A pure table with an example beside each row.
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
    example: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.rstrip("/").split("/"))


TABLE: tuple[AutoRun, ...] = (
    AutoRun(".claude/", "Claude Code", ".claude/settings.json"),
    AutoRun(".mcp.json", "MCP clients", ".mcp.json"),
    AutoRun(".cursor/", "Cursor", ".cursor/mcp.json"),
    AutoRun(".codex/", "Codex", ".codex/config.toml"),
    AutoRun(".gemini/", "Gemini CLI", ".gemini/settings.json"),
    AutoRun(".opencode/", "opencode", ".opencode/plugin/a.ts"),
    AutoRun(".opencode.json", "opencode", ".opencode.json"),
    AutoRun("opencode.json", "opencode", "sub/opencode.json"),
    AutoRun("opencode.jsonc", "opencode", "opencode.jsonc"),
    AutoRun(".windsurf/", "Windsurf", ".windsurf/workflows/a.md"),
    AutoRun(".continue/", "Continue", ".continue/config.ts"),
    AutoRun(".kiro/", "Kiro", ".kiro/hooks/a.kiro.hook"),
    AutoRun(".aider.conf.yml", "aider", ".aider.conf.yml"),
    AutoRun(".vscode/tasks.json", "VS Code", ".vscode/tasks.json"),
    AutoRun(".vscode/settings.json", "VS Code", "sub/.vscode/settings.json"),
    AutoRun(".vscode/launch.json", "VS Code", ".vscode/launch.json"),
    AutoRun(".vscode/mcp.json", "VS Code", ".VSCode/MCP.json"),
    AutoRun("*.code-workspace", "VS Code", "project.code-workspace"),
    AutoRun(".idea/runConfigurations/", "JetBrains IDEs", ".idea/runConfigurations/a.xml"),
    AutoRun(".idea/workspace.xml", "JetBrains IDEs", ".idea/workspace.xml"),
    AutoRun(".run/", "JetBrains IDEs", ".run/a.run.xml"),
    AutoRun(".zed/", "Zed", ".zed/tasks.json"),
    AutoRun(".exrc", "Vim", ".exrc"),
    AutoRun(".nvimrc", "Neovim", ".nvimrc"),
    AutoRun(".nvim.lua", "Neovim", ".nvim.lua"),
    AutoRun(".dir-locals.el", "Emacs", "src/.dir-locals.el"),
    AutoRun(".devcontainer/", "dev containers", ".devcontainer/devcontainer.json"),
    AutoRun(".devcontainer.json", "dev containers", ".devcontainer.json"),
    AutoRun(".envrc", "direnv", "sub/.envrc"),
    AutoRun(".direnv/", "direnv", ".direnv/bin/a"),
    AutoRun(".mise.toml", "mise", ".mise.toml"),
    AutoRun("mise.toml", "mise", "mise.toml"),
    AutoRun(".husky/", "git, by husky", ".husky/pre-commit"),
    AutoRun(".githooks/", "git, by core.hooksPath", ".githooks/pre-commit"),
    AutoRun(".pre-commit-config.yaml", "git, by pre-commit", ".pre-commit-config.yaml"),
    AutoRun("lefthook.yml", "git, by lefthook", "lefthook.yml"),
    AutoRun("lefthook.yaml", "git, by lefthook", "lefthook.yaml"),
    AutoRun("lefthook-local.yml", "git, by lefthook", "lefthook-local.yml"),
    AutoRun(".lefthook.yml", "git, by lefthook", ".lefthook.yml"),
    AutoRun(".lefthook/", "git, by lefthook", ".lefthook/pre-push/a.sh"),
    AutoRun(".github/workflows/", "GitHub Actions", ".github/workflows/ci.yml"),
    AutoRun(".github/actions/", "GitHub Actions", ".github/actions/a/action.yml"),
    AutoRun(".gitea/workflows/", "Gitea Actions", ".gitea/workflows/ci.yml"),
    AutoRun(".forgejo/workflows/", "Forgejo Actions", ".forgejo/workflows/ci.yml"),
    AutoRun(".gitlab-ci.yml", "GitLab CI", ".gitlab-ci.yml"),
    AutoRun(".circleci/", "CircleCI", ".circleci/config.yml"),
)

REPOSITORY = AutoRun(".git/", "git", "sub/.git/hooks/pre-commit")
"""The row of a nested repository, which is recognised by the contents of a folder and not by its name."""
_IN_REPOSITORY = frozenset("HEAD config config.worktree commondir objects refs hooks info".lower().split())


def _short(name: str) -> str:
    """The 8.3 name of ".vscode" is "VSCODE~1"."""
    return f"{name.lower().lstrip('.')[:6]}~1"


_BY_NAME = {
    name: [row for row in TABLE if name in (row.parts[0].lower(), _short(row.parts[0]))]
    for row in TABLE
    for name in (row.parts[0].lower(), _short(row.parts[0]))
}
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
