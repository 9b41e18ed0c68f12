"""Programs that run another program: what they run is judged as if it stood alone."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from toolroll.policy.shell.options import Options
from toolroll.policy.shell.words import names

NONE = Options()


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program whose operands, after its options, are a command."""

    programs: tuple[str, ...]
    options: Options = NONE
    skip: int = 0
    """Operands before the command."""
    clear: bool = False
    """It does nothing by itself, so that with known options only the inner command counts."""
    variables: bool = False
    """Operands of the form NAME=value come before the command."""
    text: tuple[str, ...] = ()
    """Options whose value is shell text."""
    joined: bool = False
    """The operands are joined and given to a shell."""
    verbs: tuple[str, ...] = ()
    """The first operand must be one of these for a command to follow."""


def _row(names: str, short: str = "", long: str = "", skip: int = 0, **more: object) -> Wrapper:
    return Wrapper(tuple(names.split()), Options(short, long), skip, **more)  # type: ignore[arg-type]


WRAPPERS = (
    _row("command", "p", clear=True),
    _row("builtin", clear=True),
    _row("nohup"),
    _row("exec", "cla:"),
    _row("time", "apqvf:o:", "append portability quiet verbose format= output="),
    _row("env", "i0u:C:vS:", "ignore-environment null unset= chdir= debug split-string=", clear=True, variables=True),
    _row("timeout", "fpk:s:v", "foreground preserve-status kill-after= signal= verbose", 1, clear=True),
    _row("nice", "n:", "adjustment=", clear=True),
    _row("stdbuf", "i:o:e:", "input= output= error=", clear=True),
    _row("setsid", "cfw", "ctty fork wait"),
    _row("ionice", "c:n:p:P:u:t", "class= classdata= pid= pgid= uid= ignore"),
    _row("chrt", "abdfioremT:P:D:Rvp", "all-tasks batch deadline fifo idle other rr pid max verbose reset-on-fork", 1),
    _row("taskset", "ac", "all-tasks cpu-list", 1),
    _row("numactl", "i:m:N:C:l", "interleave= membind= cpunodebind= physcpubind= localalloc all preferred="),
    _row("prlimit", "p:o:", "pid= output= nofile= nproc= as= cpu= core= data= fsize= memlock= rss= stack= verbose"),
    _row("choom", "n:p:", "adjust= pid="),
    _row("uclampset", "m:M:asRp:", "util-min= util-max= all-tasks system reset-on-fork pid="),
    _row("setarch", "RvBFILSTXZ3", "addr-no-randomize verbose", 0),
    _row("linux32 linux64 i386 x86_64 aarch64 uname26", "RvBFILSTXZ3", "addr-no-randomize"),
    _row("arch", "e:d:h", "x86_64 arm64"),
    _row("caffeinate", "dimsut:w:"),
    _row(
        "sudo", "AbEeHKklnPSsu:g:h:p:C:c:r:t:T:U:D:R:i", "user= group= host= prompt= chdir= login shell", variables=True
    ),
    _row("doas", "Lnsa:C:u:"),
    _row("pkexec", "", "user= disable-internal-agent keep-cwd"),
    _row("su", "c:fg:G:lmps:Pw:T", "command= group= shell= login preserve-environment", 99, text=("c", "command")),
    _row("runuser", "c:fg:G:lmps:u:", "command= group= shell= user= login", text=("c", "command", "session-command")),
    _row("sg", "c:", "", 99, text=("c",)),
    _row("gosu su-exec", "", "", 1),
    _row(
        "setpriv",
        "",
        "reuid= regid= init-groups clear-groups keep-groups no-new-privs inh-caps= ruid= euid= bounding-set=",
    ),
    _row("capsh", "", "drop= caps= user= uid= gid=", 0),
    _row("chroot", "", "groups= userspec= skip-chdir", 1),
    _row(
        "unshare",
        "imnpuUCTrfcm::S:G:R:w:",
        "map-root-user map-current-user fork mount-proc? pid? net? mount? user? root= wd=",
    ),
    _row("nsenter", "at:m::u::i::n::p::C::U::r::w::FS:G:", "all target= mount? uts? ipc? net? pid? user? no-fork"),
    _row(
        "systemd-run",
        "GtPqSp:u:E:dr",
        "user scope unit= property= wait pty pipe quiet collect slice= uid= gid= setenv=",
    ),
    _row(
        "flock", "sxunow:E:cF", "shared exclusive unlock nonblock timeout= conflict-exit-code= close command verbose", 1
    ),
    _row(
        "watch", "bcdegptwn:q:x", "beep color differences? errexit interval= precise no-title exec chgexit", joined=True
    ),
    _row("script", "aeqfc:I:O:B:T:m:E:o:t::", "command= quiet return append flush log-out=", 99, text=("c", "command")),
    _row(
        "parallel",
        "kj:N:n:X0a:u",
        "jobs= keep-order dry-run bar eta tag null halt= colsep= pipe arg-file=",
        joined=True,
    ),
    _row("ssh", "46AaCfGgKkMNnqsTtVvXxYyb:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:", "", 1, joined=True),
    _row("sshpass", "p:f:d:ev", ""),
    _row("xvfb-run", "ae:f:n:s:lp:w:", "auto-servernum server-args= server-num="),
    _row("dbus-run-session dbus-launch", "", "config-file= dbus-daemon= exit-with-session sh-syntax"),
    _row("fakeroot fakechroot eatmydata chronic ifne unbuffer catchsegv tini dumb-init nocache", "", ""),
    _row("faketime", "mfp:", "exclude-monotonic", 1),
    _row("rlwrap", "acCrinNA:f:H:", ""),
    _row(
        "strace ltrace", "cCdfFhiqrtTvVyDzZe:o:O:p:s:S:u:E:a:P:I:b:X:n:l:", "follow-forks trace= output= string-limit="
    ),
    _row("valgrind heaptrack hyperfine", "", "tool= leak-check= error-exitcode= warmup= runs= log-file="),
    _row("torify torsocks proxychains proxychains4 tsocks", "qf:i", ""),
    _row("firejail bwrap proot", "", ""),
    _row("screen", "dmAaLlqRrxDS:c:e:h:p:s:t:T:", ""),
    _row("busybox toybox", "", ""),
    _row("ld-linux*.so* ld-musl*.so* ld-2*.so ld.so", "", "library-path= preload= list verify inhibit-cache argv0="),
    _row("start-stop-daemon", "SKx:a:n:u:c:p:bm", "start exec= startas= background make-pidfile pidfile= user= chuid="),
    _row("uv poetry pipenv pdm rye hatch", "qvn", "with= python= no-sync frozen locked quiet", 1, verbs=("run",)),
    _row("conda mamba micromamba", "n:p:", "name= prefix= no-capture-output live-stream", 1, verbs=("run",)),
    _row("bundle mise rtx", "", "", 1, verbs=("exec", "x")),
    _row("perf", "", "", 1, verbs=("stat", "record", "trace")),
    _row("direnv", "", "", 2, verbs=("exec",)),
    _row("nix-shell", "p:", "run= command= pure", 99, text=("run", "command")),
)
"""`-x` of start-stop-daemon and the like are read where the command is taken apart."""

_EXACT = {name: row for row in WRAPPERS for name in row.programs if "*" not in name}
_PATTERNS = [(name, row) for row in WRAPPERS for name in row.programs if "*" in name]

SHELLS = names("sh bash dash zsh ksh ash mksh pdksh lksh rbash fish csh tcsh yash ksh93 rksh oksh")


def wrapper(program: str) -> Wrapper | None:
    """The row of a program that runs another one."""
    if program in _EXACT:
        return _EXACT[program]
    if program.startswith("ld"):
        return next((row for pattern, row in _PATTERNS if fnmatchcase(program, pattern)), None)
    return None
