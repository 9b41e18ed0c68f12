"""Locate the git repository of a call, and run git there with settings that run no other program."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from toolroll.host.files.openat import PATH
from toolroll.host.files.root import Root
from toolroll.host.runtime.dir_entries import closing_fd, reopen
from toolroll.host.sandbox.git.git_process import git_variables, list_programs
from toolroll.host.shell.command_launcher import SealedText, Word
from toolroll.host.shell.command_result import check_end
from toolroll.host.shell.git_identity import read_settings
from toolroll.policy.git import GitStake, find_stake
from toolroll.policy.paths import beneath
from toolroll.policy.programs import how_to_install
from toolroll.result import CouldNotLookError, ErrorCode, ToolError, asking
from toolroll.text.git.names import decode_output
from toolroll.text.git.requests import GitCommand, GitOutput, Plan, WorkingFile, make_refusal
from toolroll.text.git.settings import (
    SENTINEL,
    harmless_settings,
    knows_lazy_fetch,
    quiet_settings,
)
from toolroll.text.git.skipped import CHECKS_OUT, HOOKS, SIGNING, list_filters
from toolroll.text.git.stakes import describe_stake

if TYPE_CHECKING:
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.shell.shell import Shell

_MAX_OUTPUT_BYTES = 4_000_000  # of one answer
_TOO_OLD = (
    "Nothing was started: this is a partial clone, and {version} fetches what it lacks by programs that settings name, "
    "which git 2.39.4, 2.40.2, 2.41.1, 2.42.2, 2.43.4, 2.44.1 and 2.45 on can be kept from. Use `bash` for this "
    "remote, a folder, or ask the user for a newer git: git {verb}"
)
_FORCE = "Commit or stash them first. To go on all the same, set `force`."
_MAX_ERROR_CHARS = 20_000
_RETRY_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8)  # seconds; another call of the same kit may hold the index or a branch
_ONGOING = (
    ("rebase-merge", "rebase"), ("rebase-apply", "rebase"), ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert"), ("BISECT_LOG", "bisect"),
)  # fmt: skip
_USER_SETTINGS = r"^(user\.(name|email|useconfigonly)|core\.(autocrlf|excludesfile))$"
_MAX_IGNORE_BYTES = 100_000
_AUTHOR = frozenset(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE"))


@dataclass(frozen=True, slots=True)
class RepositoryLocation:
    """The paths of a repository."""

    top: str  # the absolute path of its working tree
    folder: str  # the absolute path of its own folder
    parts: tuple[str, ...] | None
    """The working tree beneath the workspace; None when the workspace is a folder of the working tree."""
    own: tuple[str, ...] = ()
    """The repository's own folder beneath the workspace."""
    common: tuple[str, ...] = ()
    """The folder beneath the workspace that all its working trees share, with settings and hooks."""


class Repository:
    """Runs git in one repository, for one call."""

    def __init__(self, place: RepositoryLocation, files: Workspace, shell: Shell, call: Call, seconds: float) -> None:
        """`shell` runs on behalf of the call."""
        self.place = place
        self._files, self._shell, self._call = files, shell, call
        self._seconds, self._until = seconds, time.monotonic() + seconds
        self._names: list[str] = []
        self._user: dict[str, Word] | None = None

    @classmethod
    def containing(cls, path: str, files: Workspace, shell: Shell, call: Call, seconds: float) -> Repository:
        """The nearest repository from a path upwards; raises ToolError when there is none in reach."""
        if shell.programs.find("git") is None:
            message = f"There is no git here. {how_to_install('git') or ''}".rstrip()
            raise CouldNotLookError("git", "it is not installed.", message=message, code=ErrorCode.UNSUPPORTED)
        name, root, parts = files.root.owner(files.key(path))
        place = locate(root, parts)
        if name and place.parts is not None:
            own, common = (name, *place.own), (name, *place.common)
            place = replace(place, parts=(name, *place.parts), own=own, common=common)
        return cls(place, files, shell, call, seconds)

    @property
    def prefix(self) -> str:
        """The prefix that git puts before paths of the workspace, when the working tree is larger."""
        if self.place.parts is not None:
            return ""
        inner = beneath(self._files.root.path, self.place.top) or ()
        return "".join(f"{name}/" for name in inner)

    @property
    def inside(self) -> str:
        """The path of the working tree in the workspace, with a slash, when it is a folder of it."""
        return "".join(f"{name}/" for name in self.place.parts or ())

    def relative(self, path: str) -> str:
        """A path of the workspace, relative to where git runs."""
        parts = self._files.key(path)
        own = self.place.parts or ()
        if parts[: len(own)] != own:
            raise ToolError(
                ErrorCode.VALIDATION,
                f"{path!r} is not in the repository at {'/'.join(own)!r}. Name files of one repository at a time.",
            )
        return "/".join(parts[len(own) :]) or "."

    def exists(self, path: str) -> bool:
        """Whether something is at a path of the workspace."""
        try:
            with self._files.root.place(self._files.where(path)[1], follow=False) as place:
                os.stat(place.name, dir_fd=place.fd, follow_symlinks=False)
        except (OSError, ToolError):
            return False
        return True

    def run_plan(self, plan: Plan) -> Any:
        """Run the commands of a plan, and return its result."""
        try:
            command = next(plan)
            while True:
                if isinstance(command, WorkingFile):
                    command = plan.send(self._read(command))
                    continue
                printed = self._run(command)
                if printed.status and self.place.parts is None and "not a git repository" in printed.errors:
                    raise self._out_of_reach()
                if printed.status and not command.may_fail:
                    raise make_refusal(printed, command.words[0])
                command = plan.send(printed)
        except StopIteration as done:
            return done.value

    def _run(self, command: GitCommand) -> GitOutput:
        """Run one command; retry while another git holds the index."""
        if command.changes and self.place.parts is None:
            raise self._out_of_reach()
        if command.changes and not command.force and (loss := self.find_loss(find_stake(("git", *command.words)))):
            raise ToolError(ErrorCode.CONFLICT, f"{loss} {_FORCE}")
        settings = self._settings(strict=command.strict)
        if command.folder and "extensions.partialclone" in self._names:
            version = self._git(GitCommand(("version",)), settings).out.strip()
            if not knows_lazy_fetch(version):
                raise ToolError(ErrorCode.UNSUPPORTED, _TOO_OLD.format(version=version, verb=command.words[0]))
        for pause in (*_RETRY_SECONDS, None):
            printed = self._git(command, settings)
            if pause is None or not (printed.status and ".lock': File exists" in printed.errors):
                break
            time.sleep(pause)
            self._call.token.check()
        if command.changes:
            skipped, filters = self._list_skipped(command.words[0]), self._list_filters(command.words[0])
            printed = replace(printed, skipped=tuple(skipped), filters=tuple(filters))
        if command.changes and any(name.startswith("include") for name in self._names):
            self._names = []  # another branch, or a file of the working tree, may have brought other settings
        return printed

    def _list_skipped(self, verb: str) -> Iterator[str]:
        """What git would have done besides, by the repository's settings and hooks."""
        signing = SIGNING.get(verb, "")
        # A name that is there twice is also one of the repository's, besides ours.
        given = [name for name in ("core.hookspath", signing) if self._names.count(name) > 1]
        values: dict[str, str] = {}
        if given and (signing or verb in HOOKS):
            words = ("config", "--show-scope", "-z", "--get-regexp", f"^({'|'.join(given)})$")
            fields = self._git(GitCommand(words), harmless_settings(self._names)).out.split("\0")
            rows = [
                row.partition("\n") for scope, row in zip(fields[::2], fields[1::2], strict=False) if scope != "command"
            ]
            values = {name: value if line else "true" for name, line, value in rows}
        if values.get(signing, "").lower() in ("true", "yes", "on", "1"):
            yield "signing"
        folder = values.get("core.hookspath")
        yield from (f"the hook {name!r}" for name in HOOKS.get(verb, ()) if self._is_hook(folder, name))

    def _list_filters(self, verb: str) -> Iterator[str]:
        """The filters of files that a command may have written."""
        # Git LFS is mostly set up in the user's settings, which are not read; it has a folder in the repository.
        names = {*list_filters(self._names), *(["lfs"] if self._stat(*self.place.common, "lfs") else [])}
        for name in sorted(names) if verb in CHECKS_OUT else ():
            listed = GitCommand(("ls-files", "-z", "--", f":(top,attr:filter={name})"))
            if self._git(listed, self._settings(strict=False)).out:
                yield name

    def _is_hook(self, folder: str | None, name: str) -> bool:
        """Whether git would run a hook of the workspace; `folder` is that of the settings."""
        where = (*self.place.common, "hooks") if folder is None else (*(self.place.parts or ()), folder)
        found = self._stat(*where, name)
        return found is not None and stat.S_ISREG(found.st_mode) and bool(found.st_mode & 0o111)

    def _stat(self, *parts: str) -> os.stat_result | None:
        """What is at a path of the workspace, also in a repository's own folder; None for nothing, and for outside."""
        try:
            with self._files.root.place("/".join(parts)) as place:
                return os.stat(place.name, dir_fd=place.fd)
        except (OSError, ToolError):
            return None

    def find_loss(self, stake: GitStake | None, cwd: str = ".") -> str:
        """What a command would lose, by name; "" when that is nothing. Paths at stake are relative to `cwd`."""
        if stake is None:
            return ""
        names = stake.names
        if stake.kind in ("changes", "untracked", "ignored") and cwd != ".":
            here = self.relative(cwd)
            names = tuple(one if one[:1] in ":/" else os.path.normpath(f"{here}/{one}") for one in names)
        return str(self.run_plan(describe_stake(stake.kind, stake.verb, names)))

    def quiet_settings(self) -> dict[str, Word]:
        """The settings with which git runs no program that those of the repository name."""
        self._names = self._names or self._list_names()
        return {**quiet_settings(self._names), **self._user_settings()}

    def _read(self, asked: WorkingFile) -> GitOutput:
        """The text of a file of the working tree, or of the repository's own folder."""
        if self.place.parts is None:
            raise self._out_of_reach()
        where = "/".join((*(self.place.own if asked.own else self.place.parts), asked.path))
        try:
            with os.fdopen(self._files.root.file(where), "rb") as file:
                data = file.read(_MAX_OUTPUT_BYTES)
        except (OSError, ToolError):
            return GitOutput("", "the file is not there", 1)
        return GitOutput("", "a binary file", 1) if b"\0" in data else GitOutput(decode_output(data))

    def _settings(self, *, strict: bool) -> dict[str, Word]:
        """Safe settings, given the names of the repository's own."""
        if not self._names:
            self._names = self._list_names()
        return {**harmless_settings(self._names, strict=strict), **self._user_settings()}

    def _list_names(self) -> list[str]:
        """List the names of all settings in force."""
        printed = self._git(GitCommand(("config", "--list", "--name-only", "-z")), harmless_settings(()))
        if printed.status and printed.errors:
            raise CouldNotLookError.of("git", make_refusal(printed, "config"))
        names = printed.out.split("\0")
        if printed.status or not printed.out:
            why = f"it ended with exit code {printed.status} and printed nothing."
            raise CouldNotLookError("git", why, "Ask the user to look at `git --version` there.")
        if SENTINEL not in names:
            why = "this one is too old to be run safely: 2.31 or newer is needed."
            raise CouldNotLookError("git", why, code=ErrorCode.UNSUPPORTED)
        return names

    def _git(self, command: GitCommand, settings: Mapping[str, Word]) -> GitOutput:
        changes = command.changes
        programs = list_programs(self._shell.programs, folder=command.folder)
        extra: dict[str, Word] = {
            **git_variables(settings, protocols=_list_protocols(command), programs=programs),
            # Named, so that nothing is searched for: neither another repository nor an owner matters then.
            "GIT_DIR": self.place.folder,
            "GIT_WORK_TREE": self.place.top,
            **({} if changes else {"GIT_OPTIONAL_LOCKS": "0"}),
            **{name: value for name, value in self._shell.environment.items() if name in _AUTHOR},
        }
        run = (
            partial(self._shell.words, reads=command.shown) if changes else self._shell.program
        )  # changes are approved
        text = () if command.text is None else (SealedText(command.text, "<content>"),)
        argv = [programs[0], *command.words, *text]  # there is no terminal, so it does not page
        how: dict[str, Any] = {"cwd": "/".join(self.place.parts or ()) or ".", "merge": False, "extra": extra}
        how |= {"writes": "repository" if changes else "nothing", "programs": programs}
        with asking("git"):
            ran = run(argv, seconds=max(1.0, self._until - time.monotonic()), **how)
        gate = ran.launched.gate if command.remote else None
        if ran.status and gate is not None:
            with gate.agreed_since(ran.launched.at, ran.launched.running.pid) as agreed:
                if agreed:  # it gave up while the user was asked about the host
                    self._until = time.monotonic() + self._seconds
                    ran = self._shell.program(argv, seconds=self._seconds, **how)
        with asking("git"):
            check_end(ran, _MAX_ERROR_CHARS)
        output = ran.launched.running.output
        ongoing = next((what for name, what in _ONGOING if os.path.lexists(f"{self.place.folder}/{name}")), "")
        return GitOutput(
            decode_output(output.read(0, _MAX_OUTPUT_BYTES)),
            ran.show_errors(_MAX_ERROR_CHARS).text,
            ran.status or 0,
            ongoing,
        )

    def _user_settings(self) -> dict[str, Word]:
        """The user's own settings that git keeps; the repository's take precedence."""
        if self._user is None:
            user = read_user_settings(self._shell.programs, self._shell.environment)
            name = str(user.get("user.name") or "") or self._shell.environment.get("USER") or "toolroll"
            user.setdefault("user.name", name)
            user.setdefault("user.email", f"{name.replace(' ', '.')}@localhost")
            self._user = user
        return {name: value for name, value in self._user.items() if name.lower() not in self._names}

    def _out_of_reach(self) -> ToolError:
        return ToolError(
            ErrorCode.PERMISSION,
            f"The repository is at {self.place.top!r}, above the workspace, and its .git is out of reach from here. "
            "Ask the user to open the workspace there.",
        )


def _list_protocols(command: GitCommand) -> str:
    return "none" if not command.remote else "file" if command.folder else "http:https"


def locate(root: Root, parts: tuple[str, ...]) -> RepositoryLocation:
    """The repository that a path of the workspace belongs to; raises ToolError when there is none."""
    for depth in range(len(parts), -1, -1):
        own = parts[:depth]
        try:
            folder, common = _own_folders(root, own)
        except (FileNotFoundError, NotADirectoryError):
            continue
        return RepositoryLocation("/".join((root.path, *own)), "/".join((root.path, *folder)), own, folder, common)
    above = root.path
    while above != "/":
        above = os.path.dirname(above)
        if os.path.lexists(os.path.join(above, ".git")):
            return RepositoryLocation(above, os.path.join(above, ".git"), None)
    raise ToolError(
        ErrorCode.NOT_FOUND,
        f"There is no git repository: neither {root.path!r} nor a folder above it holds a .git. Ask the user to run "
        f"`git init`{_others(root)}.",
    )


def _own_folders(root: Root, parts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where a working tree keeps its own files, and where those that all of them share are; OSError without a .git."""
    where = "/".join((*parts, ".git"))
    with closing_fd(root.open(where, PATH)) as fd:
        mode = os.fstat(fd).st_mode
        own = root.real(fd)
    if stat.S_ISREG(mode):
        own = _resolve_pointer(root, where, own[:-1], _text(root, where).removeprefix("gitdir:"))
    common = own
    with suppress(FileNotFoundError, NotADirectoryError):
        pointer = "/".join((*own, "commondir"))
        common = _resolve_pointer(root, pointer, own, _text(root, pointer))
    for folder in {common, own}:
        _check_parts(root, folder)
    return own, common


def _text(root: Root, where: str) -> str:
    with closing_fd(root.file(where)) as fd:
        return os.read(fd, 5000).decode("utf-8", "surrogateescape")


def _resolve_pointer(root: Root, where: str, start: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The folder of the workspace that the file `where` names; raises ToolError when it is none of the workspace."""
    target = os.path.join(root.path, *start, text.strip())
    inside = beneath(os.path.normpath(target), root.path)
    if inside is None:
        raise ToolError(
            ErrorCode.PERMISSION,
            f"{where!r} says that the repository's own files are in {target!r}, out of reach from this workspace. "
            "Ask the user to open the main working tree instead.",
        )
    return inside


def _check_parts(root: Root, folder: tuple[str, ...]) -> None:
    """Raise ToolError when a link leads from a repository's own folder out of the workspace."""
    for name in (".", "HEAD", "config", "index", "objects", "packed-refs", "refs"):
        with suppress(FileNotFoundError, NotADirectoryError):  # git itself reports an incomplete repository
            os.close(root.open("/".join((*folder, name)), PATH))


def _others(root: Root) -> str:
    """The repositories right beneath the workspace, as a hint."""
    with reopen(root.fd) as top, os.scandir(top) as entries:
        names = sorted(one.name for one in entries if one.is_dir(follow_symlinks=False))[:1000]
    found = [name for name in names if _is_repository(root, name)]
    return f", or give `files` in one of {', '.join(map(repr, found[:5]))}" if found else ""


def _is_repository(root: Root, name: str) -> bool:
    with suppress(OSError, ToolError):
        os.close(root.open(f"{name}/.git", PATH))
        return True
    return False


def read_user_settings(programs: Launcher, environment: Mapping[str, str]) -> dict[str, Word]:
    """The user's name and address, line endings and ignored files, as their own git settings have them."""
    found = read_settings(programs, environment, _USER_SETTINGS)
    names = ("user.name", "user.email", "core.autocrlf")
    settings: dict[str, Word] = {name: value for name, value in found.items() if name in names}
    home = environment.get("HOME", "")
    folder = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    ignore = os.path.expanduser(found.get("core.excludesfile", "")) or os.path.join(folder, "git", "ignore")
    with suppress(OSError, UnicodeDecodeError):
        fd = os.open(ignore, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            text = file.read(_MAX_IGNORE_BYTES).decode()
        if text.strip():
            settings["core.excludesFile"] = SealedText(text, "<the user's ignored files>")
    return settings
