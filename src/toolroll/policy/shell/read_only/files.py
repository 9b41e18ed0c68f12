"""Programs that look at files and folders, and search in them."""

from __future__ import annotations

from toolroll.policy.shell.parse.options import OptionSpec
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
