"""The programs that only read, with examples. Small on purpose: it saves a question, and it never lifts the sandbox."""

from __future__ import annotations

from dataclasses import replace

from toolroll.policy.shell.parse.options import OptionSpec
from toolroll.policy.shell.parse.words import names
from toolroll.policy.shell.read_only import programs
from toolroll.policy.shell.read_only.programs import ReadOnlyProgram, has_operands, is_awk, is_find, is_sed, is_tree

FILES = (
    ReadOnlyProgram(("ls", "dir", "vdir"), OptionSpec("aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
        "all almost-all author escape block-size= ignore-backups color? directory dired classify? file-type format="
        " full-time group-directories-first no-group human-readable si dereference-command-line dereference hide="
        " hyperlink? indicator-style= inode ignore= kibibytes numeric-uid-gid literal hide-control-chars"
        " show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width="
        " context zero help version"), loose=True,
        allows=("ls", "ls -la src 'a b'", "ls *.py", "/bin/ls --color=never ~", "ls docs 2>/dev/null"),
        asks=("ls --unknown", "ls $x", "ls > out", "./ls", "ls -j", "PATH=. ls")),
    ReadOnlyProgram(("tree",), OptionSpec("adfilpsuhDgQCFNSxqrtcUvJXnAL:P:I:", "dirsfirst filesfirst noreport prune du"
        " si timefmt= gitignore ignore-case matchdirs sort= charset= filelimit= inodes device help version"),
        check=is_tree, allows=("tree", "tree -L 2 docs", "tree -a -I node_modules --dirsfirst", "tree --filelimit=9"),
        asks=("tree -o out", "tree -Io x out", "tree -R -H . -L 1", "tree *", "tree --output x")),
    ReadOnlyProgram(("cat",), OptionSpec("AbeEnstTuv",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version"), loose=True,
        allows=("cat a b", "cat -n src/*.py", "cat < a", "cat -- -x", "cat <<E\nx\nE"),
        asks=("cat a > b", 'cat "$f"', "cat < /dev/tcp/h/1", "cat <<E\n$x\nE", "cat <<E > f\nx\nE")),
    ReadOnlyProgram(("head",), OptionSpec("n:c:qvz", "lines= bytes= quiet silent verbose zero-terminated help version"),
        loose=True, numbers=True, allows=("head -5 a", "head -n 20 a b", "head -c20 a"),
        asks=("head --unknown a", "head -x a")),
    ReadOnlyProgram(("tail",), OptionSpec("n:c:qvz", "lines= bytes= quiet silent verbose zero-terminated help version"),
        numbers=True, allows=("tail -5 a", "tail -n +3 a", "tail a"),
        asks=("tail -f a", "tail -F a", "tail --follow=name a", "tail --retry a", "tail *")),
    ReadOnlyProgram(("file",), OptionSpec("bciIkLhNnrs0vEF:e:", "brief mime mime-type mime-encoding keep-going"
        " dereference no-dereference no-pad raw separator= version help"),
        allows=("file a", "file -b --mime-type a b", "file src/*"),
        asks=("file -C", "file -C -m x", "file -m x a", "file -z a", "file -f list", "file *")),
    ReadOnlyProgram(("stat",),
        OptionSpec("LfZtc:x", "dereference file-system format= printf= terse cached= help version"), loose=True,
        allows=("stat a", "stat -c %s a", "stat --format=%a *"), asks=("stat --unknown a",)),
    ReadOnlyProgram(("du",), OptionSpec("0abcDhHkLlmPsSxd:t:X:B:", "null all apparent-size block-size= bytes total"
        " dereference-args max-depth= human-readable inodes dereference count-links no-dereference one-file-system"
        " summarize si time? time-style= exclude= exclude-from= threshold= separate-dirs help version"), loose=True,
        allows=("du -sh docs", "du -h --max-depth=1", "du -d 1 ."), asks=("du --unknown",)),
    ReadOnlyProgram(("df",), OptionSpec("ahHiklPTt:x:vB:", "all block-size= human-readable si inodes local no-sync"
        " output? portability print-type total type= exclude-type= help version"), allows=("df -h", "df -h ."),
        asks=("df --sync",)),
    ReadOnlyProgram(("pwd",), OptionSpec("LP"), 0, allows=("pwd", "pwd -P"), asks=("pwd x", "pwd -x")),
    ReadOnlyProgram(("cd",), OptionSpec("LPe"), 1, has_operands(r"-|(?!-).*"),
        allows=("cd", "cd src", "cd -", "cd -P .."), asks=("cd -x", "cd $x", "cd a b", "cd *")),
    ReadOnlyProgram(("which",), OptionSpec("as", "all"), allows=("which curl", "which -a python3 node"),
        asks=("which --unknown x", "which *")),
    ReadOnlyProgram(("realpath", "readlink"), OptionSpec("femnqsvzPL", "canonicalize canonicalize-existing"
        " canonicalize-missing no-newline quiet silent verbose zero relative-to= relative-base= strip no-symlinks"
        " logical physical help version"), allows=("realpath a", "readlink -f a"), asks=("realpath --unknown a",)),
    ReadOnlyProgram(("basename", "dirname"), OptionSpec("as:z", "multiple suffix= zero help version"), loose=True,
        allows=("basename /usr/bin/curl", "dirname a/b", "basename -s .py a.py"),
        asks=('basename "$PWD"', "basename --unknown a")),
    ReadOnlyProgram(("find",), words=is_find,
        allows=("find . -name '*.py' -type f", "find src tests -newer a -print0", r"find . \( -name a -o -name b \)"
        " -not -path './.git/*'", r"find . -name x -printf '%p\n'", "find"),
        asks=("find . -delete", "find . -exec rm {} +", "find . -fprint out", "find . -fls out",
        "find . -fprintf out %p", "find . -name *.py", "find . -ok cat {} ';'", "find -files0-from x")),
)  # fmt: skip

SEARCH = (
    ReadOnlyProgram(("grep", "egrep", "fgrep"), OptionSpec("EFGPe:f:iyvwxclLm:oqsbHhnTZA:B:C:UzaIrRD:d:V",
        "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case no-ignore-case invert-match"
        " word-regexp line-regexp count color? colour? files-without-match files-with-matches max-count= only-matching"
        " quiet silent no-messages byte-offset with-filename no-filename label= line-number initial-tab null"
        " after-context= before-context= context= text binary-files= devices= directories= exclude= exclude-from="
        " exclude-dir= include= recursive dereference-recursive line-buffered null-data binary help version"),
        loose=True, numbers=True,
        allows=("grep -rn 'rm -rf' .", "grep -E '(a|b)' a.md", "grep -- -x a", "grep -r x --include=*.py src"),
        asks=("grep --unknown x a", "grep x a > b", "grep $x a")),
    ReadOnlyProgram(("rg",), OptionSpec("isSvwxnNlcoHIpquUPF.0abLhVe:f:g:t:T:A:B:C:m:M:j:d:E:r:",
        "ignore-case case-sensitive smart-case invert-match word-regexp line-regexp line-number no-line-number"
        " files-with-matches files-without-match count count-matches only-matching with-filename no-filename pretty"
        " quiet unrestricted multiline multiline-dotall pcre2 fixed-strings hidden no-hidden null text byte-offset"
        " follow help version regexp= file= glob= iglob= type= type-not= after-context= before-context= context="
        " max-count= max-columns= threads= max-depth= maxdepth= encoding= replace= files no-ignore no-ignore-vcs"
        " no-ignore-parent no-heading heading color= colors= column no-column sort= sortr= stats json trim passthru"
        " no-messages type-list crlf engine= max-filesize= no-config no-follow vimgrep glob-case-insensitive"),
        allows=(r"rg 'mkfs\.' docs", "rg -n --hidden -g '*.py' x", "rg --files src"),
        asks=("rg --pre=x y", "rg --pre x y", "rg --hostname-bin=x y", "rg -z x", "rg --search-zip x", "rg x *")),
    ReadOnlyProgram(("awk", "gawk", "mawk", "nawk"), OptionSpec("F:v:"), None, is_awk,
        allows=("awk '/curl/' a", "awk -F: '{print $1}' a", "awk '$3 > 100 {print $1}' a",
        "awk '/a|b/ {n++} END {print n}' a"),
        asks=("awk 'BEGIN{system(\"x\")}'", "awk '{print > \"f\"}' a", "awk '{print | \"sh\"}' a",
        "awk '{\"x\" | getline y}' a", "awk -f prog a", "awk -i inplace '{print}' a", "awk '@load \"x\"'",
        'awk "{print $x}" a', 'awk \'{printf "%s", $1 >> "f"}\' a')),
    ReadOnlyProgram(("sed",), OptionSpec("nErsuze:",
        "quiet silent expression= regexp-extended null-data separate unbuffered debug posix sandbox"), None, is_sed,
        allows=("sed -n '1,5p' a", "sed 's/a/b/g' a", "sed -n '/x/,/y/p' a", "sed -e 's/a/b/' -e '$d' a",
        "sed -E 's|[0-9]+|n|gi;s/x/y/' a", "sed '/^#/d;/^$/d' a"),
        asks=("sed -i 's/a/b/' a", "sed --in-place=x s/a/b/ a", "sed -ni p a", "sed 's/a/b/w out' a", "sed 's/a/b/e' a",
        "sed '1e curl' a", "sed 'w out' a", "sed '$!W out' a", "sed 'r x' a", "sed -f x a", "sed 's/[/]w x/y/' a",
        'sed "s/a/$x/" a', "sed 's/a/b/ge' a", "sed 'ecurl' a")),
)  # fmt: skip


TEXT = (
    ReadOnlyProgram(("wc",), OptionSpec("clLmw", "bytes chars lines max-line-length words total= help version"),
        loose=True, allows=("wc -l a", "wc *.py"), asks=("wc --unknown a",)),
    ReadOnlyProgram(("sort",), OptionSpec("bdfghiMnRrVcCk:mst:uz", "ignore-leading-blanks dictionary-order ignore-case"
        " general-numeric-sort human-numeric-sort ignore-nonprinting month-sort numeric-sort random-sort reverse"
        " version-sort sort= check? key= merge stable field-separator= unique zero-terminated debug help version"),
        allows=("sort a", "sort -t, -k2,2n -u a", "sort -rn a b"),
        asks=("sort -o out a", "sort a -o out", "sort -uoout a", "sort --output=out a", "sort --out=x a",
        "sort --compress-program=x a", "sort -T d a", "sort *", "sort -S 1 a")),
    ReadOnlyProgram(("uniq",), OptionSpec("cdDif:s:uw:z",
        "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique zero-terminated check-chars="),
        1, allows=("uniq -c", "uniq a"), asks=("uniq a b", "uniq a*", "uniq - b", "uniq -- a b")),
    ReadOnlyProgram(("cut",), OptionSpec("b:c:d:f:nsz",
        "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated"),
        loose=True, allows=("cut -d: -f1 a", "cut -c1-5 a"), asks=("cut --unknown a",)),
    ReadOnlyProgram(("tr",), OptionSpec("cCdst", "complement delete squeeze-repeats truncate-set1"),
        allows=("tr a-z A-Z", r"tr -d '\n'"), asks=("tr --unknown a",)),
    ReadOnlyProgram(("diff",), OptionSpec("abBcdeEiNnpqrstTuvwyZC:U:x:X:I:F:S:W:L:D:", "brief report-identical-files"
        " context? unified? ed rcs side-by-side width= left-column suppress-common-lines show-c-function"
        " show-function-line= label= expand-tabs initial-tab recursive no-dereference new-file ignore-file-name-case"
        " exclude= exclude-from= starting-file= ignore-case ignore-tab-expansion ignore-trailing-space"
        " ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr color?"
        " minimal speed-large-files normal help version"), allows=("diff a b", "diff -ru a b", "diff -U 5 a b"),
        asks=("diff -l a b", "diff --paginate a b", "diff <(ls) a")),
    ReadOnlyProgram(("cmp",), OptionSpec("bi:ln:sv"), allows=("cmp a b", "cmp -s a b"), asks=("cmp --unknown a b",)),
    ReadOnlyProgram(("comm",), OptionSpec("123z", "nocheck-order check-order output-delimiter= total"),
        allows=("comm -12 a b",), asks=("comm -4 a b",)),
    ReadOnlyProgram(("nl", "tac", "rev", "fold", "expand", "paste", "join"),
        OptionSpec("a:b:d:e:f:h:i:j:l:n:o:ps:t:v:w:z1:2:"), allows=("nl a", "nl -b a a", "tac a", "paste -d , a b"),
        asks=("nl --unknown a", "paste *")),
    ReadOnlyProgram(("column",), OptionSpec("ts:c:o:x", "table separator= output-width= output-separator="),
        allows=("column -t a", "column -s , -t a"), asks=("column --unknown a",)),
    ReadOnlyProgram(("od", "hexdump"), OptionSpec("A:j:N:t:n:s:e:vabcCdox"),
        allows=("od -c a", "hexdump -C a", "od -A x -t x1z a"), asks=("hexdump -f x a",)),
    ReadOnlyProgram(("xxd",), OptionSpec("abdeiEpuc:g:l:o:"), 1,
        allows=("xxd a", "xxd -l 16 a", "xxd -p", "xxd -g1 -c 8 a"),
        asks=("xxd a b", "xxd -r a", "xxd -r -p a b", "xxd -ps a b", "xxd -l 5 a b", "xxd -cols 8 a b", "xxd *")),
    ReadOnlyProgram(("gofmt",), OptionSpec("lde"), allows=("gofmt -l .", "gofmt -d a.go"),
        asks=("gofmt -w a.go", "gofmt -l -w .", "gofmt -cpuprofile x a.go", "gofmt -r 'a -> b' -w a.go")),
    ReadOnlyProgram(("strings",), OptionSpec("afn:t:e:", "all bytes= radix= encoding="), numbers=True,
        allows=("strings a", "strings -n 8 a"), asks=("strings -T x a", "strings --target=x a")),
    ReadOnlyProgram(("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum"),
        OptionSpec("bctwzr", "binary text tag zero check quiet status strict warn ignore-missing"), loose=True,
        allows=("sha256sum a", "md5sum -c sums", "sum README.md"), asks=("sha256sum --unknown a",)),
    ReadOnlyProgram(("jq",), OptionSpec("rcCMaSejsnR",
        "raw-output compact-output color-output monochrome-output sort-keys slurp null-input raw-input"),
        allows=("jq '.curl' a.json", "jq -r '.a[] | .b' a.json"),
        asks=("jq -f prog a", "jq -L x . a", "jq --slurpfile a b .")),
)  # fmt: skip

SAYING = (
    ReadOnlyProgram(("echo",), words=programs.is_echo, loose=True, values=True,
        allows=("echo 'curl x | sh'", "echo -n a", "echo $?", 'echo "$HOME: ${x}" *'),
        asks=("echo ${x@P}", "echo $(ls)", "echo x > f", "echo ${x:=y}", "echo $((1))")),
    ReadOnlyProgram(("printf",), words=programs.is_printf, values=True, allows=(r"printf '%s\n' a b", "printf x"),
        asks=("printf -v x a", "printf -v 'a[$(x)]' b", "printf %n PATH", "printf '%5n' PATH")),
    ReadOnlyProgram(("true", "false", ":"), words=programs.is_echo, loose=True, values=True,
        allows=("true", "false x", ": sudo"), asks=(": ${x:=y}", ": > f")),
    ReadOnlyProgram(("exit",), OptionSpec(), 1, has_operands(r"\d+"), allows=("exit", "exit 1"),
        asks=("exit x", "exit $x")),
    ReadOnlyProgram(("test",), words=programs.is_test, allows=("test -f a", "test a = b -a -d c"),
        asks=("test -v 'a[$(x)]'", "test -v x", "test $x = a", "test -R x")),
    ReadOnlyProgram(("[",), words=programs.is_bracket, allows=("[ -f a ]", "[ a = b ] && [ ! -d c ]"),
        asks=("[ -v 'a[$(x)]' ]", '[ "$x" = a ]', "[[ -f a ]]")),
    ReadOnlyProgram(("type",), OptionSpec("afptP"), allows=("type ssh", "type -a ls"), asks=("type -x ls", "type *")),
    ReadOnlyProgram(("command",), words=programs.is_lookup, allows=("command -v curl", "command -V ls"),
        asks=("command -v", "command x")),
    ReadOnlyProgram(("seq",), OptionSpec("f:s:w"), 3, has_operands(r"-?\d{1,6}(\.\d{1,6})?", 1),
        allows=("seq 3", "seq 1 2 10"), asks=("seq 1 99999999", "seq 1 inf")),
    ReadOnlyProgram(("date",), OptionSpec("ud:r:RI::", "date= utc universal iso-8601? rfc-3339= rfc-email reference="),
        3, has_operands(r"\+.*"), allows=("date", "date +%F", "date -u -d '1 day ago' +%s"),
        asks=("date -s x", "date --set=x", "date 010100002030", "date -f x")),
    ReadOnlyProgram(("uname", "whoami", "id", "groups", "nproc", "arch", "tty", "uptime"),
        OptionSpec("asnrvmpiogGu", "all kernel-name machine user group name"),
        allows=("uname -a", "whoami", "id -u", "nproc"), asks=("uname --unknown", "id $x")),
    ReadOnlyProgram(("ps", "pgrep"), words=programs.is_echo,
        allows=("ps", "ps aux", "ps -eo pid,ppid,cmd", "pgrep -fl node", "ps -ef"),
        asks=("ps $x", "ps > out", "pkill node")),
    ReadOnlyProgram(("free", "lscpu"), OptionSpec("bkmghtlwae", "bytes kibi mebi gibi human total wide"),
        allows=("free -h", "lscpu"), asks=("free -s 1", "free $x")),
    ReadOnlyProgram(("ss", "netstat"), OptionSpec("tulnpaxrieom46H", "tcp udp listening numeric processes all"), 0,
        allows=("ss -tlnp", "netstat -an", "ss"), asks=("ss -K dst x", "ss -D f", "netstat -c", "ss -tK", "ss --kill")),
    ReadOnlyProgram(("sleep",), OptionSpec(), 1, has_operands(r"\d{1,4}(\.\d{1,6})?[smh]?", 1),
        allows=("sleep 5", "sleep 0.5"), asks=("sleep", "sleep $x", "sleep infinity", "sleep 99999")),
    ReadOnlyProgram(("go",), words=programs.is_go, allows=("go version", "go env", "go env GOPATH GOROOT"),
        asks=("go env -w A=b", "go env -u A", "go version -m a", "go test ./...", "go", "go build", "go env $x")),
    ReadOnlyProgram(("hostname",), OptionSpec("sfdiIA", "short fqdn long ip-address all-ip-addresses domain"), 0,
        allows=("hostname", "hostname -f"), asks=("hostname evil", "hostname -F x", "hostname -b x")),
    ReadOnlyProgram(("node",), words=programs.is_node_version, allows=("node -v", "node --version"),
        asks=("node -v x", "node", "node -e 1", "node --require x")),
    ReadOnlyProgram(("python", "python3", "gcc", "g++", "clang", "cc", "make", "cmake", "java", "ruby",
        "perl", "php", "bash"), words=programs.is_version,
        allows=("python3 --version", "java -version"), asks=("python3 -c x --version", "python3 -v", "python3")),
    ReadOnlyProgram(("git",), words=programs.is_git_look,
        allows=("git --version", "git status -sb", "git log --oneline -5", "git diff HEAD~1 -- a.py"),
        asks=("git commit -m x", "git log $x", "git -c core.pager=x log", "git diff --output=x", "git -C sub status")),
)  # fmt: skip


READERS: tuple[ReadOnlyProgram, ...] = FILES + SEARCH + TEXT + SAYING

UNBANNED = (*READERS, ReadOnlyProgram(("mount",), OptionSpec("l"), 0, allows=("mount", "mount -l"),
    asks=("mount /dev/sda1 /mnt", "mount -a", "mount -o remount,rw /")))  # fmt: skip
"""With the programs that a ban list has, for rules without one."""

TERMINAL_NAMES = names(
    "ls dir tree cat head tail find grep wc sort uniq cut awk sed pwd cd file stat du df echo which git"
)


def select_programs(rows: tuple[ReadOnlyProgram, ...], names: frozenset[str]) -> tuple[ReadOnlyProgram, ...]:
    """The rows for these programs alone."""
    kept = (replace(row, programs=tuple(name for name in row.programs if name in names)) for row in rows)
    return tuple(row for row in kept if row.programs)
