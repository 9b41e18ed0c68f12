"""Check, fix and format code."""

from __future__ import annotations

from typing import Annotated, Literal

from toolroll.host.context import Context
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text.dev.lint.results import Linted, linted
from toolroll.tool import Effect, tool


@tool(Effect.READ | Effect.WRITE | Effect.SHELL, rare=True)
def lint(
    ctx: Context,
    action: Annotated[Literal["check", "fix", "format"], "What to do."] = "check",
    path: Annotated[FilePath, "File or folder."] = ".",
    select: Annotated[str, Field(max_length=500), "Rules, such as E,F401."] = "",
    *,
    timeout: Annotated[float, Field(ge=1, le=600), "Seconds for each program."] = 60,
) -> Linted:
    """Check code with ruff (or flake8), eslint, prettier, gofmt, rustfmt; fix or format it, with a diff."""
    from toolroll.host.dev.lint import ask_all, choose, count_files, save

    if "\0" in select or select.startswith("-"):
        raise ToolError(ErrorCode.VALIDATION, f"`select` {select!r} is no list of rules: give codes such as E,F401.")
    linters, lacking = choose(ctx.projects, action, path, select, timeout)
    if action == "check":
        answers, looked = ask_all(linters, lambda one: one.check(), lacking)
        return linted(action, looked, count_files(linters, looked), [finding for some in answers for finding in some])
    rewrites, looked = ask_all(linters, lambda one: one.rewrite(one.engine.rewrite(action)), lacking)
    faults = [finding for _, wrong in rewrites for finding in wrong]
    changed, broken = save(ctx.projects, [draft for drafts, _ in rewrites for draft in drafts])
    if action == "fix" and changed:
        answers, after = ask_all(linters, lambda one: one.check())
        left = [finding for some in answers for finding in some]
        looked = after if after.failed else looked
    else:
        left = faults
    fixed = max(0, len(faults) - len(left)) if action == "fix" else 0
    checked = count_files(linters, looked)
    return linted(action, looked, checked, left, changed, fixed=fixed, note=broken)
