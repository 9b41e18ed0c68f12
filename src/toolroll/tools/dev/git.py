"""Look at and change the git repository."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from toolroll.host.context import Context
from toolroll.policy.paths import components, find_protected
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text.git.names import Action, Sub, pathspec
from toolroll.tool import Effect, tool

if TYPE_CHECKING:
    from toolroll.host.git.repository import Repository

_MAX_FILES = 1000
_MAX_MESSAGE_BYTES = 100_000  # the kernel takes at most 128 KiB in one argument


@tool(Effect.SHELL, rare=True, holds=True)
def git(
    ctx: Context,
    action: Annotated[Action, "What to do."],
    files: Annotated[tuple[str, ...], Field(path=True), "Paths or globs; all when empty."] = (),
    ref: Annotated[str | None, "Commit, branch, tag or a..b; to show a file, commit:path."] = None,
    message: Annotated[str | None, "Of a commit or stash."] = None,
    sub: Annotated[Sub, "Of branch: create, switch, delete; of stash: save, pop, drop."] = "list",
    name: Annotated[str | None, "Branch."] = None,
    limit: Annotated[int, Field(ge=1, le=1000), "Commits to log."] = 10,
    lines: Annotated[str | None, "Lines to blame, as 10-20."] = None,
    force: Annotated[bool, "Also do what loses work."] = False,
    *,
    timeout: Annotated[float, Field(ge=0.1, le=600), "Seconds."] = 30,
) -> Any:
    """Use the git repository. Hooks and programs that its settings name are not run."""
    from toolroll.text.git.plans import GitRequest, make_plan

    ref, name, message = ref or None, name or None, message or None  # models fill in what they do not need
    _check(ref, name, message)
    _check_paths(ctx, files)
    repository = ctx.repository(files[0] if files else ".", timeout)
    named = [repository.relative(path) for path in files]
    everything = set(named) <= {"."} and action != "add" and not repository.prefix
    asked = GitRequest(
        action=action,
        sub=sub,
        files=() if everything else _pathspecs(repository, files or (".",)),
        path=named[0] if len(named) == 1 else "",
        ref=ref,
        name=name,
        message=message,
        limit=limit,
        lines=lines,
        force=force,
        prefix=repository.prefix,
        inside=repository.inside,
    )
    return repository.run_plan(make_plan(asked))


def _check(ref: str | None, name: str | None, message: str | None) -> None:
    """Raise ToolError for a value that could become an option, another word, or another name."""
    from toolroll.policy.git import check_value

    for value in filter(None, (ref, name, message)):
        value.encode()  # a lone surrogate raises its own error
    if ref is not None:
        check_value("ref", ref, "ref")
    if name is not None:
        check_value("name", name, "branch")
    if message is not None:
        check_value("message", message, "message")
        if len(message.encode()) > _MAX_MESSAGE_BYTES:
            raise ToolError(ErrorCode.TOO_LARGE, f"`message` is longer than {_MAX_MESSAGE_BYTES} bytes. Shorten it.")


def _check_paths(ctx: Context, paths: Sequence[str]) -> None:
    """Raise ToolError for a path that leaves the workspace or is a pattern of git's own."""
    from toolroll.policy.git import check_value

    if len(paths) > _MAX_FILES:
        raise ToolError(ErrorCode.TOO_LARGE, f"More than {_MAX_FILES} `files`. Name folders or globs instead.")
    for path in paths:
        relative = ctx.files.root.text(ctx.files.where(path)[1])
        if find_protected(components(relative)):
            raise ToolError(ErrorCode.SECURITY, f"`files`: {path!r} is not in the working tree. Name project files.")
        # "./:x" is a file whose name begins with a colon.
        plain = not relative.startswith(":") or path.startswith(":")
        check_value("files", relative if plain else f"./{relative}", "path")


def _pathspecs(repository: Repository, paths: Sequence[str]) -> tuple[str, ...]:
    """The paths as git takes them; raises ToolError for an option in the place of one."""
    specs = []
    for path in paths:
        exists = repository.exists(path)
        if path.startswith("-") and not exists:
            raise ToolError(
                ErrorCode.VALIDATION,
                f"`files`: {path!r} looks like an option, and there is no such file. Options are not taken here; "
                f"for a file that is gone write './{path}'.",
            )
        specs.append(pathspec(repository.relative(path), exists=exists))
    return tuple(specs)
