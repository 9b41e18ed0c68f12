"""Programs that run another program: what they run is judged as if it stood alone."""

from __future__ import annotations

from dataclasses import dataclass

from toolroll.policy.shell.parse.options import OptionSpec
from toolroll.policy.shell.parse.words import names

NONE = OptionSpec()


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program whose operands, after its options, are a command."""

    programs: tuple[str, ...]
    options: OptionSpec = NONE
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
    each: bool = False
    """Each operand is given to a shell."""
    verbs: tuple[str, ...] = ()
    """The first operand must be one of these for a command to follow."""


def _row(names: str, short: str = "", long: str = "", skip: int = 0, **more: object) -> Wrapper:
    return Wrapper(tuple(names.split()), OptionSpec(short, long), skip, **more)  # type: ignore[arg-type]


WRAPPERS = (
    _row("command", "p", clear=True),
    _row("builtin", clear=True),
    _row("nohup"),
    _row("exec", "cla:"),
    _row("time", "apqvf:o:", "append portability quiet verbose format= output="),
    _row("env", "i0u:C:vS:a:", "ignore-environment null unset= chdir= debug split-string= argv0= block-signal?"
        " default-signal? ignore-signal? list-signal-handling", clear=True, variables=True),
    _row("timeout", "fpk:s:v", "foreground preserve-status kill-after= signal= verbose", 1, clear=True),
    _row("nice", "n:0123456789", "adjustment=", clear=True),
    _row("stdbuf", "i:o:e:", "input= output= error=", clear=True),
    _row("setsid", "cfw", "ctty fork wait"),
    _row("ionice", "c:n:p:P:u:t", "class= classdata= pid= pgid= uid= ignore"),
    _row("chrt", "abdfioremT:P:D:Rvp", "all-tasks batch deadline fifo idle other rr pid max verbose reset-on-fork", 1),
    _row("taskset", "ac", "all-tasks cpu-list", 1),
    _row("numactl", "i:m:N:C:l", "interleave= membind= cpunodebind= physcpubind= localalloc all preferred="),
    _row("prlimit", "p:o:c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y::", "pid= output= nofile? nproc? as? cpu?"
        " core? data? fsize? memlock? rss? stack? verbose raw noheadings"),
    _row("choom", "n:p:", "adjust= pid="),
    _row("uclampset", "m:M:asRp:", "util-min= util-max= all-tasks system reset-on-fork pid="),
    _row("setarch", "RvBFILSTXZ3", "addr-no-randomize verbose", 0),
    _row("linux32 linux64 i386 x86_64 aarch64 uname26", "RvBFILSTXZ3", "addr-no-randomize"),
    _row("arch", "e:d:h", "x86_64 arm64"),
    _row("caffeinate", "dimsut:w:"),
    _row("sudo", "AbEeHKklnPSsu:g:h:p:C:c:r:t:T:U:D:R:i", "user= group= host= prompt= chdir= login shell",
        variables=True),
    _row("doas", "Lnsa:C:u:"),
    _row("pkexec", "", "user= disable-internal-agent keep-cwd"),
    _row("su", "c:fg:G:lmps:Pw:T", "command= group= shell= login preserve-environment", 99, text=("c", "command")),
    _row("runuser", "c:fg:G:lmps:u:", "command= group= shell= user= login", text=("c", "command", "session-command")),
    _row("sg", "c:", "", 1, text=("c",), joined=True),
    _row("gosu su-exec setuidgid envdir", "", "", 1),
    _row("cgexec", "g:", "sticky"),
    _row("setpriv", "", "reuid= regid= init-groups clear-groups keep-groups nnp no-new-privs inh-caps= ambient-caps="
        " ruid= euid= rgid= egid= groups= bounding-set= securebits= pdeathsig= reset-env"),
    _row("capsh", "", "drop= caps= user= uid= gid=", 0),
    _row("chroot", "", "groups= userspec= skip-chdir", 1),
    _row("unshare", "imnpuUCTrfcm::S:G:R:w:", "map-root-user map-current-user map-auto fork kill-child? mount-proc?"
        " pid? net? mount? user? uts? ipc? cgroup? time? root= wd= setuid= setgid= setgroups= propagation= keep-caps"
        " map-user= map-group= map-users="),
    _row("nsenter", "at:m::u::i::n::p::C::U::r::w::FS:G:", "all target= mount? uts? ipc? net? pid? cgroup? user? root?"
        " wd? setuid= setgid= preserve-credentials no-fork"),
    _row("systemd-run", "GtPqSp:u:E:dr", "user scope unit= property= wait pty pipe quiet collect slice= uid= gid="
        " setenv="),
    _row("flock", "sxunow:E:cF", "shared exclusive unlock nonblock timeout= conflict-exit-code= close command verbose",
        1),
    _row("watch", "bcCdefgprtwn:q:s:x", "beep color no-color differences? errexit follow interval= precise no-rerun"
        " no-title no-wrap exec chgexit equexit= shotsdir=", joined=True),
    _row("script", "aeqfc:I:O:B:T:m:E:o:t::", "command= quiet return append flush log-out=", 99, text=("c", "command")),
    _row("parallel", "kj:N:n:L:I:P:S:C:d:X0a:uqrtm", "jobs= max-procs= keep-order dry-run bar eta progress tag null"
        " halt= colsep= delimiter= delay= timeout= retries= pipe arg-file= joblog= results= tmpdir= sshlogin="
        " max-args= max-lines= load= memfree= line-buffer ungroup verbose will-cite no-notice resume shuf",
        joined=True),
    _row("ssh", "46AaCfGgKkMNnqsTtVvXxYyb:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:", "", 1, joined=True),
    _row("sshpass", "p:f:d:ev", ""),
    _row("xvfb-run", "ae:f:n:s:lp:w:", "auto-servernum server-args= server-num="),
    _row("dbus-run-session dbus-launch", "", "config-file= dbus-daemon= exit-with-session sh-syntax"),
    _row("fakeroot fakechroot eatmydata chronic ifne unbuffer catchsegv tini dumb-init nocache", "l:s:i:b:ugvp:e:",
        "lib= faked= unknown-is-real"),
    _row("chpst softlimit", "u:U:e:/:n:l:L:m:d:o:p:f:c:a:r:s:t:vP012"),
    _row("cpulimit trickle", "l:p:e:d:u:w:L:svbizcf", "limit="),
    _row("systemd-inhibit systemd-cat", "t:p:", "what= who= why= mode= list identifier= priority= stderr-priority="),
    _row("ssh-agent", "cDdksa:E:O:P:t:"),
    _row("dtach abduco", "n:c:A:a:p:e:r:zE"),
    _row("faketime", "mfp:", "exclude-monotonic", 1),
    _row("rlwrap", "acCrinNA:f:H:", ""),
    _row("strace ltrace", "cCdfFhiqrtTvVyDzZe:o:O:p:s:S:u:E:a:P:I:b:X:n:l:",
        "follow-forks trace= output= string-limit="),
    _row("valgrind heaptrack", "qv", "tool= leak-check= error-exitcode= log-file= suppressions="),
    _row("hyperfine", "w:m:M:r:s:p:c:P:D:L:S:Nin:u:", "warmup= min-runs= max-runs= runs= setup= prepare= cleanup="
        " parameter-scan= parameter-list= shell= ignore-failure style= export-json= export-csv= export-markdown="
        " show-output command-name= time-unit= output=", each=True),
    _row("torify torsocks proxychains proxychains4 tsocks", "qf:i", ""),
    _row("firejail bwrap proot", "", ""),
    _row("screen", "dmAaLlqRrxDS:c:e:h:p:s:t:T:", ""),
    _row("busybox toybox", "", ""),
    _row("ld-linux*.so* ld-musl*.so* ld-2*.so ld.so", "", "library-path= preload= list verify inhibit-cache argv0="),
    _row("start-stop-daemon", "SKx:a:n:u:c:p:bm", "start exec= startas= background make-pidfile pidfile= user= chuid="),
    _row("uv poetry pipenv pdm rye hatch", "qvnp:C:w:", "with= with-requirements= with-editable= python= package="
        " extra= all-extras group= only-group= no-group= dev no-dev project= directory= env-file= no-env-file"
        " index-url= no-sync frozen locked offline isolated no-project quiet", 1, verbs=("run",)),
    _row("conda mamba micromamba", "n:p:v", "name= prefix= cwd= no-capture-output live-stream", 1, verbs=("run",)),
    _row("bundle mise rtx", "C:", "cd= env= keep-file-descriptors", 1, verbs=("exec", "x")),
    _row("perf", "agvdBSiAe:o:F:c:C:p:t:r:x:I:G:M:", "event= output= freq= count= cpu= pid= tid= repeat= call-graph="
        " all-cpus append", 1, verbs=("stat", "record", "trace")),
    _row("direnv", "", "", 2, verbs=("exec",)),
    _row("nix-shell", "p:", "run= command= pure", 99, text=("run", "command")),
)  # fmt: skip
"""`-x` of start-stop-daemon and the like are read where the command is taken apart."""

EXACT = {name: row for row in WRAPPERS for name in row.programs if "*" not in name}
PATTERNS = [(name, row) for row in WRAPPERS for name in row.programs if "*" in name]

SHELLS = names("sh bash dash zsh ksh ash mksh pdksh lksh rbash fish csh tcsh yash ksh93 rksh oksh")
