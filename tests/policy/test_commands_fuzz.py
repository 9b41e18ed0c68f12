"""Random commands: whatever the policy calls read-only is run for real, and nothing may have changed afterwards.

The commands are made of the programs of the read-only table, harmless and harmful options and arguments, all kinds of
quoting and composition. Programs that do harm are stubs, first in PATH, that leave a mark.
"""

import os
import random
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from toolroll.policy.commands import STANDARD, judge
from toolroll.policy.shell.destructive.banned import STANDARD as BANNED
from toolroll.policy.shell.read_only.programs import is_echo

COUNT = 1000
STUBS = sorted(
    {name for row in BANNED for name in row.programs if "*" not in name}
    | {"rm", "mv", "cp", "tee", "dd", "touch", "chmod", "chown", "ln", "mkdir", "rmdir", "install", "truncate", "shred"}
    | {"python3", "python", "perl", "ruby", "node", "pr", "gzip"}
)
FILES = {
    "a": "b 2\na 1\na 1\ncurl x\n",
    "b": "touch c\n",
    "c.txt": "one,two\nthree,four\n",
    "d.py": "import os\n",
    "docs/curl.md": "# curl\n",
    "docs/-o": "x\n",
    "docs/my file": "y\n",
    "prog.awk": 'BEGIN { system("curl awk") }\n',
    "prog.sed": "w sedout\n1e curl sed\n",
    "--pre=curl": "z\n",
    "-delete": "z\n",
    "-oout": "z\n",
    "--output=out2": "z\n",
    "-i": "z\n",
    "names": "a\nb\n",
}
NAMES = ["a", "b", "c.txt", "d.py", "docs", "docs/curl.md", "missing", ".", "..", "./a", "docs/my file", "-"]
PROGRAMS = {
    "ls": ["-l", "-a", "-R", "--color=never", "-1", "-d", "--sort=size", "-I", "--bad"],
    "cat": ["-n", "-A", "-s", "--number", "-x"],
    "head": ["-3", "-n", "-c5", "--lines=2", "-q"],
    "tail": ["-3", "-n", "-c5", "--lines=2", "-n+2"],
    "wc": ["-l", "-c", "--words"],
    "stat": ["-c%s", "-t", "--format=%n"],
    "du": ["-s", "-h", "--max-depth=1", "-a"],
    "file": ["-b", "-i", "-C", "-m", "-f", "-z"],
    "tree": ["-L", "-a", "-o", "out", "-o out", "-R", "-H", "-J"],
    "sort": [
        *["-n", "-r", "-u", "-k2", "-t,", "-o", "-oout", "-o out", "--output=out", "--out=out", "-T.", "-ro"],
        *["--compress-program=curl", "-S1", "--output out", "-uoout", "-m"],
    ],
    "uniq": ["-c", "-d", "-f1", "-u", "-w", "-D"],
    "cut": ["-d,", "-f1", "-c1-3", "-s", "--fields=1"],
    "tr": ["a-z", "A-Z", "-d", "x", "-s"],
    "nl": ["-ba", "-w3"],
    "tac": [],
    "rev": [],
    "diff": ["-u", "-r", "-q", "-l", "--paginate", "-y", "-N"],
    "cmp": ["-s", "-l"],
    "comm": ["-12", "-3"],
    "paste": ["-d,"],
    "od": ["-c", "-A", "x"],
    "md5sum": ["--tag", "-c"],
    "sha256sum": ["-b"],
    "grep": ["-n", "-r", "-i", "-c", "-e", "x", "-f", "names", "--include=*.py", "-E", "(a|b)", "-o", "-A1", "curl"],
    "rg": [
        "-n",
        "--pre=curl",
        "--pre curl",
        "-z",
        "-l",
        "x",
        "--hostname-bin=curl",
        "--files",
        "-g",
        "*.py",
        "--no-config",
    ],
    "find": [
        *[
            "-name",
            "a",
            "-type",
            "f",
            "-maxdepth",
            "1",
            "-print",
            "-delete",
            "-exec",
            "curl",
            "{}",
            ";",
            "+",
            "-o",
            "!",
        ],
        *["-fprint", "fout", "-fls", "fout2", "-exec rm {} +", "-exec curl {} ;", "-exec grep -l x {} +", "-print0"],
        *["-ok", "-fprintf", "-newer", "-size", "+0", "-execdir touch x ;", "-exec cat {} ;", "-exec sort -o out {} ;"],
    ],
    "sed": [
        *[
            "-n",
            "p",
            "-e",
            "s/a/b/",
            "-i",
            "-i.bak",
            "w out",
            "1,2p",
            "s/a/b/w out",
            "s/a/curl/e",
            "1e curl x",
            "-E",
            "$d",
        ],
        *[
            "-f",
            "prog.sed",
            "--in-place",
            "s/[/]w out/x/",
            "/a/,/b/p",
            "r a",
            "s|a|b|g;p",
            "{p;w out\n}",
            "-s",
            "-ni",
            "e",
            "y/a/b/",
        ],
        *[
            "a hello",
            "a hello\nw out",
            "/x/!d",
            "s/a/b/;e curl x",
            "--expression=w out",
            "-ne",
            "s/x/y/gew out",
            "W out",
            "10q",
        ],
    ],
    "awk": [
        *[
            "{print $1}",
            "-F,",
            '{print > "out"}',
            'BEGIN{system("curl x")}',
            '{print | "curl x"}',
            "-f",
            "prog.awk",
            "-v",
            "x=1",
        ],
        *[
            "/a/",
            "$2 > 1",
            '{print $1 > "out" $2}',
            'BEGIN{"curl x" | getline}',
            "NR==1",
            "{n++} END {print n}",
            "-i",
            "inplace",
        ],
        *[
            '{printf "%s", $1 >> "out"}',
            'BEGIN{print 1 / 2 > "out"}',
            "{if ($2>1) print $1}",
            "/a|b/{print}",
            '{print /"/ > "out" /"/}',
        ],
    ],
    "echo": ["-n", "-e", "a", "$(curl x)", "`curl x`", "*", "$?", "~", "{a,b}", "a;b"],
    "printf": ["%s", "a", "-v", "x", "%n", "PATH", "%d"],
    "test": ["-f", "a", "-v", "a[$(curl x)]", "=", "b", "-d", "docs"],
    "[": ["-f", "a", "]", "-v", "x[$(curl x)]", "-d"],
    "basename": ["a/b", "-a", "-s", ".py"],
    "dirname": ["a/b"],
    "realpath": ["-m", "--relative-to=."],
    "readlink": ["-f"],
    "which": ["-a", "curl", "ls"],
    "type": ["-a", "curl", "ls"],
    "command": ["-v", "curl", "-V", "ls", "-p"],
    "pwd": ["-P"],
    "cd": ["docs", "..", "-", "-P"],
    "seq": ["3", "1", "5", "-s,"],
    "date": ["+%F", "-u", "-I"],
    "uname": ["-a", "-m"],
    "id": ["-u", "-n"],
    "true": ["x"],
    "jq": [".", "-r", "-n"],
    "strings": ["-n", "4"],
    "column": ["-t", "-s,"],
    "exit": ["1"],
}
WRAPPERS = [
    "timeout 5",
    "env",
    "nice",
    "nice -n 1",
    "time",
    "command",
    "!",
    "env A=1",
    "PATH=.",
    "LC_ALL=C",
    "nohup",
    "stdbuf -oL",
]
WRAPPERS += ["xargs", "xargs -n1", "xargs -I{}", "builtin", "exec", "busybox", "A=$(curl x)"]
ENDS = [
    "",
    "",
    "",
    "",
    "2>/dev/null",
    ">/dev/null 2>&1",
    "> out",
    ">> a",
    "2>&1",
    "< a",
    "<<< x",
    "&> out",
    ">| b",
    "2> err",
    "# curl",
]
ENDS += [
    "<(curl x)",
    "> >(curl x)",
    "1<>a",
    ">&out",
    "<<E\n$(curl x)\nE",
    "<<'E'\n$(curl x)\nE",
    "<<E\nx\nE",
    "\\\n-l",
    "< /dev/null",
    "$(curl x)",
    "*",
    "docs/*",
    "$x",
]
JOINS = [
    "|",
    "|",
    "|",
    "&&",
    "||",
    ";",
    "\n",
    "|&",
    "&",
    " ; ",
    "; curl x;",
    "&& rm -f a ||",
    "| tee out |",
    "| xargs",
    "| xargs rm |",
]


def quoted(choose, word):
    """The word in one of the ways to write it, or as it is."""
    way = choose.randrange(8)
    if way < 3:
        return shlex.quote(word)
    if way == 3 and "'" not in word:
        return f"'{word}'"
    if way == 4 and not set('"$`\\') & set(word):
        return f'"{word}"'
    if way == 5:
        return "$'" + "".join(f"\\x{byte:02x}" for byte in word.encode()) + "'"
    if way == 6 and len(word) > 2:
        return f"{shlex.quote(word[:1])}''{shlex.quote(word[1:])}"
    return word


def simple(choose):
    program = choose.choice(list(PROGRAMS))
    options = choose.sample(PROGRAMS[program], min(len(PROGRAMS[program]), choose.choice([0, 1, 1, 2, 2, 3])))
    words = options + choose.sample(NAMES, choose.choice([0, 1, 1, 2]))
    if choose.random() < 0.3:
        choose.shuffle(words)
    if program == "[" and choose.random() < 0.8:
        words = [word for word in words if word != "]"] + ["]"]
    shape = [
        program if choose.random() < 0.9 else choose.choice([f"/usr/bin/{program}", f"./{program}", f"\\{program}"])
    ]
    shape += [quoted(choose, word) for word in words]
    if choose.random() < 0.15:
        shape.insert(0, choose.choice(WRAPPERS))
    if choose.random() < 0.35:
        shape.append(choose.choice(ENDS))
    return " ".join(part for part in shape if part)


def command(choose):
    text = simple(choose)
    while choose.random() < 0.3:
        text = f"{text} {choose.choice(JOINS)} {simple(choose)}"
    way = choose.randrange(20)
    if way == 0:
        return f"bash -c {shlex.quote(text)}"
    if way == 1:
        return choose.choice(
            [f"({text})", f"{{ {text}; }}", f"if {text}; then echo x; fi", f"for i in 1; do {text}; done"]
        )
    return text


def commands():
    choose = random.Random(2024)
    return [command(choose) for _ in range(COUNT)]


class Ground:
    """A workspace with stub programs, where every change is seen."""

    def __init__(self, top):
        self.top, self.work, self.marks = top, top / "work", top / "marks"
        self.stubs = top / "stubs"
        self.stubs.mkdir(parents=True)
        for name in STUBS:
            stub = self.stubs / name
            stub.write_text(f'#!/bin/sh\necho {name} "$@" >> {self.marks}\n')
            stub.chmod(0o755)
        (top / "home").mkdir()
        (top / "tmp").mkdir()
        self.fill()

    def fill(self):
        shutil.rmtree(self.work, ignore_errors=True)
        self.marks.unlink(missing_ok=True)
        for name, text in FILES.items():
            file = self.work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def state(self):
        found = {}
        for folder, folders, files in os.walk(self.top):
            for name in [*folders, *files]:
                one = os.lstat(os.path.join(folder, name))
                found[folder, name] = (one.st_mode, one.st_size, one.st_mtime_ns, one.st_ino)
        del found[str(self.top), "tmp"]  # tac keeps a file there while it runs
        return found

    def effects(self, texts):
        """What each of the texts changes; one by one only where a batch of them has changed something."""
        found = {}
        for start in range(0, len(texts), 50):
            batch = texts[start : start + 50]
            if self.effect('for text; do (eval "$text"); done', *batch):
                for text in batch:
                    self.fill()
                    if effect := self.effect(text):
                        found[text] = effect
        return found

    def effect(self, text, *words):
        """What running the text has changed, or None."""
        before = self.state()
        environment = {
            "PATH": f"{self.stubs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.top / "home"),
            "TMPDIR": str(self.top / "tmp"),
            "LC_ALL": "C.UTF-8",
        }
        process = subprocess.Popen(
            ["bash", "-c", text, "bash", *words],
            cwd=self.work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return "it did not end"
        changed = {name for (_, name), _ in set(before.items()) ^ set(self.state().items())}
        return f"changed {sorted(changed)}" if changed else None


@pytest.fixture
def ground(tmp_path):
    return Ground(tmp_path / "ground")


def test_what_is_called_read_only_changes_nothing(ground):
    allowed = [text for text in commands() if judge(text).decision == "allow"]
    assert ground.effects(allowed) == {}
    assert len(allowed) > 400


def test_without_rules_for_arguments_the_same_commands_do_harm(ground):
    """The control: the harness sees what a list of names alone would let by."""
    loose = replace(STANDARD, read=tuple(replace(row, words=is_echo, loose=True, values=True) for row in STANDARD.read))
    allowed = [text for text in commands() if judge(text, loose).decision == "allow" != judge(text).decision]
    harmful = ground.effects(allowed[:50])
    assert len(harmful) > 5
    assert any("marks" in effect for effect in harmful.values())


def test_what_is_refused_by_name_really_runs(ground):
    """The labels of the table are true: the stub is called, unless a condition or a missing file keeps it from it."""
    elsewhere = re.compile(
        r"nsenter|chroot|unshare|runuser|setpriv|systemd-run|start-stop|script|screen|su |su$|sg |firejail|busybox|toybox"
        r"|parallel|watch|trace|flock|dbus|xvfb|tor|proxy|uv |poetry|bundle|capsh|numactl|choom|chrt|taskset|ionice|prlimit"
        r"|setarch|linux64|fakeroot|unbuffer|ksh|zsh|fish|/|while|until|for \(\(;;|exit|return|break|&$|[<>]\("
    )
    table = Path(__file__).parent / "shell" / "verdicts" / "banned.txt"
    rows = [text for text in table.read_text().splitlines()[1:] if not elsewhere.search(text)][::3]
    silent = []
    for text in rows:
        ground.effect(text)
        if not ground.marks.exists():
            silent.append(text)
        ground.fill()
    assert len(rows) > 40
    assert len(silent) < len(rows) / 5, silent
