"""Programs that are missing."""

import shutil
import subprocess

import pytest

from toolroll.policy import programs


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("bash: line 1: foo: command not found\n", "foo"),
        ("bash: foo: command not found", "foo"),
        ("/bin/bash: line 3: foo-bar: command not found\n", "foo-bar"),
        ("./x.sh: line 7: g++: command not found\n", "g++"),
        ("bash: line 1: exec: foo: not found\n", "foo"),
        ("sh: 1: foo: not found\n", "foo"),
        ("/bin/sh: 12: npm: not found\n", "npm"),
        ("sh: 1: exec: foo: not found\n", "foo"),
        ("x.sh: 3: foo: not found\n", "foo"),
        ("sh: foo: not found\n", "foo"),
        ("/bin/ash: foo: not found\n", "foo"),
        ("zsh:1: command not found: foo\n", "foo"),
        ("zsh: command not found: foo\n", "foo"),
        ("x.zsh:3: command not found: foo\n", "foo"),
        ("exec: foo: not found\n", "foo"),
        ("env: 'node': No such file or directory\n", "node"),
        ("env: \u2018foo\u2019: No such file or directory\n", "foo"),
        ("/usr/bin/env: foo: No such file or directory\n", "foo"),
        ("bash: ./x: /usr/bin/ruby: bad interpreter: No such file or directory\n", "ruby"),
        ("bash: line 1: /usr/local/bin/node: No such file or directory\n", "node"),
        ("make: gcc: No such file or directory\n", "gcc"),
        ("fish: Unknown command: foo\n", "foo"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'git'\n", "git"),
        ("Error: spawn npx ENOENT\n    at x", "npx"),
        ("some output\nbash: line 2: jq: command not found\nmore\n", "jq"),
        ("", None),
        ("foo not found\n", None),
        ("Error: not found\n", None),
        ("404: page: not found\n", None),
        ("cat: x: No such file or directory\n", None),
        ("bash: script.sh: No such file or directory\n", None),
        ("bash: line 1: ./build: No such file or directory\n", None),
        ("make: Makefile: No such file or directory\n", None),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'\n", None),
        ("bash: line 1: $'a\\nb': command not found\n", None),
    ],
)
def test_what_shells_say(output, name):
    assert programs.find_missing(output) == name


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "sh"])
def test_what_real_shells_say(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    for text in ("no-such-program-x", "exec no-such-program-x", "echo a; no-such-program-x | cat"):
        done = subprocess.run([shell, "-c", text], capture_output=True, text=True, check=False)
        assert programs.find_missing(done.stderr) == "no-such-program-x", text


def test_what_env_says():
    done = subprocess.run(["env", "no-such-program-x"], capture_output=True, text=True, check=False)
    assert programs.find_missing(done.stderr) == "no-such-program-x"


def test_a_sentence_says_how_to_get_it():
    assert programs.how_to_install("jq") == (
        "'jq' is not installed. It can be had as the package 'jq' with apt, dnf, pacman, apk, zypper, brew."
    )
    assert programs.how_to_install("rg") == (
        "'rg' is not installed. It can be had as the package 'ripgrep' with apt, dnf, pacman, apk, zypper, brew; "
        "or: `cargo install ripgrep`; the `grep` tool needs none."
    )
    assert programs.how_to_install("jest") == "'jest' is not installed. It can be had as `npm install --save-dev jest`."
    assert programs.how_to_install("no-such-program-x") is None


COMMON = (
    "npm node bun python python3 pip git cargo go rg jq make gcc g++ cmake java mvn docker ruby php uv pnpm yarn deno clangd "
    "shellcheck npx tsc pytest ruff mypy gradle rustc dotnet"
)


def test_common_programs_are_known_and_none_is_piped_into_a_shell():
    said = {name: programs.how_to_install(name) for name in COMMON.split()}
    assert [name for name, text in said.items() if text is None] == []
    assert [
        name
        for name in programs._table()
        if any(bad in (programs.how_to_install(name) or "") for bad in ("curl ", "wget ", "| sh", "sudo"))
    ] == []
    assert all(packages or other for packages, other in programs._table().values())


@pytest.mark.parametrize(
    ("program", "has", "argv"),
    [
        ("rg", {"apt-get"}, ["apt-get", "install", "-y", "ripgrep"]),
        ("npm", {"brew"}, ["brew", "install", "node"]),
        ("cargo", {"pacman", "brew"}, ["pacman", "-S", "--noconfirm", "rust"]),
        ("jq", {"apk"}, ["apk", "add", "jq"]),
        ("jq", set(), None),
        ("jest", {"apt-get", "brew"}, None),
        ("uv", {"apt-get"}, None),
        ("no-such-program-x", {"apt-get"}, None),
    ],
)
def test_the_words_that_install_it(program, has, argv):
    assert programs.installer(program, has.__contains__) == argv


def test_long_outputs_take_no_time():
    for piece in ("a: ", "bash: ", "x", "sh: 1: ", ": not found", "command not found: ", "bash: line 1: "):
        programs.find_missing(piece * 30_000)
        programs.find_missing(f"{piece}\n" * 30_000)
