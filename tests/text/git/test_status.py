"""What `git status` printed, taken apart."""

import pytest

from toolroll.text.git.status import ChangedFile, RepositoryStatus, parse_status

HASH = "e9e9991841cdfe8327d5c81bed1b099677eb65a5"
MODES = "N... 100644 100644 100644"


def printed(*records):
    return "".join(f"{record}\0" for record in records)


EVERYTHING = printed(
    f"# branch.oid {HASH}",
    "# branch.head main",
    "# branch.upstream origin/main",
    "# branch.ab +1 -2",
    "# stash 3",
    f"1 .M {MODES} {HASH} {HASH} a b.py",
    f"1 A. {MODES} {HASH} {HASH} new.py",
    f"1 MD {MODES} {HASH} {HASH} both.py",
    f"1 .T {MODES} {HASH} {HASH} link",
    f"2 R. {MODES} {HASH} {HASH} R100 to name",
    "from name",
    f"u UU N... 100644 100644 100644 100644 {HASH} {HASH} {HASH} conflict.py",
    "? un tracked",
)


def test_everything_at_once():
    assert parse_status(EVERYTHING) == RepositoryStatus(
        branch="main",
        commit=HASH,
        upstream="origin/main",
        ahead=1,
        behind=2,
        stashes=3,
        staged=[
            ChangedFile("new.py", "added"),
            ChangedFile("both.py", "modified"),
            ChangedFile("to name", "renamed", "from name"),
        ],
        unstaged=[
            ChangedFile("a b.py", "modified"),
            ChangedFile("both.py", "deleted"),
            ChangedFile("link", "type changed"),
        ],
        untracked=["un tracked"],
        conflicts=[ChangedFile("conflict.py", "conflict")],
    )


def test_it_is_short_to_read():
    assert str(parse_status(EVERYTHING)) == (
        "On branch main, 1 ahead and 2 behind of origin/main, 3 stashed, 1 conflict\n"
        "Conflicts:\n  U conflict.py\n"
        "Staged:\n  A new.py\n  M both.py\n  R from name -> to name\n"
        "Not staged:\n  M a b.py\n  D both.py\n  T link\n"
        "Untracked:\n  ? un tracked"
    )


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ((f"# branch.oid {HASH}", "# branch.head main"), "On branch main"),
        (("# branch.oid (initial)", "# branch.head main"), "On branch main, no commits yet"),
        ((f"# branch.oid {HASH}", "# branch.head (detached)"), "On no branch, at e9e9991841"),
        (
            (f"# branch.oid {HASH}", "# branch.head a", "# branch.upstream o/a", "# branch.ab +0 -0"),
            "On branch a, up to date with o/a",
        ),
        (
            (f"# branch.oid {HASH}", "# branch.head a", "# branch.upstream o/a", "# branch.ab +0 -4"),
            "On branch a, 4 behind of o/a",
        ),
    ],
)
def test_where_one_is(head, text):
    assert str(parse_status(printed(*head))) == f"{text}\nNothing to commit, the working tree is clean."


def test_paths_are_those_of_the_workspace():
    records = printed(f"2 R. {MODES} {HASH} {HASH} R100 pkg/to", "pkg/from", "? pkg/new")
    found = parse_status(records, prefix="pkg/")
    assert (found.staged, found.untracked) == ([ChangedFile("to", "renamed", "from")], ["new"])
    found = parse_status(records, inside="sub/")
    assert (found.staged, found.untracked) == ([ChangedFile("sub/pkg/to", "renamed", "sub/pkg/from")], ["sub/pkg/new"])


def test_a_long_list_is_cut_and_whole_beside():
    found = parse_status(printed("# branch.head main", *(f"? file{number}" for number in range(250))))
    assert len(found.untracked) == 250
    assert str(found).endswith("? file99\n  ... and 150 more")
    assert found.whole().endswith("? file249")
    assert parse_status(EVERYTHING).whole is None


def test_a_hostile_name_is_shown_without_tricks():
    assert "? a\\x1b[2Jb" in str(parse_status(printed("? a\x1b[2Jb")))
