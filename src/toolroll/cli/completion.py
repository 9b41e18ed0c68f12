"""`toolroll completion SHELL`: a script that lets the shell complete commands, options, tools and parameters.

The scripts call `toolroll __complete WORD...`, which prints one completion per line with its description after a tab.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from toolroll.cli.command import HELP, Candidate, Command, Option, UsageError, parse

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


def print_candidates(commands: Mapping[str, Command], words: Sequence[str]) -> int:
    """Print the completions of the last word after `toolroll`."""
    typed = words[-1] if words else ""
    for word, about in find_candidates(commands, words[:-1], typed):
        if word.startswith(typed):
            print(f"{word}\t{about}")
    return 0


def find_candidates(commands: Mapping[str, Command], before: Sequence[str], typed: str) -> Iterable[Candidate]:
    """All completions after these words."""
    if not before:
        return [
            *((command.name, command.about) for command in commands.values()),
            ("--version", ""),
            ("--help", ""),
        ]
    command = commands.get(before[0])
    if command is None:
        return []
    pending = _pending(command, before)
    if pending is not None:
        return [(name, "") for name in pending.choices()] if pending.choices else []
    if typed.startswith("-"):
        return [(flag, one.about) for one in (*command.options, HELP) for flag in one.flags if not one.is_positional]
    return _positional(command, before[1:], typed)


def _pending(command: Command, before: Sequence[str]) -> Option | None:
    """The option whose value is being typed."""
    return next(
        (one for one in command.options if before[-1] in one.flags and one.value and not one.is_positional), None
    )


def _positional(command: Command, before: Sequence[str], typed: str) -> Iterable[Candidate]:
    """The completions of the command, or the choices of its first argument."""
    if command.propose is not None:
        try:
            return list(command.propose(parse(command, before), typed))
        except UsageError:
            return []
    first = next((one for one in command.options if one.is_positional and one.choices), None)
    return [(name, "") for name in first.choices()] if first and first.choices and not before else []
