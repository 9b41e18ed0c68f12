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
    from toolroll.host.dev.lint import check_all, choose, save

    if "\0" in select or select.startswith("-"):
        raise ToolError(ErrorCode.VALIDATION, f"`select` {select!r} is no list of rules: give codes such as E,F401.")
    linters, note = choose(ctx.projects, action, path, select, timeout)
    names = [one.engine.name for one in linters]
    checked = len({file for one in linters for file in one.files})
    if action == "check":
        findings, names, failed = check_all(linters)
        return linted(action, names, checked, findings, note="\n".join(filter(None, [note, failed])))
    drafts, faults = [], []
    for one in linters:
        rewrite = one.engine.fix if action == "fix" else one.engine.format
        assert rewrite is not None, "only engines that can do it are chosen"
        new, wrong = one.rewrite(rewrite)
        drafts += new
        faults += wrong
    changed, broken = save(ctx.projects, drafts)
    left = [finding for one in linters for finding in one.check()] if action == "fix" and changed else faults
    fixed = max(0, len(faults) - len(left)) if action == "fix" else 0
    return linted(action, names, checked, left, changed, fixed=fixed, note="\n".join(filter(None, [broken, note])))
