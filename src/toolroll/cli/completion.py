"""`toolroll completion SHELL`: a script that lets the shell complete commands, options, tools and parameters.

The scripts call `toolroll __complete WORD...`, which prints one completion per line with its description after a tab.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolroll.cli.command import Command, Option, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

_BASH = r"""# toolroll completion bash >> ~/.bashrc
_toolroll() {
    local line=${COMP_LINE:0:COMP_POINT} word found
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word=${words[${#words[@]} - 1]}
    COMPREPLY=()
    while IFS=$'\t' read -r found _; do
        # bash takes what follows "=" for a word of its own
        [[ $word == *=* && $COMP_WORDBREAKS == *=* ]] && found=${found#"${word%%=*}="}
        COMPREPLY+=("$found")
    done < <("$1" __complete "${words[@]:1}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o default -F _toolroll toolroll
"""

_ZSH = r"""#compdef toolroll
# toolroll completion zsh > "${fpath[1]}/_toolroll"
_toolroll() {
    local line value about
    local -a open closed
    for line in ${(f)"$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
        value=${line%%$'\t'*} about=${line#*$'\t'}
        value=${value//:/\\:}${about:+:$about}
        if [[ $line == *=$'\t'* ]]; then open+=($value); else closed+=($value); fi
    done
    (( $#open + $#closed )) || { compset -P '[a-z_]#=(@|)'; _files; return }
    (( $#closed )) && _describe toolroll closed
    (( $#open )) && _describe toolroll open -S ''
}
if [[ $funcstack[1] == _toolroll ]]; then
    _toolroll "$@"
else
    compdef _toolroll toolroll
fi
"""

_FISH = r"""# toolroll completion fish > ~/.config/fish/completions/toolroll.fish
function __toolroll_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] __complete $words[2..-1] 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        set -l key (string match -r '^\w+=@?' -- $words[-1]; or echo)
        printf "$key%s\n" (__fish_complete_path (string replace -- "$key" '' $words[-1]))
    end
end
complete -c toolroll -f -a '(__toolroll_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def run(args: Namespace) -> int:
    """Print the script for a shell."""
    if args.shell is None:
        raise UsageError(f"Which shell? There are: {', '.join(_SCRIPTS)}.")
    print(_SCRIPTS[args.shell], end="")
    return 0


_SHELL = Option(("shell",), "bash, zsh or fish.", "SHELL", choices=lambda: list(_SCRIPTS))
COMMAND = Command("completion", "Print a completion script for your shell.", run, (_SHELL,))
