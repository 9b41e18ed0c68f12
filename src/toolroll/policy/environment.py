"""Build the environment of a command: no secrets, and settings that prevent prompts and pagers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType

from toolroll.policy.rules import Environment
from toolroll.policy.secrets import is_secret

_NONE: Mapping[str, str] = MappingProxyType({})
_OWN = "TOOLROLL_"
_OF_MODELS = ("OPENAI_", "ANTHROPIC_")  # they set up the agent's model, so commands get them only if they are named
# Of the process that started ours, and what would colour output in spite of NO_COLOR.
_LEFT_OUT = frozenset(("_", "PWD", "OLDPWD", "SHLVL", "FORCE_COLOR", "CLICOLOR_FORCE"))
_DEFAULT = Environment()

SETTINGS: Mapping[str, str] = MappingProxyType({
    "TERM": "dumb", "NO_COLOR": "1", "CLICOLOR": "0", "PYTHONUNBUFFERED": "1",
    # No pager: it would wait for a key.
    "PAGER": "cat", "GIT_PAGER": "cat", "GH_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat",
    "PSQL_PAGER": "cat", "AWS_PAGER": "",
    # No editor. "false" makes what needs one fail; with "true", a rebase would silently go ahead.
    "EDITOR": "false", "VISUAL": "false", "GIT_EDITOR": "false", "GIT_SEQUENCE_EDITOR": "false",
    "GIT_MERGE_AUTOEDIT": "no", "BROWSER": "false",
    # No questions.
    "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "false", "SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "never",
    "SUDO_ASKPASS": "false", "GCM_INTERACTIVE": "never", "GH_PROMPT_DISABLED": "1",
    "DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "POETRY_NO_INTERACTION": "1", "COMPOSER_NO_INTERACTION": "1", "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
    "DENO_NO_PROMPT": "1", "NO_UPDATE_NOTIFIER": "1", "NPM_CONFIG_FUND": "false",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false", "CLOUDSDK_CORE_DISABLE_PROMPTS": "1", "TF_INPUT": "0",
    "TF_IN_AUTOMATION": "1", "HOMEBREW_NO_AUTO_UPDATE": "1", "DOTNET_NOLOGO": "1", "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
})  # fmt: skip
"""Set for every command, so that no program asks, pages, edits or paints."""

TERMINAL: Mapping[str, str | None] = MappingProxyType({
    "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1",
    **dict.fromkeys((
        "GIT_TERMINAL_PROMPT", "GH_PROMPT_DISABLED", "DEBIAN_FRONTEND", "PIP_NO_INPUT", "POETRY_NO_INTERACTION",
        "COMPOSER_NO_INTERACTION", "COREPACK_ENABLE_DOWNLOAD_PROMPT", "DENO_NO_PROMPT",
        "CLOUDSDK_CORE_DISABLE_PROMPTS", "TF_INPUT",
    )),
})  # fmt: skip
"""Changed for a command in a terminal, which may ask; None is not set."""

_PATH = "/usr/local/bin:/usr/bin:/bin"


def child(
    parent: Mapping[str, str], *, temp: str, chosen: Environment = _DEFAULT, extra: Mapping[str, str] = _NONE
) -> dict[str, str]:
    """The environment of a command: all of ours but secrets, with `temp` for its temporary files.

    `chosen` is the operator's say. `extra` is what the caller adds on purpose; it is taken as it is.
    """
    given = {name: value for name, value in parent.items() if passes(name, value, chosen)}
    return {
        "LANG": "C.UTF-8",
        **given,
        "HOME": parent.get("HOME") or temp,
        "PATH": _path(parent.get("PATH", "")),
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), temp),
        **SETTINGS,
        **chosen.set,
        **extra,
    }


def combine(
    first: Mapping[str, str], exported: Mapping[str, str | None], more: Mapping[str, str | None]
) -> dict[str, str]:
    """The variables of a command: later ones replace earlier ones, and None unsets one."""
    return {name: value for name, value in {**first, **exported, **more}.items() if value is not None}


def passes(name: str, value: str, chosen: Environment) -> bool:
    """Whether a variable of ours is passed on to commands."""
    if name.startswith(_OWN) or name in _LEFT_OUT or "\0" in value:
        return False
    if _matches(name, chosen.pass_):
        return True
    if _matches(name, chosen.only):
        return _is_plain(name, value)
    return not chosen.only and not name.startswith(_OF_MODELS) and _is_plain(name, value)


def visible(parent: Mapping[str, str], chosen: Environment) -> dict[str, str]:
    """The variables that a model may be shown, by name: no secret, and what the operator sets and leaves."""
    given = {name: value for name, value in parent.items() if not chosen.only or _matches(name, chosen.only)}
    given |= chosen.set
    return {name: given[name] for name in sorted(given) if _is_plain(name, given[name])}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@lru_cache(maxsize=1024)  # the same few values, for every command
def _is_plain(name: str, value: str) -> bool:
    return not is_secret(name, value)


def _path(given: str) -> str:
    """Only absolute folders: with any other, a file in the working directory could stand in for a program."""
    return ":".join(folder for folder in given.split(":") if folder.startswith("/")) or _PATH
