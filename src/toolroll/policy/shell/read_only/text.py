"""Programs that print text, compare it, or print facts about the machine."""

from __future__ import annotations

from toolroll.policy.shell.parse.options import OptionSpec
from toolroll.policy.shell.read_only import programs
from toolroll.policy.shell.read_only.programs import ReadOnlyProgram, has_operands

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
    ReadOnlyProgram(("hostname",), OptionSpec("sfdiIA", "short fqdn long ip-address all-ip-addresses domain"), 0,
        allows=("hostname", "hostname -f"), asks=("hostname evil", "hostname -F x", "hostname -b x")),
    ReadOnlyProgram(("python", "python3", "node", "git", "gcc", "g++", "clang", "cc", "make", "cmake", "java", "ruby",
        "perl", "php", "bash"), words=programs.is_version,
        allows=("python3 --version", "git --version", "java -version"),
        asks=("python3 -c x --version", "git version", "node -v x", "python3")),
)  # fmt: skip
