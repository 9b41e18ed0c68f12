"""Plans that talk to a remote: fetch, pull, push."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from toolroll.result import ErrorCode, ToolError
from toolroll.text.git.names import Action, Sub, show_text
from toolroll.text.git.operations import start
from toolroll.text.git.requests import (
    GitChange,
    GitCommand,
    GitOutput,
    GitRequest,
    Plan,
    WorkingFile,
    invalid,
    look_at_status,
    make_refusal,
    read_status,
)
from toolroll.text.git.settings import SERVICE
from toolroll.text.git.skipped import note_skipped

_HERE = "%00".join((
    "%(HEAD)", "%(refname:lstrip=2)", "%(upstream:remotename)", "%(upstream:remoteref)", "%(push:remotename)",
))  # fmt: skip
_SSH = re.compile(
    r"(?:ssh|git\+ssh|ssh\+git|git)://(?:[^/@]*@)?([^/:]+)(?::\d+)?/(.*)|(?:[^/@:]*@)?([^/:]+):(?!//)(.*)"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(?:://|::)")
_MAX_ROWS = 50


@dataclass(frozen=True, slots=True)
class _Remote:
    """The remote of a call, and the branch that is checked out."""

    name: str
    branch: str | None
    upstream: str | None
    """What the branch is called there."""
    folder: bool
    service: tuple[str, ...]
    """For a folder of this machine: the option with what runs there. git takes the first of several settings."""


def _fetch(asked: GitRequest) -> Plan:
    remote = yield from _find(asked)
    rows = yield from _get(remote, (asked.ref,) if asked.ref else ())
    now = read_status(asked, (yield look_at_status()))
    return GitChange("\n".join([f"Fetched from {remote.name}.", *(rows or ["Nothing is new."])]), now)


def _pull(asked: GitRequest) -> Plan:
    remote = yield from _find(asked)
    branch = asked.ref or remote.upstream or remote.branch
    if branch is None:
        raise invalid("No branch is checked out, so none of the remote belongs to it. Give `ref`: which to pull.")
    yield from _get(remote, (branch,))
    action: Action = "rebase" if asked.sub == "rebase" else "merge"
    return (yield from start(replace(asked, action=action, sub="list", ref="FETCH_HEAD")))


def _push(asked: GitRequest) -> Plan:
    remote = yield from _find(asked, push=True)
    name = asked.name or asked.ref or remote.branch
    if name is None:
        raise invalid("No branch is checked out. Give `name`: which branch or tag to push.")
    ref = yield from _full_name(name)
    words = ["push", "--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no"]
    words += ["--force-with-lease"] if asked.force else []
    sent = yield from _send(asked, remote, (*words, remote.name, f"{ref}:{ref}"), f"Pushed {name} to {remote.name}.")
    if name != remote.branch or remote.upstream is not None:
        return sent
    upstream = (
        f"(No upstream was set, as settings stay as they are: `git branch -u {remote.name}/{name}` in a terminal.)"
    )
    return replace(sent, note="\n".join(filter(None, (sent.note, upstream))))


def _delete(asked: GitRequest) -> Plan:
    if not asked.name:
        raise invalid("Which branch? Give its `name` to delete it at the remote.")
    remote = yield from _find(asked, push=True)
    words = ("push", "--porcelain", "--no-verify", "--no-signed", "--delete", remote.name, asked.name)
    return (yield from _send(asked, remote, words, f"Deleted {asked.name} at {remote.name}."))


def _send(
    asked: GitRequest, remote: _Remote, words: tuple[str, ...], did: str
) -> Generator[GitCommand | WorkingFile, GitOutput, GitChange]:
    words = (words[0], *remote.service, *words[1:])
    ran = yield GitCommand(words, changes=True, may_fail=True, force=True, remote=remote.name, folder=remote.folder)
    if ran.status:
        raise make_refusal(replace(ran, errors=f"{ran.errors}\n{ran.out}"), "push")
    said = [line.removeprefix("remote:").strip() for line in ran.errors.split("\n") if line.startswith("remote:")]
    rows = [f"{remote.name} says: {show_text(line)}" for line in said[:_MAX_ROWS] if line]
    again = f"git push {shlex.join((remote.name, *((asked.name,) if asked.name else ())))}"
    notes = filter(None, (*rows, note_skipped(ran, again, asked.inside)))
    return GitChange(did, read_status(asked, (yield look_at_status())), "\n".join(notes))


def _get(remote: _Remote, refs: tuple[str, ...]) -> Generator[GitCommand | WorkingFile, GitOutput, list[str]]:
    """Fetch, and return a line for each branch that is new or has moved."""
    words = ("fetch", *remote.service, "--no-auto-maintenance", "--no-recurse-submodules", remote.name, *refs)
    ran = yield GitCommand(words, changes=True, remote=remote.name, folder=remote.folder)
    rows = [
        show_text(" ".join(line.split()))
        for line in ran.errors.split("\n")
        if " -> " in line and "FETCH_HEAD" not in line
    ]
    return [*rows[:_MAX_ROWS], *([f"... and {len(rows) - _MAX_ROWS} more"] if len(rows) > _MAX_ROWS else [])]


def _find(asked: GitRequest, *, push: bool = False) -> Generator[GitCommand | WorkingFile, GitOutput, _Remote]:
    """The remote that is named, or else that of the branch; raises ToolError where there is none that can be used."""
    names = (yield GitCommand(("remote",))).out.split()
    if not names:
        missing = "This repository has no remote. Ask the user to add one with `git remote add origin URL`."
        raise ToolError(ErrorCode.NOT_FOUND, missing)
    rows = (yield GitCommand(("for-each-ref", f"--format={_HERE}", "refs/heads"))).out.split("\n")
    here = next((row[1:].split("\0")[1:] for row in rows if row.startswith("*")), ["", "", "", ""])
    branch, upstream_remote, upstream, push_remote = here
    default = (push_remote if push else "") or upstream_remote or ("origin" if "origin" in names else names[0])
    name = asked.remote or default
    if name not in names:
        raise ToolError(ErrorCode.NOT_FOUND, f"There is no remote {name!r}. There are: {', '.join(names)}.")
    url = (yield GitCommand(("remote", "get-url", *(("--push",) if push else ()), name))).out.strip()
    there = upstream.removeprefix("refs/heads/") if name == upstream_remote else ""
    option = "--receive-pack={} receive-pack" if push else "--upload-pack={} upload-pack"
    folder = is_folder(name, url)
    return _Remote(name, branch or None, there or None, folder, (option.format(SERVICE),) if folder or push else ())


def is_folder(name: str, url: str) -> bool:
    """Whether an address is that of a folder; raises ToolError where git would reach it by a program of its own."""
    scheme = _SCHEME.match(url)
    if scheme and scheme[1].lower() in ("http", "https", "file"):
        return scheme[1].lower() == "file"
    if (found := _SSH.fullmatch(url)) and "::" not in url:
        host, path = (found[1], found[2]) if found[1] else (found[3], found[4])
        raise ToolError(
            ErrorCode.UNSUPPORTED,
            f"Remote {name!r} is reached by ssh, which commands here do not have. Ask the user to give it its https "
            f"address: `git remote set-url {name} https://{show_text(host)}/{show_text(path.lstrip('/'))}`.",
        )
    if scheme:
        raise ToolError(ErrorCode.SECURITY, f"Remote {name!r} is reached by {scheme[1]!r}, which is not run here.")
    return True


def _full_name(name: str) -> Generator[GitCommand | WorkingFile, GitOutput, str]:
    for folder in ("heads", "tags"):
        ref = f"refs/{folder}/{name}"
        if not (yield GitCommand(("rev-parse", "--verify", "--quiet", ref), may_fail=True)).status:
            return ref
    raise ToolError(ErrorCode.NOT_FOUND, f"There is no branch or tag {name!r} to push. Action branch lists them.")


PLANS: dict[tuple[Action, Sub], Callable[[GitRequest], Plan]] = {
    ("fetch", "list"): _fetch,
    ("pull", "list"): _pull,
    ("pull", "rebase"): _pull,
    ("push", "list"): _push,
    ("push", "delete"): _delete,
}
