"""`toolroll sessions`: list and clear the sessions of a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from toolroll.cli import screen
from toolroll.cli.command import Candidate, Command, Option, one_of
from toolroll.cli.options import JSON, WORKSPACE, cannot_open
from toolroll.text.lines import counted

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.files.sessions import SavedSession, SessionStore


def run(args: Namespace) -> int:
    """Print the sessions, the last used first, or clear those that are named, or all."""
    store = _store(args)
    found = {one.name: one for one in store.all()}
    named = [one_of("session", name, found) for name in args.names] or list(found)
    if args.clear:
        for name in named:
            store.clear(name)
        screen.write(f"Cleared: {', '.join(named)}." if named else "There are no sessions here.")
        return 0
    rows = [_row(found[name]) for name in named]
    if args.json:
        screen.show_json(rows)
    elif not rows:
        screen.write("There are no sessions here.")
    for row in () if args.json else rows:
        screen.write(
            f"{row['name']}  last used {row['used'] or '?'}, {counted(row['files'], 'file')} read, in {row['folder']}"
        )
    return 0


def propose(args: Namespace, _typed: str) -> Iterator[Candidate]:
    """Completions: the names of the sessions."""
    yield from ((one.name, f"in {one.cwd}") for one in _store(args).all())


def _store(args: Namespace) -> SessionStore:
    from toolroll.host.files.root import Root
    from toolroll.host.files.sessions import SessionStore
    from toolroll.host.runtime.state import State

    try:
        with Root(args.workspace) as root:
            return SessionStore(State.of(root.path))
    except OSError as error:
        raise cannot_open(args.workspace, error) from None


def _row(session: SavedSession) -> dict[str, Any]:
    import datetime

    used = datetime.datetime.fromtimestamp(session.used, datetime.UTC).isoformat(timespec="seconds")
    return {
        "name": session.name,
        "used": used if session.used else None,
        "folder": session.cwd,
        "files": len(session.files),
    }


COMMAND = Command(
    "sessions",
    "List the sessions of a workspace, or clear them.",
    run,
    (
        Option(("names",), "Only these sessions.", "NAME", many=True),
        Option(("--clear",), "Forget them: what was read, todos and folder."),
        WORKSPACE,
        JSON,
    ),
    propose=propose,
)
