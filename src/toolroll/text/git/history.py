"""Parse commits, branches and stashes."""

from __future__ import annotations

from dataclasses import dataclass

from toolroll.text.git.changes import FileCounts, describe_total, parse_counts
from toolroll.text.git.names import show_path, show_text

COMMIT = "%x00%H%x00%h%x00%an%x00%ae%x00%aI%x00%D%x00%P%x00"
"""The format of a commit's head; the subject or the message follows, then one more NUL."""
BRANCH = "%00".join((
    "%(HEAD)", "%(refname)", "%(objectname:short)", "%(upstream:short)", "%(upstream:track,nobracket)",
    "%(contents:subject)",
))  # fmt: skip
STASH = "%gd%x00%aI%x00%gs"
TAG = "%(refname:strip=2)%00%(objectname:short)%00%(*objectname:short)%00%(contents:subject)"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; the `message` is the first line only, in a list."""

    hash: str
    short: str
    author: str
    email: str
    date: str
    refs: list[str]
    parents: list[str]
    message: str

    @property
    def line(self) -> str:
        refs = f" ({', '.join(map(show_text, self.refs))})" if self.refs else ""
        subject = self.message.partition("\n")[0]
        return f"{self.short} {self.date[:10]} {show_text(self.author)}: {show_text(subject)}{refs}"


@dataclass(frozen=True, slots=True)
class CommitLog:
    """Commits, newest first, drawn as a graph."""

    commits: list[Commit]
    form: str
    """The graph, a commit a line."""
    note: str = ""

    def __str__(self) -> str:
        return self.form or "No commits."


@dataclass(frozen=True, slots=True)
class ShownCommit:
    """One commit and what it changed."""

    commit: Commit
    files: list[FileCounts]
    patch: str = ""
    note: str = ""

    def __str__(self) -> str:
        one = self.commit
        head = [
            f"commit {one.hash}" + (f" ({', '.join(map(show_text, one.refs))})" if one.refs else ""),
            f"Author: {show_text(one.author)} <{show_text(one.email)}>",
            f"Date: {one.date}",
            *([f"Merge of: {' '.join(parent[:10] for parent in one.parents)}"] if len(one.parents) > 1 else []),
            "",
            *(f"    {line}" for line in one.message.strip().split("\n")),
            "",
        ]
        listed = [describe_total(self.files), *(f"  {one}" for one in self.files)] if self.files else ["No changes."]
        return "\n".join([*head, *listed, *([self.patch.rstrip("\n")] if self.patch else [])])


@dataclass(frozen=True, slots=True)
class CommitResult:
    """The new commit."""

    commit: Commit
    files: list[FileCounts]
    note: str = ""

    def __str__(self) -> str:
        return f"Committed {self.commit.line}\n{describe_total(self.files) if self.files else 'No changes.'}"


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch, here or of a remote."""

    name: str
    commit: str
    subject: str
    current: bool = False
    remote: bool = False
    upstream: str | None = None
    track: str | None = None
    """Its relation to the upstream, such as "ahead 1, behind 2"."""


@dataclass(frozen=True, slots=True)
class Branches:
    """All branches."""

    branches: list[Branch]

    def __str__(self) -> str:
        return "\n".join(map(_branch_line, self.branches)) or "No branches yet: there is no commit."


@dataclass(frozen=True, slots=True)
class Stash:
    """Changes that were put aside."""

    name: str
    date: str
    message: str


@dataclass(frozen=True, slots=True)
class Stashes:
    """Everything that was put aside, newest first."""

    stashes: list[Stash]

    def __str__(self) -> str:
        rows = (f"{one.name} {one.date[:10]} {show_text(one.message)}" for one in self.stashes)
        return "\n".join(rows) or "No stashes."


@dataclass(frozen=True, slots=True)
class GitTag:
    """A name for a commit."""

    name: str
    commit: str
    subject: str


@dataclass(frozen=True, slots=True)
class GitTags:
    """All tags."""

    tags: list[GitTag]

    def __str__(self) -> str:
        rows = (f"{show_text(one.name)} {one.commit} {show_text(one.subject)}".rstrip() for one in self.tags)
        return "\n".join(rows) or "No tags."


@dataclass(frozen=True, slots=True)
class Worktree:
    """A working tree of the repository."""

    path: str
    commit: str
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Worktrees:
    """All working trees of the repository, the main one first."""

    worktrees: list[Worktree]

    def __str__(self) -> str:
        rows = self.worktrees
        return "\n".join(
            f"{show_path(one.path)} {one.commit[:10]} {show_text(one.branch or '(no branch)')}" for one in rows
        )


def parse_commit(record: str) -> tuple[Commit, str]:
    """A commit from `COMMIT`, its message and a NUL; and what follows."""
    _, full, short, author, email, date, refs, parents, message, rest = record.split("\0", 9)
    names = [name for name in refs.split(", ") if name]
    return Commit(full, short, author, email, date, names, parents.split(), message.rstrip("\n")), rest


def parse_log(printed: str, limit: int) -> CommitLog:
    """At most `limit` commits; git was asked for one more, so as to tell whether there are more."""
    commits: list[Commit] = []
    lines: list[str] = []
    for line in printed.split("\n"):
        prefix, nul, record = line.partition("\0")
        if nul:
            if len(commits) == limit:
                more = "(There are more: raise `limit`, or name a `ref` to begin at.)"
                return CommitLog(commits, "\n".join(lines), more)
            commits.append(parse_commit(nul + record)[0])
            lines.append(f"{prefix}{commits[-1].line}")
        elif prefix.strip():
            lines.append(prefix.rstrip())
    return CommitLog(commits, "\n".join(lines))


def parse_shown_commit(printed: str, inside: str = "") -> ShownCommit:
    """A commit with its counts and its patch."""
    one, rest = parse_commit(printed)
    files, patch = parse_counts(rest.removeprefix("\0").removeprefix("\n"), inside)
    return ShownCommit(one, files, patch)


def parse_branches(printed: str) -> Branches:
    """The branches, the checked out one first."""
    found = []
    for line in filter(None, printed.split("\n")):
        head, ref, short, upstream, track, subject = line.split("\0", 5)
        remote = ref.startswith("refs/remotes/")
        name = ref.removeprefix("refs/remotes/" if remote else "refs/heads/")
        found.append(Branch(name, short, subject, head == "*", remote, upstream or None, track or None))
    return Branches(sorted(found, key=lambda one: (not one.current, one.remote)))


def parse_stashes(printed: str) -> Stashes:
    """What was put aside."""
    rows = (line.split("\0", 2) for line in printed.split("\n") if line.count("\0") >= 2)
    return Stashes([Stash(*row) for row in rows])


def parse_tags(printed: str) -> GitTags:
    """The tags; of an annotated one the commit that it names."""
    rows = (line.split("\0", 3) for line in printed.split("\n") if line.count("\0") >= 3)
    return GitTags([GitTag(name, commit or own, subject) for name, own, commit, subject in rows])


def parse_worktrees(printed: str) -> Worktrees:
    """The working trees from `worktree list --porcelain -z`."""
    found = []
    for record in filter(None, printed.split("\0\0")):
        row = dict(line.partition(" ")[::2] for line in record.split("\0"))
        branch = row.get("branch", "").removeprefix("refs/heads/") or None
        found.append(Worktree(row.get("worktree", ""), row.get("HEAD", ""), branch))
    return Worktrees(found)


def _branch_line(one: Branch) -> str:
    upstream = f" [{show_text(one.upstream)}{f': {one.track}' if one.track else ''}]" if one.upstream else ""
    remote = "remotes/" if one.remote else ""
    mark, name, subject = "*" if one.current else " ", show_text(one.name), show_text(one.subject)
    return f"{mark} {remote}{name} {one.commit}{upstream} {subject}".rstrip()
