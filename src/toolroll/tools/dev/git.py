"""Look at and change the git repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from toolroll.host.context import Context
from toolroll.policy.paths import components, find_protected
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text.git.names import Action, Sub, default_sub, pathspec
from toolroll.tool import Effect, tool

if TYPE_CHECKING:
    from toolroll.host.git.repository import Repository

_MAX_FILES = 1000
_MAX_MESSAGE_BYTES = 100_000  # the kernel takes at most 128 KiB in one argument


def _looks(arguments: Mapping[str, Any]) -> bool:
    from toolroll.text.git.requests import only_reads

    action = arguments["action"]
    return only_reads(action, arguments.get("sub") or default_sub(action))


@tool(Effect.SHELL, rare=True, holds=True, looks=_looks, asks=("git", "the repository"))
def git(
    ctx: Context,
    action: Annotated[Action, "What to do."],
    files: Annotated[tuple[str, ...], Field(path=True), "Paths or globs; all when empty."] = (),
    ref: Annotated[str | None, "Commit, branch, tag or a..b; to show a file, commit:path."] = None,
    message: Annotated[str | None, "Of a commit, stash, merge or tag."] = None,
    sub: Annotated[
        Sub | None,
        "Of branch: list, create, switch, delete; stash: save (default), list, pop, drop; tag, worktree: list, create, "
        "delete; merge, rebase, "
        "cherry-pick, revert: continue, skip, abort; reset: soft, hard; restore: staged; resolve: ours, theirs; "
        "pull: rebase; push: delete.",
    ] = None,
    name: Annotated[str | None, "Branch or tag."] = None,
    remote: Annotated[str | None, "Its name; that of the branch by default."] = None,
    content: Annotated[str | None, "The whole file, to resolve a conflict."] = None,
    limit: Annotated[int, Field(ge=1, le=1000), "Commits to log."] = 10,
    lines: Annotated[str | None, "Lines to blame, as 10-20."] = None,
    force: Annotated[bool, "Also do what loses work."] = False,
    *,
    timeout: Annotated[float, Field(ge=0.1, le=600), "Seconds."] = 30,
) -> Any:
    """Use the git repository. Hooks and programs that its settings name are not run."""
    from toolroll.text.git.plans import make_plan
    from toolroll.text.git.requests import GitRequest

    ref, name, message, remote = ref or None, name or None, message or None, remote or None  # models fill in all
    _check(ref, {"name": name, "remote": remote}, message)
    _check_paths(ctx, files)
    repository = ctx.repository(files[0] if files and action != "worktree" else ".", timeout)
    named = [repository.relative(path) for path in files]
    needs_files = action == "add" or (action == "restore" and bool(named))
    everything = set(named) <= {"."} and not needs_files and not repository.prefix
    specs = () if everything else _pathspecs(repository, files or (".",))
    what = specs, named[0] if len(named) == 1 else "", ref, name, remote, message, content
    asked = GitRequest(
        action, sub or default_sub(action), *what, limit, lines, force, repository.prefix, repository.inside
    )
    return repository.run_plan(make_plan(asked))


def _check(ref: str | None, names: Mapping[str, str | None], message: str | None) -> None:
    """Raise ToolError for a value that could become an option, another word, or another name."""
    from toolroll.policy.git import check_value

    for value in filter(None, (ref, *names.values(), message)):
        value.encode()  # a lone surrogate raises its own error
    if ref is not None:
        check_value("ref", ref, "ref")
    for parameter, name in names.items():
        if name is not None:
            check_value(parameter, name, "branch")
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
