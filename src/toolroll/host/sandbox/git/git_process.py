"""Start git: the programs that it may execute, its environment, and how toolroll itself asks it something."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from toolroll.host.files.system import real
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import DEVNULL, PIPE, STDOUT, AccessRules, Launcher, read_output
from toolroll.host.runtime.state import create_nameless_file
from toolroll.text.git.settings import ENVIRONMENT, harmless_settings, setting_variables

Value = TypeVar("Value")

_SHELL, _FALSE = "/bin/sh", "/bin/false"
_SHELLS = ("busybox", "toybox")
_OWN_PROGRAMS = ("lib/git-core", "libexec/git-core", "lib64/git-core")
# Of the settings that run programs, those that a git which takes none from its environment (before 2.31) knows too.
_WORDS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")


def list_programs(launcher: Launcher, *, folder: bool = False) -> tuple[str, ...]:
    """What git may execute: itself, its own programs, and a shell only to reach a remote that is a `folder`."""
    git = launcher.program("git")
    above = os.path.dirname(os.path.dirname(git))
    own = [path for name in _OWN_PROGRAMS if os.path.isdir(path := f"{above}/{name}")]
    # Settings name "false" in the place of a program that must fail. Where that is a shell too, git cannot start it.
    fails = [] if os.path.basename(real(_FALSE) or "") in _SHELLS else [_FALSE]
    return (git, *own, *fails, *([_SHELL] if folder else ()))


def git_variables(
    settings: Mapping[str, Value], *, protocols: str = "none", programs: Sequence[str] = ()
) -> dict[str, str | Value]:
    """The environment of a git: these settings, none of the user or the machine, and only these protocols.

    A repository that lacks objects fetches none: git 2.45 knows that by itself, an older one has no protocol for it.
    Where it may execute only its `programs`, it looks for others nowhere else.
    """
    own: dict[str, str | Value] = {**ENVIRONMENT, "GIT_ALLOW_PROTOCOL": protocols, **setting_variables(settings)}
    return {**own, "PATH": f"{os.path.dirname(programs[0])}:/bin"} if programs else own


def ask_git(
    launcher: Launcher,
    words: Sequence[str],
    access: AccessRules,
    seconds: float,
    *,
    given: bytes = b"",
    cwd: str = "/",
    variables: Mapping[str, str | None] | None = None,
    protocols: str = "none",
    errors: bool = False,
) -> tuple[bytes, int | None]:
    """What git prints, given this on its stdin, and its exit status; None if it did not end in time and was killed.

    `variables` are set over those of `git_variables`, None for one that is not to be there; `errors` are printed too.
    """
    programs = list_programs(launcher, folder=protocols == "file")
    own = {**git_variables(harmless_settings(()), protocols=protocols, programs=programs), **(variables or {})}
    how: dict[str, Any] = {"stdout": PIPE, "stderr": STDOUT if errors else DEVNULL}
    how["env"] = {name: value for name, value in own.items() if value is not None}
    argv = [launcher.program("git"), *_WORDS, *words]
    opened = os.open(cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with closing_fd(opened) as folder, closing_fd(create_nameless_file(given)) as stdin:
        process = launcher.start(argv, replace(access, programs=programs), cwd=folder, stdin=stdin, **how)
    printed, ended = read_output(process, seconds)
    return printed, process.returncode if ended else None
