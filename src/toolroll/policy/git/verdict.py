"""Judge a git command: reading is allowed, destroying and reaching out are denied, the rest asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolroll.policy.decision import Verdict
from toolroll.policy.git import places
from toolroll.policy.git.rules import DESTRUCTIVE, FOREIGN, PUBLISHING, GitRule
from toolroll.policy.git.verbs import CHANGES, GROUPS, LISTS, READS
from toolroll.policy.git.words import GitOptionSpec, GitWords, parse_option_spec, split_words
from toolroll.policy.paths import climbs

_PLAIN = frozenset({
    "--no-pager", "-P", "--no-replace-objects", "--no-lazy-fetch", "--no-optional-locks", "--no-advice",
    "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs",
})  # fmt: skip
_TELLING = frozenset({"-v", "--version", "-h", "--help", "--exec-path", "--html-path", "--man-path", "--info-path"})
_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"})
_LISTING = frozenset({"-l", "--list"})
_HELPING = frozenset({"-h", "--help"})


def judge(argv: Sequence[str], *, destructive: bool = False) -> Verdict:
    """What to do with a git command, given with or without the leading "git".

    With `destructive`, what would only destroy work is a question instead of a denial.
    """
    words = list(argv)
    if any("\0" in word for word in words):
        return Verdict("deny", "A word holds a NUL byte.")
    if words and words[0].rpartition("/")[2] == "git":
        words = words[1:]
    elsewhere = False
    while words and words[0].startswith("-"):
        first = words.pop(0)
        if first in _TELLING or first.startswith("--list-cmds="):
            return Verdict("allow") if not words else Verdict("ask", f"`git {first}` with more words is not known.")
        if first == "-C" and words and not _leaves(words[0]):
            elsewhere, words = True, words[1:]
        elif first not in _PLAIN:
            return Verdict("deny", f"`git {first}` makes git use other settings, programs or places. Leave it out.")
    if not words:
        return Verdict("allow")
    verdict = _judge(words[0], words[1:], destructive)
    if elsewhere and verdict.decision == "allow":
        return Verdict("ask", "`git -C` may lead into a repository of its own.")
    return verdict


def find_loss(argv: Sequence[str], *, final: bool = False) -> str | None:
    """What work a command that begins with "git" would lose or publish, or None.

    `final`: only what git cannot bring back. What it reaches or runs is not judged here.
    """
    call = read_call(argv)
    if call is None:
        return None
    losing = [rule for rule in call.losing if rule.final]
    reason = (_broken(losing, call.words) or _final_refspec(call)) if final else _lost(call)
    reason = reason or _broken([rule for rule in PUBLISHING if call.key in rule.names], call.words)
    return reason and f"`git {call.key}` {reason}."


def read_call(argv: Sequence[str]) -> GitCall | None:
    """The verb and the words of a command that begins with "git"; None without a verb."""
    words = list(argv[1:])
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in _WITH_VALUE else 1 :]
    return _read(words[0], words[1:]) if words else None


def find_folder(argv: Sequence[str]) -> str:
    """The folder that a command which begins with "git" works in, from where it starts: `-C`, `--work-tree`."""
    words, folder, tree = list(argv[1:]), ".", ""
    while words and words[0].startswith("-"):
        name, _, value = words.pop(0).partition("=")
        value = words.pop(0) if name in _WITH_VALUE and not value and words else value
        if name == "-C":
            folder = _join(folder, value)
        elif name == "--work-tree":
            tree = value
    return _join(folder, tree)


def _join(folder: str, path: str) -> str:
    return path if path.startswith("/") else f"{folder}/{path}" if path else folder


def _final_refspec(call: GitCall) -> str | None:
    return places.lost(call.key, call.words) if call.key in ("push", "send-pack") else None


@dataclass(frozen=True, slots=True)
class GitCall:
    """A verb with its words taken apart, and the rules for it."""

    key: str
    words: GitWords
    known: GitOptionSpec
    reaching: list[GitRule]
    losing: list[GitRule]


def _read(verb: str, rest: list[str]) -> GitCall:
    key = _key(verb, rest)
    reaching, losing = ([rule for rule in rules if {key, verb} & rule.names] for rules in (FOREIGN, DESTRUCTIVE))
    known = parse_option_spec(READS.get(key) or CHANGES.get(key) or READS.get(verb) or CHANGES.get(verb, ""))
    spoken = {name for rule in (*reaching, *losing) for name in rule.wanted | rule.harmless | rule.with_one_of}
    more = frozenset(name for name in spoken if name.startswith("--"))
    words = split_words(rest, known, more)
    if key != verb:
        words.names = words.names[1:]
    return GitCall(key, words, known, reaching, losing)


def _lost(call: GitCall) -> str | None:
    return _broken(call.losing, call.words) or places.lost(call.key, call.words)


def _judge(verb: str, rest: list[str], destructive: bool) -> Verdict:
    call = _read(verb, rest)
    inner = verb.startswith("remote-") or "--" in verb
    reaches = _broken(call.reaching, call.words) or places.reason(call.key, call.words)
    reason = "is a part of git that only git runs" if inner else reaches
    if reason is not None:
        return Verdict("deny", f"`git {call.key}` {reason}.")
    reason = _lost(call)
    if reason is not None:
        return Verdict("ask" if destructive else "deny", f"`git {call.key}` {reason}.")
    return _look(verb, call.key, call.words, call.known)


def _look(verb: str, key: str, words: GitWords, known: GitOptionSpec) -> Verdict:
    """Allow what only reads; everything else asks."""
    if words.has(_HELPING) and key not in READS:
        return Verdict("ask", f"`git {key}` may open its manual.")
    if key == "help" and not words.options and not words.names:
        return Verdict("allow")
    if key not in READS and not (verb in READS and verb in LISTS and key == verb):
        kind = "changes the repository" if key in CHANGES or verb in CHANGES else "is not known to only look"
        return Verdict("ask", f"`git {key}` {kind}.")
    odd = [one for one in words.options if len(one.names) != 1 or one.names[0] not in known.safe]
    odd += [one for one in words.options if one.value and ((one.apart and one.value[0] == "-") or _checks(one.value))]
    if odd:
        return Verdict("ask", f"`git {key} {odd[0].names[0]}` is not known to only look.")
    if key in LISTS and len(words.names) + len(words.paths) > LISTS[key] and not words.has(_LISTING):
        return Verdict("ask", f"`git {key}` with a name changes the repository.")
    return Verdict("allow")


def _checks(form: str) -> bool:
    """Whether a format makes git check signatures, which a program does that is configured."""
    return "%G" in form or "signature" in form


def _key(verb: str, rest: Iterable[str]) -> str:
    """The verb with its own verb, if it has one: "stash" alone is "stash push"."""
    if verb not in GROUPS:
        return verb
    known = parse_option_spec(CHANGES.get(verb, ""))
    first = next(iter(split_words(list(rest), known, frozenset()).names), None)
    if first is None:
        return "stash push" if verb == "stash" else verb
    return f"{verb} {first}"


def _broken(rules: Iterable[GitRule], words: GitWords) -> str | None:
    for rule in rules:
        if words.has(rule.harmless):
            continue
        if rule.with_one_of and not words.has(rule.with_one_of):
            continue
        if not rule.wanted or words.has(rule.wanted):
            return rule.reason
    return None


def _leaves(folder: str) -> bool:
    return folder.startswith(("/", "~")) or climbs(folder)
