"""A workspace as a tar archive."""

import os
import shutil
import tarfile

import pytest

from toolroll import Kit
from toolroll.host.files.archive.pack import leads_out
from toolroll.policy.decision import Rule
from toolroll.policy.rules import Policy


def names(packed):
    with packed as file, tarfile.open(fileobj=file) as tar:
        return tar.getnames()


@pytest.fixture(autouse=True)
def files(put, ws):
    put({"a.txt": "a", "d/run.sh": "#!", ".gitignore": "out/\n", "out/big": "x", ".git/HEAD": "ref", ".env": "K=1"})
    (ws / "d/run.sh").chmod(0o750)
    (ws / "d/link").symlink_to("../a.txt")
    (ws / "empty").mkdir()


def test_the_same_files_give_the_same_bytes(kit, ws, tmp_path):
    with kit.pack() as file:
        first = file.read()
    shutil.copytree(ws, tmp_path / "copy", symlinks=True)
    os.utime(tmp_path / "copy/a.txt", (1, 1))
    with Kit(tmp_path / "copy", state_dir=tmp_path / "other") as other, other.pack() as file:
        assert file.read() == first


def test_what_is_in_it(kit):
    plain = [".env", ".gitignore", "a.txt", "d", "empty", "d/link", "d/run.sh"]
    packed = kit.pack()
    assert (packed.entries, packed.left_out) == (7, [])
    assert names(packed) == plain
    assert set(names(kit.pack(ignored=True))) - set(plain) == {"out", "out/big"}
    assert set(names(kit.pack(git=True))) - set(plain) == {".git", ".git/HEAD"}


def test_what_is_left_out_is_named(open_kit, ws):
    (ws / "away").symlink_to("/etc/passwd")
    kit = open_kit(policy=Policy(rules=(Rule("deny", path=".env"),)))
    packed = kit.pack()
    assert packed.left_out == [".env", "away"]
    assert not {".env", "away"} & set(names(packed))


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        ("l", "a", False),
        ("l", "..", True),
        ("d/l", "..", False),
        ("d/l", "../a/b", False),
        ("d/l", "../../a", True),
        ("l", "/a", True),
        ("l", "", True),
        ("l", "a/../b", True),  # a may be a link
        ("l", "./..", True),
    ],
)
def test_links_that_lead_out(path, target, out):
    assert leads_out(path, target) is out
