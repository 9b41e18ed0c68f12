"""The options that several commands have, and the kit that they ask for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from toolroll.cli.command import Option, UsageError
from toolroll.policy.rules import MODES, Confinement

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.catalogue import Choice
    from toolroll.kit import Kit


def _dialects() -> Sequence[str]:
    from toolroll import dialects

    return dialects.names()


DIALECT = Option(("--dialect", "-d"), "Tool language (native).", "NAME", "native", choices=_dialects)
MODE = Option(
    ("--mode", "-m"),
    "What tools may do: code or thinking (code).",
    "NAME",
    "code",
    choices=lambda: list(MODES),
)
SANDBOX = Option(
    ("--sandbox",),
    "How commands are confined: required, bubblewrap, landlock or none (required).",
    "NAME",
    "required",
    choices=lambda: list(get_args(Confinement)),
)
WORKSPACE = Option(("--workspace", "-C"), "Folder to work in (the current one).", "DIR", ".")
WIDE = Option(("--wide",), "Let the workspace be a home folder, or hold one; secrets in it stay out of reach.")
JSON = Option(("--json",), "Print JSON for programs.")


def open_kit(args: Namespace, tools: Choice | None = None, *, listing: bool = False) -> Kit:
    """The kit that the options ask for, showing these tools; a UsageError when its workspace cannot be opened.

    `listing`: it is only asked which tools there are, so that any folder will do.
    """
    if not args.workspace:  # an unset variable in a script must not mean the current folder
        raise UsageError("The workspace is empty. Name a folder with -C DIR.")
    # Half of the start-up time, which help and completion scripts need not wait for.
    from toolroll.kit import Kit, preset

    confinement: Confinement = getattr(args, SANDBOX.name, "required")
    wide = listing or args.wide
    try:
        return Kit(
            args.workspace,
            getattr(args, DIALECT.name, "native"),
            getattr(args, MODE.name, "code"),
            policy=replace(preset("standard"), sandbox=confinement, wide=wide),
            tools=tools,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise cannot_open(args.workspace, error) from None


def cannot_open(workspace: str, error: OSError) -> UsageError:
    """The error for a workspace that is not there or that the user may not enter."""
    why = os.strerror(error.errno or 0)
    return UsageError(f"Cannot open the workspace {workspace!r}: {why}. Name a folder with -C DIR.")


def given(args: Namespace) -> list[str]:
    """Those of the options above that are not at their default, to be said again in a suggested command."""
    words = []
    for option in (DIALECT, MODE, SANDBOX, WORKSPACE):
        value = getattr(args, option.name)
        if value != option.default:
            words += [option.flags[0], value]
    return [*words, WIDE.flags[0]] if args.wide else words
