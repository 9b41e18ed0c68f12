"""Repositories from ChangeLogs, of the kinds that projects write."""

import io
import subprocess
import tarfile

import pytest

from bench import changelogs, localise
from bench.changelogs import Change, Paths

GNU = """\
2024-02-03  Ann Lee  <ann@b.org>

\tsort: check the size first
\tA size of zero made it loop.
\t* src/sort.c (main, check::all): Check the size.
\t(usage): Tell of it.
\t* src/keys.c, NEWS: Likewise.

\tdoc: speak of sizes
\t* doc/sort.texi: Add a node.

2024-02-01  Bo  <bo@b.org>

\t* src/keys.c: Count again.

\t* src/gone.c (f)
\t(g): Remove.
"""
STATUS = """\
2024-02-03 10:11:12 +0800  Ann Lee  <ann@b.org> (0a1b2c3d)

        * Check the size.

        It looped.

M\tsrc/sort.c
A\tnew.c

"""
STAT = """\
commit 0a1b2c3d4e5f
Author: Ann Lee <ann@b.org>
Date:   2024-02-03

    Check the size.

 src/sort.c | 12 +++++++-----
 NEWS       |  2 ++
 2 files changed, 9 insertions(+), 5 deletions(-)
"""
LISTED = """\
2024-02-03  Ann Lee  <ann@b.org>

\tCheck the size (bug #12).

\t* sort.c: Check it.

\tFiles: src/sort.c src/keys.c
"""
READ = [
    (
        "gnu",
        GNU,
        [
            Change("(f), (g): Remove.", ("src/gone.c",), "2024-02-01", titled=False),
            Change("Count again.", ("src/keys.c",), "2024-02-01", titled=False),
            Change("doc: speak of sizes\nAdd a node.", ("doc/sort.texi",), "2024-02-03"),
            Change(
                "sort: check the size first\nA size of zero made it loop.\n"
                "(main, check::all): Check the size.\n(usage): Tell of it.\nLikewise.",
                ("src/sort.c", "src/keys.c", "NEWS"),
                "2024-02-03",
            ),
        ],
    ),
    ("name-status", STATUS, [Change("Check the size.\n\nIt looped.", ("src/sort.c", "new.c"), "2024-02-03")]),
    ("stat", STAT, [Change("Check the size.", ("src/sort.c", "NEWS"))]),
    (
        "listed",
        LISTED,
        [Change("Check the size (bug #12).\nCheck it.", ("src/sort.c", "src/keys.c", "sort.c"), "2024-02-03")],
    ),
    ("none", "Nothing to tell.\n", []),
]


@pytest.mark.parametrize(("log", "found"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_changes_are_read_without_the_names_of_files(log, found):
    assert changelogs.changes({"ChangeLog": log.encode(), "src/ChangeLog": b"2024-01-01\n\n\t* x: y.\n"}) == found


def test_files_are_found_by_the_end_of_their_paths_if_it_is_one():
    paths = Paths(["src/sort.c", "src/keys.c", "lib/keys.c"])
    named = Change("x", ("sort.c", "keys.c", "src/keys.c", "ort.c", "gone.c"))
    assert paths.located(named).files == ("src/sort.c", "src/keys.c")


TOLD = [
    ("Zebras have black and white stripes", True),
    ("stripes: fix the bug\n(black, white): Check for zebras.", True),
    ("Update after gnulib changed.\nUpdate from gnulib.\nLikewise.", False),
    ("Zebra zebra zebras ZEBRA fix fix", False),
]


@pytest.mark.parametrize(("message", "asked"), TOLD)
def test_only_what_may_tell_where_is_asked(message, asked):
    assert changelogs.askable(Change(message, ("src/sort.c",))) is asked
    assert not changelogs.askable(Change(message, ("src/sort.c",), titled=False))


def archive(path, **files):
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            member = tarfile.TarInfo(f"p-1/{name.replace('__', '/').replace('_c', '.c')}")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
    return path


OLD = "2024-01-01  A  <a@b>\n\n\tFirst\n\t* src/keys.c: Zebras.\n"
NEW = "2024-01-02  A  <a@b>\n\n\tZebras have black and white stripes\n\t* src/keys.c: New.\n\n" + OLD


def test_a_repository_is_made_and_asked(tmp_path, capsys):
    sources = {"src__sort_c": "int sort(void);\n", "src__keys_c": "int keys(void);\n"}
    older = archive(tmp_path / "older.tar.gz", ChangeLog=OLD, **sources)
    newer = archive(tmp_path / "newer.tar.gz", ChangeLog=NEW, src__keys_c="int zebras(void);\n")
    repository = tmp_path / "repository"
    assert changelogs.main([str(older), str(newer), str(repository)]) == 0
    assert capsys.readouterr().out == "3 files, 1 past changes; ask with --commits 1\n"
    assert (repository / "src/keys.c").read_text() == "int keys(void);\n"
    told = subprocess.run(
        ["git", "log", "--format=%f", "--name-only"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert told.stdout.split("\n\n")[:2] == ["Zebras-have-black-and-white-stripes", "src/keys.c\nFirst"]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    scores, files = localise.run(repository, 1, scratch)
    assert files == 2
    assert scores["toolroll repo_map"].ranks == [1]  # by history: the text speaks of no zebras
    assert scores["without history"].ranks == [localise.NOWHERE]


def test_releases_without_changes_are_told(tmp_path, capsys):
    same = archive(tmp_path / "same.tar.gz", ChangeLog=OLD, src__keys_c="")
    assert changelogs.main([str(same), str(same), str(tmp_path / "none")]) == 1
    assert "no change" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
