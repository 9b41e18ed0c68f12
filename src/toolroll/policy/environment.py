"""Build the environment of a command: allowed variables, no secrets, and settings that prevent prompts and pagers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from toolroll.policy.secrets import is_secret
from toolroll.policy.variables import words

_NONE: Mapping[str, str] = MappingProxyType({})

_ALLOWED = words("""
    HOME USER LOGNAME SHELL LANG LANGUAGE TZ CI HOSTNAME
    JAVA_HOME JDK_HOME JRE_HOME M2_HOME MAVEN_HOME GRADLE_HOME GRADLE_USER_HOME ANT_HOME KOTLIN_HOME SCALA_HOME
    SDKMAN_DIR
    GOPATH GOROOT GOBIN GOCACHE GOMODCACHE CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN
    VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION PIPX_HOME UV_CACHE_DIR UV_PYTHON_INSTALL_DIR
    POETRY_HOME
    NVM_DIR NVM_BIN NODE_ENV FNM_DIR VOLTA_HOME PNPM_HOME BUN_INSTALL DENO_DIR DENO_INSTALL COREPACK_HOME
    RBENV_ROOT RUBY_ROOT GEM_HOME GEM_PATH RVM_PATH PHPENV_ROOT COMPOSER_HOME ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR
    DOTNET_ROOT NUGET_PACKAGES ANDROID_HOME ANDROID_SDK_ROOT FLUTTER_ROOT DART_SDK JULIA_DEPOT_PATH R_HOME
    GHCUP_INSTALL_BASE_PREFIX STACK_ROOT OPAM_SWITCH_PREFIX NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE LLVM_HOME
    CUDA_HOME CUDA_PATH
    HOMEBREW_PREFIX HOMEBREW_CELLAR HOMEBREW_REPOSITORY CMAKE_PREFIX_PATH PKG_CONFIG_PATH
    SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
    XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
""")
"""Variables that are passed on. Those that begin with LC_ are too."""

_OF_HOME = ("XDG_",)  # with another home, these would lead back to the old one

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

_PATH = "/usr/local/bin:/usr/bin:/bin"


def child(
    parent: Mapping[str, str], *, home: str | None = None, temp: str, extra: Mapping[str, str] = _NONE
) -> dict[str, str]:
    """The environment of a command, from ours by the list above, with `temp` for its temporary files.

    `extra` is what the caller adds on purpose; it is taken as it is.
    """
    given = {name: value for name, value in parent.items() if _passes(name, value)}
    if home is not None:
        given = {name: value for name, value in given.items() if not name.startswith(_OF_HOME)}
    return {
        "LANG": "C.UTF-8",
        **given,
        "HOME": home or given.get("HOME") or temp,
        "PATH": _path(parent.get("PATH", "")),
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), temp),
        **SETTINGS,
        **extra,
    }


def _passes(name: str, value: str) -> bool:
    return (name in _ALLOWED or name.startswith("LC_")) and "\0" not in value and _is_plain(name, value)


@lru_cache(maxsize=256)  # the same few values, for every command
def _is_plain(name: str, value: str) -> bool:
    return not is_secret(name, value)


def _path(given: str) -> str:
    """Only absolute folders: with any other, a file in the working directory could stand in for a program."""
    return ":".join(folder for folder in given.split(":") if folder.startswith("/")) or _PATH
